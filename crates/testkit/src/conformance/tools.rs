//! Tools that answer, and tools that send something on the way.

use serde_json::{Value, json};

use crate::steps::{Step, Steps};
use crate::tool::Tool;

/// A picture of one red pixel.
pub(super) const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/// A recording without a single sample.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// Tools that only answer.
pub(super) fn plain() -> Vec<Tool> {
    vec![
        tool("test_simple_text", |_, _| texts("This is a simple text response for testing.")),
        tool("test_image_content", |_, _| content(&[image()])),
        tool("test_audio_content", |_, _| {
            content(&[json!({ "type": "audio", "data": SOUND, "mimeType": "audio/wav" })])
        }),
        tool("test_embedded_resource", |_, _| {
            let text = "This is an embedded resource content.";
            content(&[resource("test://embedded-resource", "text/plain", text)])
        }),
        tool("test_multiple_content_types", |_, _| {
            let data = json!({ "test": "data", "value": 123 }).to_string();
            let resource = resource("test://mixed-content-resource", "application/json", &data);
            content(&[text("Multiple content types test:"), image(), resource])
        }),
        tool("test_error_handling", |_, _| {
            let mut result = texts("This tool intentionally returns an error for testing");
            result["isError"] = json!(true);
            result
        }),
        tool("json_schema_2020_12_tool", |arguments, _| texts(&arguments.to_string())).schema(full_schema()),
        tool("test_custom_header", |arguments, _| texts(&arguments.to_string())).schema(json!({
            "type": "object",
            "properties": {
                "region": { "type": "string", "x-mcp-header": "Region" },
                "query": { "type": "string" },
            },
            "required": ["region"],
        })),
    ]
}

/// Tools that report, log, or change what the backend offers.
pub(super) fn moving() -> Vec<Tool> {
    let plays = |name: &str, steps: &[Step], end| named(name).plays(Steps::new(steps.to_vec(), end));
    vec![
        plays(
            "test_tool_with_logging",
            &[
                Step::Log("Tool execution started"),
                Step::Pause(50),
                Step::Log("Tool processing data"),
                Step::Pause(50),
                Step::Log("Tool execution completed"),
            ],
            |_, _| texts("Tool with logging executed successfully"),
        ),
        plays(
            "test_tool_with_progress",
            &[Step::Progress(0), Step::Pause(50), Step::Progress(50), Step::Pause(50), Step::Progress(100)],
            |_, _| texts("Tool with progress executed successfully"),
        ),
        plays("test_logging_tool", &[Step::Log("something to tell")], |_, _| texts("Logged where wanted")),
        plays("test_trigger_tool_change", &[Step::Change("tools")], |_, _| {
            texts("The list of tools changed")
        }),
        plays("test_trigger_prompt_change", &[Step::Change("prompts")], |_, _| {
            texts("The list of prompts changed")
        }),
    ]
}

/// A tool whose call's stream ends before the answer.
pub(super) fn hanging_up() -> Tool {
    named("test_reconnection").plays(Steps::new([Step::HangUp, Step::Pause(100)], |_, _| {
        texts("The answer came after the stream was resumed")
    }))
}

/// A tool without arguments.
pub(super) fn named(name: &str) -> Tool {
    Tool::new(name)
        .description(&format!("The test tool {name}."))
        .schema(json!({ "type": "object", "properties": {} }))
        .member("annotations", Value::Null)
}

fn tool(name: &str, end: fn(&Value, &Value) -> Value) -> Tool {
    named(name).plays(Steps::none(end))
}

/// A result of one text.
pub(super) fn texts(one: &str) -> Value {
    content(&[text(one)])
}

fn content(items: &[Value]) -> Value {
    json!({ "content": items })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image() -> Value {
    json!({ "type": "image", "data": PICTURE, "mimeType": "image/png" })
}

fn resource(uri: &str, kind: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": kind, "text": text } })
}

/// A schema with the words of JSON Schema 2020-12 that a careless hand would drop.
fn full_schema() -> Value {
    let address = json!({
        "$anchor": "addressDef",
        "type": "object",
        "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": address },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

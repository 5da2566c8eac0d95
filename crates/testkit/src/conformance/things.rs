//! Prompts and resources.

use serde_json::{Value, json};

use crate::conformance::tools::PICTURE;
use crate::steps::{Question, Step, Steps};

/// Objects of `prompts/list` and what the prompts do.
pub(super) fn prompts() -> Vec<(Value, Steps)> {
    let context = Question {
        key: "user_context",
        method: "elicitation/create",
        params: |_| {
            json!({
                "message": "What context should the prompt use?",
                "requestedSchema": {
                    "type": "object",
                    "properties": { "context": { "type": "string" } },
                    "required": ["context"],
                },
            })
        },
    };
    let argument =
        |name: &str, description: &str| json!({ "name": name, "description": description, "required": true });
    vec![
        (
            prompt("test_simple_prompt", json!([])),
            Steps::none(|_, _| said(&[text("This is a simple prompt for testing.")])),
        ),
        (
            prompt(
                "test_prompt_with_arguments",
                json!([argument("arg1", "First test argument"), argument("arg2", "Second test argument")]),
            ),
            Steps::none(|arguments, _| {
                let [one, two] = ["arg1", "arg2"].map(|key| arguments[key].as_str().unwrap_or_default());
                said(&[text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))])
            }),
        ),
        (
            prompt(
                "test_prompt_with_embedded_resource",
                json!([argument("resourceUri", "URI of the resource to embed")]),
            ),
            Steps::none(|arguments, _| {
                let resource = json!({
                    "uri": arguments["resourceUri"],
                    "mimeType": "text/plain",
                    "text": "Embedded resource content for testing.",
                });
                let embedded = json!({ "type": "resource", "resource": resource });
                said(&[embedded, text("Please process the embedded resource above.")])
            }),
        ),
        (
            prompt("test_prompt_with_image", json!([])),
            Steps::none(|_, _| {
                let image = json!({ "type": "image", "data": PICTURE, "mimeType": "image/png" });
                said(&[image, text("Please analyze the image above.")])
            }),
        ),
        (
            prompt("test_input_required_result_prompt", json!([])),
            Steps::new([Step::Ask(vec![context])], |_, answers| {
                let context = answers["user_context"]["content"]["context"].as_str().unwrap_or("unknown");
                said(&[text(&format!("Prompt with context: {context}"))])
            }),
        ),
    ]
}

fn prompt(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "description": format!("The prompt {name}."), "arguments": arguments })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn said(contents: &[Value]) -> Value {
    let messages: Vec<_> =
        contents.iter().map(|content| json!({ "role": "user", "content": content })).collect();
    json!({ "messages": messages })
}

/// Objects of `resources/list`.
pub(super) fn resources() -> Vec<Value> {
    [("static-text", "text/plain"), ("static-binary", "image/png"), ("watched-resource", "text/plain")]
        .map(|(name, kind)| {
            let (uri, description) = (format!("test://{name}"), format!("The resource {name}."));
            json!({ "uri": uri, "name": name, "description": description, "mimeType": kind })
        })
        .to_vec()
}

/// Objects of `resources/templates/list`.
pub(super) fn templates() -> Vec<Value> {
    vec![json!({
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "A resource with a parameter.",
        "mimeType": "application/json",
    })]
}

/// Returns an object of `contents`.
pub(super) fn contents(uri: &str) -> Option<Value> {
    let text = |text: &str| Some(json!({ "uri": uri, "mimeType": "text/plain", "text": text }));
    match uri {
        "test://static-text" => text("This is the content of the static text resource."),
        "test://static-binary" => Some(json!({ "uri": uri, "mimeType": "image/png", "blob": PICTURE })),
        "test://watched-resource" => text("Watched resource content"),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Some(json!({ "uri": uri, "mimeType": "application/json", "text": data.to_string() }))
        }
    }
}

pub(super) fn contents_of_the_first_half(uri: &str) -> Option<Value> {
    let has = uri == "test://static-text" || uri == "test://watched-resource";
    if has { contents(uri) } else { None }
}

pub(super) fn contents_of_the_second_half(uri: &str) -> Option<Value> {
    if contents_of_the_first_half(uri).is_none() { contents(uri) } else { None }
}

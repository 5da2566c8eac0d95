//! Tools that ask the client.

use serde_json::{Value, json};

use crate::conformance::tools::{named, texts};
use crate::steps::{Question, Step, Steps};
use crate::tool::Tool;

/// Tools of the scenarios up to 2025-11-25, in which a question is a request of the server.
pub(super) fn of_the_older_revisions() -> Vec<Tool> {
    let takes = |key: &str| json!({ "type": "object", "properties": { key: { "type": "string" } }, "required": [key] });
    vec![
        named("test_sampling").schema(takes("prompt")).plays(Steps::new(
            [Step::Ask(vec![sampling("sample", |arguments| sample(&arguments["prompt"], 100))])],
            |_, answers| texts(&format!("LLM response: {}", sampled(&answers["sample"]))),
        )),
        named("test_elicitation").schema(takes("message")).plays(Steps::new(
            [Step::Ask(vec![elicitation("user", |arguments| {
                let field = |description: &str| json!({ "type": "string", "description": description });
                let properties = json!({
                    "username": field("User's response"),
                    "email": field("User's email address"),
                });
                form(arguments["message"].clone(), properties, json!(["username", "email"]))
            })])],
            |_, answers| texts(&format!("User response: {}", told(&answers["user"]))),
        )),
        named("test_elicitation_sep1034_defaults").plays(Steps::new(
            [Step::Ask(vec![elicitation("defaults", |_| {
                form(json!("Please review the form and its defaults"), defaults(), json!([]))
            })])],
            |_, answers| texts(&format!("Elicitation completed: {}", told(&answers["defaults"]))),
        )),
        named("test_elicitation_sep1330_enums").plays(Steps::new(
            [Step::Ask(vec![elicitation("enums", |_| {
                form(json!("Please choose from the lists"), choices(), json!([]))
            })])],
            |_, answers| texts(&format!("Elicitation completed: {}", told(&answers["enums"]))),
        )),
    ]
}

/// Tools of the scenarios of 2026-07-28, in which a question is a round of the same call.
pub(super) fn of_the_newer_revision() -> Vec<Tool> {
    let confirm = || elicitation("confirm", |_| one_field("Please confirm", "ok", "boolean"));
    let user_name = || elicitation("user_name", |_| one_field("What is your name?", "name", "string"));
    let roots = || Question { key: "client_roots", method: "roots/list", params: |_| json!({}) };
    let plays = |name: &str, steps| named(&format!("test_input_required_result_{name}")).plays(steps);
    vec![
        named("test_missing_capability").plays(Steps::new(
            [Step::Need(sampling("sample", |_| sample(&json!("Anything"), 10)))],
            |_, _| texts("The client can sample"),
        )),
        named("test_streaming_elicitation").plays(Steps::new(
            [Step::Progress(50), Step::Pause(20), Step::Ask(vec![user_name()])],
            |_, answers| texts(&format!("Streaming complete: {}", told(&answers["user_name"]))),
        )),
        plays(
            "elicitation",
            Steps::new([Step::Ask(vec![user_name()])], |_, answers| {
                let name = answers["user_name"]["content"]["name"].as_str().unwrap_or("nobody");
                texts(&format!("Hello, {name}!"))
            }),
        ),
        plays(
            "sampling",
            Steps::new(
                [Step::Ask(vec![sampling("capital_question", |_| {
                    sample(&json!("What is the capital of France?"), 100)
                })])],
                |_, answers| texts(&sampled(&answers["capital_question"])),
            ),
        ),
        plays(
            "list_roots",
            Steps::new([Step::Ask(vec![roots()])], |_, answers| {
                texts(&format!("The roots are {}", answers["client_roots"]["roots"]))
            }),
        ),
        plays(
            "request_state",
            Steps::new([Step::Ask(vec![confirm()])], |_, _| texts("state-ok")).with_state(),
        ),
        plays(
            "multiple_inputs",
            Steps::new(
                [Step::Ask(vec![
                    user_name(),
                    sampling("greeting", |_| sample(&json!("Generate a greeting"), 50)),
                    roots(),
                ])],
                |_, answers| texts(&format!("All answers are in: {answers}")),
            )
            .with_state(),
        ),
        plays(
            "multi_round",
            Steps::new(
                [
                    Step::Ask(vec![elicitation("step1", |_| {
                        one_field("Step 1: What is your name?", "name", "string")
                    })]),
                    Step::Ask(vec![elicitation("step2", |_| {
                        one_field("Step 2: What is your favorite color?", "color", "string")
                    })]),
                ],
                |_, answers| texts(&format!("Both rounds are done: {answers}")),
            )
            .with_state(),
        ),
        plays(
            "tampered_state",
            Steps::new([Step::Ask(vec![confirm()])], |_, _| texts("The state is as it was")).with_state(),
        ),
        plays(
            "capabilities",
            Steps::new(
                [Step::AskIfDeclared(vec![
                    elicitation("elicit_input", |_| one_field("Say something", "value", "string")),
                    sampling("sample_input", |_| sample(&json!("Say something"), 50)),
                ])],
                |_, answers| texts(&format!("Answers: {answers}")),
            )
            .with_state(),
        ),
    ]
}

fn elicitation(key: &'static str, params: fn(&Value) -> Value) -> Question {
    Question { key, method: "elicitation/create", params }
}

fn sampling(key: &'static str, params: fn(&Value) -> Value) -> Question {
    Question { key, method: "sampling/createMessage", params }
}

fn sample(prompt: &Value, max_tokens: u32) -> Value {
    let content = json!({ "type": "text", "text": prompt });
    json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": max_tokens })
}

fn one_field(message: &str, field: &str, kind: &str) -> Value {
    form(json!(message), json!({ field: { "type": kind } }), json!([field]))
}

fn form(message: Value, properties: Value, required: Value) -> Value {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "message": message, "requestedSchema": schema })
}

fn sampled(answer: &Value) -> String {
    answer["content"]["text"].as_str().unwrap_or("nothing").into()
}

fn told(answer: &Value) -> String {
    let content = if answer["content"].is_null() { json!({}) } else { answer["content"].clone() };
    format!("action={}, content={content}", answer["action"].as_str().unwrap_or("none"))
}

/// A field of each primitive type, with its default.
fn defaults() -> Value {
    json!({
        "name": { "type": "string", "description": "User name", "default": "John Doe" },
        "age": { "type": "integer", "description": "User age", "default": 30 },
        "score": { "type": "number", "description": "User score", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "description": "Verification status", "default": true },
    })
}

/// The five ways to let somebody choose.
fn choices() -> Value {
    let titled = |titles: [&str; 3]| {
        let values = ["value1", "value2", "value3"];
        Value::Array(
            values
                .iter()
                .zip(titles)
                .map(|(value, title)| json!({ "const": value, "title": title }))
                .collect(),
        )
    };
    let options = json!(["option1", "option2", "option3"]);
    json!({
        "untitledSingle": { "type": "string", "enum": options },
        "titledSingle": { "type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"]) },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": { "type": "string", "enum": options },
        },
        "titledMulti": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": { "anyOf": titled(["First Choice", "Second Choice", "Third Choice"]) },
        },
    })
}

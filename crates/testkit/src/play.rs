//! Runs a tool: what each behaviour does, in both eras.

use std::time::Duration;

use serde_json::{Value, json};

use crate::call::{Call, End};
use crate::perform::{began, perform};
use crate::script::Script;
use crate::stub::Stub;
use crate::tool::{Behaviour, Tool};

/// Longest wait for a client's answer; a test that answers does so at once.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Runs the tool a call names.
pub(crate) async fn play(stub: &Stub, script: &Script, call: &Call) -> End {
    let name = call.text("name");
    let Some(tool) = script.tools.iter().find(|tool| tool.name() == name) else {
        return End::error(-32602, format!("unknown tool: {name}"));
    };
    if let Behaviour::Steps(steps) = &tool.behaviour {
        return perform(stub, script, call, steps).await;
    }
    if let Some(round) = asks(tool, call) {
        return ask(stub, script, call, round).await;
    }
    began(stub, call);
    behave(stub, script, call, tool).await
}

async fn behave(stub: &Stub, script: &Script, call: &Call, tool: &Tool) -> End {
    let arguments = &call.params["arguments"];
    let number = |key: &str, default: f64| arguments[key].as_f64().unwrap_or(default);
    match &tool.behaviour {
        Behaviour::Echo | Behaviour::Ask | Behaviour::Sample | Behaviour::Roots | Behaviour::Steps(_) => {
            echo(script, call)
        }
        Behaviour::Slow => {
            tokio::time::sleep(Duration::from_secs_f64(number("seconds", 1.0))).await;
            echo(script, call)
        }
        Behaviour::Progress => {
            let (steps, pause) =
                (number("steps", 3.0) as u64, Duration::from_secs_f64(number("pause_ms", 5.0) / 1e3));
            for step in 1..=steps {
                let token = &call.params["_meta"]["progressToken"];
                if !token.is_null() {
                    let progress = json!({ "progressToken": token, "progress": step, "total": steps });
                    call.notify("notifications/progress", progress).await;
                }
                tokio::time::sleep(pause).await;
            }
            echo(script, call)
        }
        Behaviour::Log => {
            let level = arguments["level"].as_str().unwrap_or("info");
            let meta_level = &call.params["_meta"]["io.modelcontextprotocol/logLevel"];
            let is_wanted = match call.is_modern {
                true => meta_level.is_string(),
                false => stub.session(&call.session, |session| session.wants_log(level)) == Some(true),
            };
            if is_wanted {
                let params = json!({ "level": level, "logger": script.name, "data": arguments["text"] });
                call.notify("notifications/message", params).await;
            }
            echo(script, call)
        }
        Behaviour::Crash => End::Status(500),
        Behaviour::Break => End::Break,
        Behaviour::Fail => {
            let text = format!("{} failed, as it should", script.name);
            End::Result(json!({ "content": [{ "type": "text", "text": text }], "isError": true }))
        }
        Behaviour::Error => {
            let message = arguments["message"].as_str().unwrap_or("refused, as it should be");
            let data = Some(json!({ "backend": script.name }));
            End::Error { code: number("code", -32050.0) as i64, message: message.into(), data }
        }
        Behaviour::Count => {
            let count = stub.session(&call.session, |session| {
                session.count += 1;
                session.count
            });
            told(json!({ "backend": script.name, "count": count, "session": call.session_id() }))
        }
        Behaviour::Big => {
            let text = "x".repeat(number("bytes", 1e6) as usize);
            End::Result(json!({ "content": [{ "type": "text", "text": text }] }))
        }
        Behaviour::Answers(answer) => told(answer(arguments)),
    }
}

fn echo(script: &Script, call: &Call) -> End {
    told(json!({
        "backend": script.name,
        "version": script.version,
        "tool": call.params["name"],
        "arguments": call.params["arguments"],
        "session": call.session_id(),
        "request_id": call.id,
        "meta": call.params["_meta"],
    }))
}

/// Makes a result of what a tool tells: text, and the same as structured content where it is an object.
fn told(value: Value) -> End {
    let text = value.as_str().map_or_else(|| value.to_string(), String::from);
    let mut result = json!({ "content": [{ "type": "text", "text": text }], "isError": false });
    if value.is_object() {
        result["structuredContent"] = value;
    }
    End::Result(result)
}

/// A question to the client.
struct Round {
    method: &'static str,
    params: Value,
    capability: &'static str,
}

fn asks(tool: &Tool, call: &Call) -> Option<Round> {
    let argument = |key: &str| call.params["arguments"][key].as_str().unwrap_or("Shall I?").to_owned();
    Some(match tool.behaviour {
        Behaviour::Ask => {
            let schema = json!({ "type": "object", "properties": { "answer": { "type": "string" } } });
            let params = json!({ "mode": "form", "message": argument("message"), "requestedSchema": schema });
            Round { method: "elicitation/create", params, capability: "elicitation" }
        }
        Behaviour::Sample => {
            let content = json!({ "type": "text", "text": argument("prompt") });
            let params = json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 100 });
            Round { method: "sampling/createMessage", params, capability: "sampling" }
        }
        Behaviour::Roots => Round { method: "roots/list", params: json!({}), capability: "roots" },
        _ => return None,
    })
}

async fn ask(stub: &Stub, script: &Script, call: &Call, round: Round) -> End {
    if call.is_modern {
        return ask_modern(stub, script, call, round);
    }
    began(stub, call);
    let can = stub.session(&call.session, |session| session.capabilities[round.capability].is_object());
    if can != Some(true) {
        let text = format!("the client has no {}", round.capability);
        return End::Result(json!({ "content": [{ "type": "text", "text": text }], "isError": true }));
    }
    let (id, answer) = stub.expect_answer(&call.session);
    call.send(json!({ "jsonrpc": "2.0", "id": id, "method": round.method, "params": round.params })).await;
    match tokio::time::timeout(ANSWER_TIME, answer).await {
        Ok(Ok(answer)) => {
            let said = if answer["error"].is_null() { &answer["result"] } else { &answer["error"] };
            told(json!({ "backend": script.name, "answer": said, "request_id": call.id }))
        }
        _ => End::error(-32603, "the client did not answer"),
    }
}

/// One round of the modern era: a result that asks, then the same call again with the answer.
fn ask_modern(stub: &Stub, script: &Script, call: &Call, round: Round) -> End {
    let state = format!("state of {} for {}", script.name, call.params["arguments"]);
    let answer = &call.params["inputResponses"]["question"];
    if answer.is_null() {
        let capabilities = &call.params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        if !capabilities[round.capability].is_object() {
            let data = json!({ "requiredCapabilities": { round.capability: {} } });
            return End::Error {
                code: -32021,
                message: "the client cannot be asked".into(),
                data: Some(data),
            };
        }
        let question = json!({ "method": round.method, "params": round.params });
        return End::Result(json!({
            "resultType": "input_required",
            "inputRequests": { "question": question },
            "requestState": state,
        }));
    }
    if call.params["requestState"] != state {
        return End::error(
            -32602,
            format!("requestState came back changed: {}", call.params["requestState"]),
        );
    }
    began(stub, call);
    told(json!({ "backend": script.name, "answer": answer, "request_id": call.id }))
}

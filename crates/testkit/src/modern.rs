//! How a backend of the revision 2026-07-28 answers: each request by itself.

use std::sync::Arc;

use http::{HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::backend::Era;
use crate::call::{Call, End};
use crate::inbound::{Arrived, arrive};
use crate::methods;
use crate::mirrored;
use crate::perform::perform;
use crate::play;
use crate::record::Seen;
use crate::script::Script;
use crate::stub::Stub;
use crate::tasks;
use crate::wire::{Answer, Broken, Out, error, events, json_answer, pipe, result, status};

/// The only revision it speaks.
const REVISION: &str = "2026-07-28";
/// How long its lists hold, in milliseconds.
const TTL_MS: u64 = 1500;

/// The newer era.
pub struct Modern;

impl Era for Modern {
    async fn serve(stub: Arc<Stub>, request: Request<Incoming>) -> Answer {
        match arrive(&stub, request).await {
            Arrived::Answer(answer) => answer,
            Arrived::Seen(seen) => answer_seen(stub, seen).await,
        }
    }
}

/// Answers a request that was read.
pub(crate) async fn answer_seen(stub: Arc<Stub>, seen: Seen) -> Answer {
    if seen.http_method != Method::POST {
        let mut response = status(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        return Ok(response);
    }
    if !seen.message.is_object() || seen.method.is_empty() {
        let body = error(&Value::Null, -32600, "a request or notification is wanted", None);
        return Ok(json_answer(StatusCode::BAD_REQUEST, &body));
    }
    if seen.message.get("id").is_none() {
        return Ok(status(StatusCode::ACCEPTED));
    }
    if let Err(fault) = check(&stub.script(), &seen) {
        let body = error(&seen.message["id"], fault.code, &fault.message, fault.data);
        return Ok(json_answer(StatusCode::BAD_REQUEST, &body));
    }
    if seen.method == "subscriptions/listen" {
        return Ok(events(stub.stream_style(), None, stub.listen(&seen)));
    }
    respond(stub, seen).await
}

struct Fault {
    code: i64,
    message: String,
    data: Option<Value>,
}

/// Checks `_meta` and that the headers repeat the body.
fn check(script: &Script, seen: &Seen) -> Result<(), Fault> {
    let fault = |code, message: String| Err(Fault { code, message, data: None });
    let meta = &seen.params()["_meta"];
    let Some(version) = meta["io.modelcontextprotocol/protocolVersion"].as_str() else {
        return fault(-32602, "_meta lacks the protocol version".into());
    };
    if !meta["io.modelcontextprotocol/clientCapabilities"].is_object() {
        return fault(-32602, "_meta lacks the client's capabilities".into());
    }
    let params = seen.params();
    let name = match seen.method.as_str() {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
        _ => None,
    };
    let wanted = [
        ("mcp-protocol-version", Some(version)),
        ("mcp-method", Some(seen.method.as_str())),
        ("mcp-name", name),
    ];
    for (header, value) in wanted {
        let said = mirrored::decoded(seen.header(header)).unwrap_or_default();
        if value.is_some_and(|value| said != value) {
            return fault(-32020, format!("{header} says {said:?}, the body {}", value.unwrap_or_default()));
        }
    }
    if version != REVISION {
        let data = Some(json!({ "supported": [REVISION], "requested": version }));
        return Err(Fault { code: -32022, message: format!("version {version} is not spoken here"), data });
    }
    if let Some(message) = mirrored::fault(script, seen) {
        return fault(-32020, message);
    }
    Ok(())
}

async fn respond(stub: Arc<Stub>, seen: Seen) -> Answer {
    let (out, mut inbox) = pipe();
    let call = Call {
        id: seen.message["id"].clone(),
        method: seen.method.clone(),
        params: seen.params().clone(),
        session: String::new(),
        is_modern: true,
        out,
    };
    let task = stub.clone();
    stub.spawn(async move {
        let script = task.script();
        tokio::select! {
            last = answer(&task, &script, &call) => {
                // The client may have gone; nobody reads the answer then.
                let _ = call.out.send(last).await;
            }
            // A closed connection is how this era cancels.
            () = call.out.closed() => task.was_cancelled(&call.id),
        }
    });
    let style = stub.stream_style();
    if stub.script().uses_events {
        return Ok(events(style, None, inbox));
    }
    Ok(match inbox.recv().await {
        Some(Out::Message(message)) if message["error"]["code"] == -32601 => {
            json_answer(StatusCode::NOT_FOUND, &message)
        }
        // A missing capability is the request's fault (specification 2026-07-28, errors).
        Some(Out::Message(message)) if message["error"]["code"] == -32021 => {
            json_answer(StatusCode::BAD_REQUEST, &message)
        }
        Some(Out::Message(message)) if message.get("method").is_none() => {
            json_answer(StatusCode::OK, &message)
        }
        Some(Out::Status(code)) => status(code),
        Some(Out::Break) | None => return Err(Broken),
        first => events(style, first, inbox),
    })
}

async fn answer(stub: &Stub, script: &Script, call: &Call) -> Out {
    let end = match (tasks::answer(script, call), call.method.as_str()) {
        (Some(end), _) => end,
        (None, "server/discover") => End::Result(discover(script)),
        (None, "tools/call") => play::play(stub, script, call).await,
        (None, "prompts/get") if script.prompt_steps.contains_key(call.text("name")) => {
            perform(stub, script, call, &script.prompt_steps[call.text("name")]).await
        }
        (None, method) => {
            let unknown = || End::error(-32601, format!("method not found: {method}"));
            methods::answer(script, call).unwrap_or_else(unknown)
        }
    };
    match end {
        End::Result(value) => Out::Message(result(&call.id, dressed(script, call, value))),
        End::Error { code, message, data } => Out::Message(error(&call.id, code, &message, data)),
        End::Status(code) => Out::Status(StatusCode::from_u16(code).expect("a status")),
        End::Break => Out::Break,
    }
}

fn discover(script: &Script) -> Value {
    let mut result = json!({ "supportedVersions": [REVISION], "capabilities": script.capabilities() });
    if let Some(text) = &script.instructions {
        result["instructions"] = json!(text);
    }
    result
}

/// Adds what every result of this era carries.
fn dressed(script: &Script, call: &Call, mut value: Value) -> Value {
    let members = value.as_object_mut().expect("a result is an object");
    members.entry("resultType").or_insert_with(|| json!("complete"));
    let meta = members.entry("_meta").or_insert_with(|| json!({}));
    meta["io.modelcontextprotocol/serverInfo"] = script.server_info();
    if call.method.ends_with("/list") || matches!(call.method.as_str(), "server/discover" | "resources/read")
    {
        members.insert("ttlMs".into(), json!(TTL_MS));
        members.insert("cacheScope".into(), json!("public"));
    }
    value
}

#[cfg(test)]
mod tests;

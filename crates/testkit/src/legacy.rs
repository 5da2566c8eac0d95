//! How a backend of the revisions 2024-11-05 to 2025-11-25 answers (streamable HTTP, with sessions).

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;

use crate::backend::Era;
use crate::call::{Call, End};
use crate::inbound::{Arrived, arrive};
use crate::methods;
use crate::perform::perform;
use crate::play;
use crate::record::Seen;
use crate::script::Script;
use crate::session::Session;
use crate::stub::Stub;
use crate::tasks;
use crate::wire::{Answer, Body, Broken, Out, StreamStyle, error, events, json_answer, pipe, result, status};

/// The older revisions, newest last.
pub(crate) const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The older era.
pub struct Legacy;

impl Era for Legacy {
    async fn serve(stub: Arc<Stub>, request: Request<Incoming>) -> Answer {
        match arrive(&stub, request).await {
            Arrived::Answer(answer) => answer,
            Arrived::Seen(seen) => answer_seen(stub, seen).await,
        }
    }
}

/// Answers a request that was read.
pub(crate) async fn answer_seen(stub: Arc<Stub>, seen: Seen) -> Answer {
    if let Some(refusal) = refuse(&stub, &seen) {
        return Ok(refusal);
    }
    match seen.http_method {
        Method::POST => post(stub, seen).await,
        Method::GET => Ok(open_stream(&stub, &seen).await),
        _ => Ok(delete(&stub, &seen)),
    }
}

/// Refuses what no message is read for: wrong verbs, types, revisions and sessions.
fn refuse(stub: &Stub, seen: &Seen) -> Option<Response<Body>> {
    let script = stub.script();
    let is_post = seen.http_method == Method::POST;
    if !is_post && seen.http_method != Method::GET && seen.http_method != Method::DELETE {
        return Some(status(StatusCode::METHOD_NOT_ALLOWED));
    }
    let wanted: &[&str] = match seen.http_method {
        Method::POST => &["application/json", "text/event-stream"],
        Method::GET => &["text/event-stream"],
        _ => &[],
    };
    if !wanted.iter().all(|kind| accepts(&seen.headers, kind)) {
        return Some(refusal(StatusCode::NOT_ACCEPTABLE, seen, "Accept must list all kinds of answers"));
    }
    if is_post && !seen.header("content-type").starts_with("application/json") {
        return Some(status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let revision = seen.header("mcp-protocol-version");
    if !revision.is_empty() && !REVISIONS.contains(&revision) {
        return Some(refusal(StatusCode::BAD_REQUEST, seen, "unsupported protocol version"));
    }
    if !script.has_sessions || seen.method == "initialize" {
        return None;
    }
    match &seen.session {
        None => Some(refusal(StatusCode::BAD_REQUEST, seen, "no session id given")),
        Some(id) if stub.session(id, |_| ()).is_none() => {
            Some(refusal(script.session_refusal, seen, "session not found"))
        }
        Some(_) => None,
    }
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let lines = headers.get_all(header::ACCEPT);
    lines.iter().any(|line| line.to_str().is_ok_and(|line| line.contains(kind) || line.contains("*/*")))
}

fn refusal(code: StatusCode, seen: &Seen, message: &str) -> Response<Body> {
    json_answer(code, &error(&seen.message["id"], -32000, message, None))
}

async fn post(stub: Arc<Stub>, seen: Seen) -> Answer {
    let session = seen.session.clone().filter(|_| stub.script().has_sessions).unwrap_or_default();
    match &seen.message {
        Value::Array(batch) => return Ok(answer_batch(&stub, &session, batch).await),
        Value::Object(_) => {}
        _ => return Ok(json_answer(StatusCode::BAD_REQUEST, &error(&Value::Null, -32700, "not JSON", None))),
    }
    if seen.method.is_empty() {
        let expected = stub.take_answer(&session, seen.message);
        return Ok(status(if expected { StatusCode::ACCEPTED } else { StatusCode::BAD_REQUEST }));
    }
    if seen.message.get("id").is_none() {
        if seen.method == "notifications/cancelled" && stub.script().heeds_cancellation {
            stub.stop(&session, &seen.params()["requestId"]);
        }
        return Ok(status(StatusCode::ACCEPTED));
    }
    if seen.method == "initialize" {
        return initialize(&stub, &seen).await;
    }
    let inbox = begin(&stub, &session, &seen.message);
    let style = stub.stream_style();
    respond(&stub, style, inbox).await
}

/// Starts a call, which goes on when its client has gone, and returns where its messages arrive.
pub(crate) fn begin(stub: &Arc<Stub>, session: &str, message: &Value) -> Receiver<Out> {
    let (out, inbox) = pipe();
    let call = Call {
        id: message["id"].clone(),
        method: message["method"].as_str().unwrap_or_default().into(),
        params: message.get("params").cloned().unwrap_or_else(|| json!({})),
        session: session.into(),
        is_modern: false,
        out,
    };
    let stopped = stub.stoppable(session, &call.id);
    let task = stub.clone();
    stub.spawn(async move {
        let script = task.script();
        tokio::select! {
            end = answer(&task, &script, &call) => {
                let last = match end {
                    End::Result(value) => Out::Message(result(&call.id, value)),
                    End::Error { code, message, data } => Out::Message(error(&call.id, code, &message, data)),
                    End::Status(code) => Out::Status(StatusCode::from_u16(code).expect("a status")),
                    End::Break => Out::Break,
                };
                task.finished(&call.session, &call.id);
                // The client may have gone; nobody reads the answer then.
                let _ = call.out.send(last).await;
            }
            Ok(()) = stopped => {}
        }
    });
    inbox
}

/// Answers plainly where the first message is the answer, else with events.
async fn respond(stub: &Stub, style: StreamStyle, mut inbox: Receiver<Out>) -> Answer {
    if stub.script().uses_events {
        return Ok(events(style, None, inbox));
    }
    Ok(match inbox.recv().await {
        Some(Out::Message(message)) if message.get("method").is_none() => {
            let note = json!({ "level": "info", "logger": "beside", "data": "the answer" });
            let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": note });
            let answer = if style.is_array { json!([note, message]) } else { message };
            json_answer(StatusCode::OK, &answer)
        }
        Some(Out::Status(code)) => status(code),
        Some(Out::Break) => return Err(Broken),
        first => events(style, first, inbox),
    })
}

async fn answer_batch(stub: &Arc<Stub>, session: &str, batch: &[Value]) -> Response<Body> {
    let mut answers = Vec::new();
    for message in
        batch.iter().filter(|message| message.get("id").is_some() && message.get("method").is_some())
    {
        let mut inbox = begin(stub, session, message);
        while let Some(out) = inbox.recv().await {
            if let Out::Message(message) = out
                && message.get("method").is_none()
            {
                answers.push(message);
            }
        }
    }
    match answers.is_empty() {
        true => status(StatusCode::ACCEPTED),
        false => json_answer(StatusCode::OK, &Value::Array(answers)),
    }
}

/// Answers `initialize`: the revision agreed, and the result.
pub(crate) fn greeting(script: &Script, seen: &Seen) -> (String, Value) {
    let asked = seen.params()["protocolVersion"].as_str().unwrap_or_default();
    let is_known = REVISIONS.contains(&asked) && asked <= script.speaks.as_str();
    let revision = if is_known { asked } else { &script.speaks };
    let mut greeting = json!({
        "protocolVersion": revision,
        "capabilities": script.capabilities(),
        "serverInfo": script.server_info(),
    });
    if let Some(text) = &script.instructions {
        greeting["instructions"] = json!(text);
    }
    (revision.to_owned(), greeting)
}

async fn initialize(stub: &Arc<Stub>, seen: &Seen) -> Answer {
    let (revision, greeting) = greeting(&stub.script(), seen);
    let id = stub.greet(Session::new(&revision, seen.params()["capabilities"].clone()));
    let (out, inbox) = pipe();
    // The receiver is still here.
    let _ = out.send(Out::Message(result(&seen.message["id"], greeting))).await;
    drop(out);
    let style = StreamStyle { is_array: false, ..stub.stream_style() };
    let mut response = respond(stub, style, inbox).await?;
    if !id.is_empty() {
        let id = HeaderValue::from_str(&id).expect("session ids are made of names and numbers");
        response.headers_mut().insert("mcp-session-id", id);
    }
    Ok(response)
}

async fn answer(stub: &Stub, script: &Script, call: &Call) -> End {
    let session = &call.session;
    let known = |look: &mut dyn FnMut(&mut Session)| match stub.session(session, look) {
        Some(()) => End::Result(json!({})),
        None => End::error(-32000, "not greeted yet"),
    };
    if let Some(end) = tasks::answer(script, call) {
        return end;
    }
    match call.method.as_str() {
        "ping" => End::Result(json!({})),
        "tools/call" => play::play(stub, script, call).await,
        "logging/setLevel" => {
            let mut is_level = true;
            let end = known(&mut |session| is_level = session.set_log_level(call.text("level")));
            if is_level { end } else { End::error(-32602, "unknown level") }
        }
        "resources/subscribe" => known(&mut |session| {
            session.subscribed.insert(call.text("uri").into());
        }),
        "resources/unsubscribe" => known(&mut |session| {
            session.subscribed.remove(call.text("uri"));
        }),
        "prompts/get" if script.prompt_steps.contains_key(call.text("name")) => {
            perform(stub, script, call, &script.prompt_steps[call.text("name")]).await
        }
        method => {
            let unknown = || End::error(-32601, format!("method not found: {method}"));
            methods::answer(script, call).unwrap_or_else(unknown)
        }
    }
}

async fn open_stream(stub: &Stub, seen: &Seen) -> Response<Body> {
    let session = seen.session.as_deref().filter(|_| stub.script().has_sessions).unwrap_or_default();
    if !stub.script().has_get_stream {
        return status(StatusCode::METHOD_NOT_ALLOWED);
    }
    if let Some(inbox) = stub.resume(session, seen.header("last-event-id")).await {
        return events(stub.stream_style(), None, inbox);
    }
    match stub.session(session, Session::open_stream) {
        Some(inbox) => events(stub.stream_style(), None, inbox),
        None => status(StatusCode::BAD_REQUEST),
    }
}

fn delete(stub: &Stub, seen: &Seen) -> Response<Body> {
    match &seen.session {
        Some(id) if stub.end_session(id) => status(StatusCode::OK),
        _ => status(StatusCode::METHOD_NOT_ALLOWED),
    }
}

#[cfg(test)]
mod tests;

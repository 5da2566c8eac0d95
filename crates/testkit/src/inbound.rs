//! Takes a request in: body read, recorded, delayed, and answered out of turn where the script says so.

use std::time::Duration;

use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use serde_json::Value;

use crate::local::refuse_strangers;
use crate::record::Seen;
use crate::stub::Stub;
use crate::wire::{Answer, Broken, raw, status};

/// Largest request body a backend reads; above what any test sends on purpose.
const MAX_BODY_BYTES: usize = 256 << 20;

/// A request that was recorded, or the answer it gets out of turn.
pub(crate) enum Arrived {
    /// To be answered by its era.
    Seen(Seen),
    /// Answered already.
    Answer(Answer),
}

pub(crate) async fn arrive(stub: &Stub, request: Request<Incoming>) -> Arrived {
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, MAX_BODY_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        // The client went away in the middle of its request.
        Err(_) => return Arrived::Answer(Err(Broken)),
    };
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let seen = Seen {
        path: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        http_method: head.method,
        method: message["method"].as_str().unwrap_or_default().into(),
        session: head
            .headers
            .get("mcp-session-id")
            .map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
        headers: head.headers,
        body,
        message,
    };
    stub.saw(seen.clone());
    let script = stub.script();
    // GET and DELETE are delayed and answered by those names.
    let word =
        if seen.http_method == Method::POST { seen.method.as_str() } else { seen.http_method.as_str() };
    if let Some(time) = script.delays.get(word).filter(|time| **time > Duration::ZERO) {
        tokio::time::sleep(*time).await;
    }
    if let Some(reply) = script.replies.get(word) {
        let mut response = raw(reply.status, &reply.content_type, reply.body.clone());
        for (name, value) in &reply.headers {
            let name: http::HeaderName = name.parse().expect("the test gives a header name");
            response.headers_mut().append(name, value.parse().expect("the test gives a header value"));
        }
        return Arrived::Answer(Ok(response));
    }
    if script.only_local
        && let Some(refusal) = refuse_strangers(&seen)
    {
        return Arrived::Answer(refusal);
    }
    if let Some(token) = &script.bearer
        && seen.header("authorization") != format!("Bearer {token}")
    {
        let mut response = status(StatusCode::UNAUTHORIZED);
        let challenge = "Bearer realm=\"the backend\"".parse().expect("a header value");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        return Arrived::Answer(Ok(response));
    }
    if seen.path.split('?').next() != Some("/mcp") {
        return Arrived::Answer(Ok(status(StatusCode::NOT_FOUND)));
    }
    Arrived::Seen(seen)
}

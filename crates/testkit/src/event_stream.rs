//! How a backend over HTTP+SSE answers, the transport of 2024-11-05: GET opens a stream, whose first event names the URL
//! that messages are posted to, and everything it says comes on that stream. A session lives as long as its stream.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::backend::Era;
use crate::inbound::{Arrived, arrive};
use crate::legacy;
use crate::record::Seen;
use crate::session::Session;
use crate::stub::Stub;
use crate::wire::{Answer, Body, Out, events, result, status};

/// The older era over HTTP+SSE. Its stream and its posts are at `/mcp`.
pub struct EventStream;

impl Era for EventStream {
    async fn serve(stub: Arc<Stub>, request: Request<Incoming>) -> Answer {
        let seen = match arrive(&stub, request).await {
            Arrived::Answer(answer) => return answer,
            Arrived::Seen(seen) => seen,
        };
        let session = seen.path.split_once("?session=").map(|(_, id)| id.to_owned());
        Ok(match (&seen.http_method, session) {
            (&Method::GET, None) => open(&stub),
            (&Method::POST, Some(id)) if stub.session(&id, |_| ()).is_some() => status(post(&stub, id, seen)),
            (&Method::POST, Some(_)) => status(StatusCode::NOT_FOUND),
            // Whoever tries streamable HTTP first must be refused to go on.
            _ => status(StatusCode::METHOD_NOT_ALLOWED),
        })
    }
}

/// Opens a stream and begins a session with it.
fn open(stub: &Arc<Stub>) -> Response<Body> {
    let id = stub.greet(Session::new(legacy::REVISIONS[0], json!({})));
    let inbox = stub.session(&id, Session::open_stream).expect("it was just greeted");
    let mut style = stub.stream_style();
    let posts = stub.script().posts_to.unwrap_or_else(|| format!("/mcp?session={id}"));
    style.opening += &format!("event: endpoint\ndata: {posts}\n\n");
    let opened = Opened { stub: stub.clone(), id };
    events(style, None, inbox).map(|body| {
        let kept = body.map_frame(move |frame| {
            let _ = &opened;
            frame
        });
        kept.boxed_unsync()
    })
}

/// A stream that somebody reads.
struct Opened {
    stub: Arc<Stub>,
    id: String,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.stub.end_session(&self.id);
    }
}

/// Takes a message; what is answered comes on the stream.
fn post(stub: &Arc<Stub>, session: String, seen: Seen) -> StatusCode {
    if seen.method.is_empty() {
        let expected = stub.take_answer(&session, seen.message);
        return if expected { StatusCode::ACCEPTED } else { StatusCode::BAD_REQUEST };
    }
    if seen.message.get("id").is_none() {
        if seen.method == "notifications/cancelled" {
            stub.stop(&session, &seen.params()["requestId"]);
        }
        return StatusCode::ACCEPTED;
    }
    if seen.method == "initialize" {
        let (revision, greeting) = legacy::greeting(&stub.script(), &seen);
        let message = result(&seen.message["id"], greeting);
        stub.session(&session, |session| {
            session.revision = revision;
            session.capabilities = seen.params()["capabilities"].clone();
            session.push(message);
        });
        return StatusCode::ACCEPTED;
    }
    let mut inbox = legacy::begin(stub, &session, &seen.message);
    let stub = stub.clone();
    tokio::spawn(async move {
        while let Some(out) = inbox.recv().await {
            let pushed = match out {
                Out::Message(message) => say(&stub, &session, message),
                // There is no other connection to break, and no other status to give.
                _ => stub.end_session(&session),
            };
            if !pushed {
                return;
            }
        }
    });
    StatusCode::ACCEPTED
}

/// Says something on the stream; false where it is gone.
fn say(stub: &Stub, session: &str, message: Value) -> bool {
    stub.session(session, |session| session.push(message)).is_some()
}

#[cfg(test)]
mod tests;

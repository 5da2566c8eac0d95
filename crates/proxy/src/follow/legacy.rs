//! The GET stream of a backend session.

use std::pin::pin;
use std::sync::Arc;

use backend::{Outgoing, Reply};
use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, Method as Verb, StatusCode};
use http_body_util::BodyExt;
use mcp::sse;
use mcp::subscription::Filter;

use super::source::{Pause, Source};
use crate::forward::{self, EVENTS};
use crate::outbound::MAX_EVENT_BYTES;
use crate::relay::Passed;
use crate::sessions::{BackendSession, Slot};

/// Keeps one backend's stream open, until the backend says that it has none.
pub(super) async fn follow(mut source: Source) {
    let slot = source.errand.session.slot(&source.errand.version.key);
    let mut pause = Pause::first();
    loop {
        let opened = source.errand.open(&slot).await;
        if let Ok(open) = opened {
            match read_stream(&mut source, &slot, &open).await {
                Ended::NoStream => {
                    // What it would tell of has no way to us.
                    return source.ready.granted(&source.errand.version.key, Filter::default());
                }
                Ended::Renewed => continue,
                Ended::Lost => slot.forget(&open),
                Ended::AfterEvents => pause.reset(),
                Ended::AtOnce => {}
            }
        }
        source.ready.done();
        pause.take().await;
    }
}

/// Why a backend's stream is over.
enum Ended {
    NoStream,
    Lost,
    Renewed,
    AfterEvents,
    AtOnce,
}

async fn read_stream(source: &mut Source, slot: &Slot, open: &Arc<BackendSession>) -> Ended {
    let mut renewed = pin!(slot.renewed.notified());
    renewed.as_mut().enable();
    if !slot.current().is_some_and(|now| Arc::ptr_eq(&now, open)) {
        return Ended::Renewed;
    }
    if open.id.is_none() {
        return Ended::NoStream;
    }
    let errand = &source.errand;
    let mut headers = errand.session_headers(open, HeaderMap::new());
    headers.insert(ACCEPT, EVENTS);
    let outgoing = Outgoing { method: Verb::GET, headers, body: Bytes::new() };
    let answer = match errand.backends.send(&errand.version.endpoint, outgoing).await {
        Ok(answer) if answer.status() == StatusCode::OK => answer,
        Ok(answer) if answer.status() == StatusCode::NOT_FOUND => return Ended::Lost,
        // The backend has not noticed yet that the stream before this one is closed.
        Ok(answer) if answer.status() == StatusCode::CONFLICT => return Ended::AtOnce,
        Ok(answer) if answer.status() == StatusCode::BAD_REQUEST => {
            let refusal = forward::read_refusal(answer.into_body()).await.unwrap_or_default();
            return if forward::is_about_session(&refusal) { Ended::Lost } else { Ended::NoStream };
        }
        Ok(answer) if answer.status().is_client_error() => return Ended::NoStream,
        _ => return Ended::AtOnce,
    };
    source.ready.done();
    let mut reply = answer.into_body();
    reply.set_idle(None);
    tokio::select! {
        ended = pass_all(source, reply) => ended,
        () = renewed => Ended::Renewed,
    }
}

async fn pass_all(source: &Source, mut reply: Reply) -> Ended {
    let relay = source.relay();
    let mut decoder = sse::Decoder::new(MAX_EVENT_BYTES);
    let mut ended = Ended::AtOnce;
    while let Some(Ok(frame)) = reply.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        decoder.push(data);
        while let Some(event) = decoder.next() {
            // A piece may hold thousands of events that mean nothing.
            tokio::task::coop::consume_budget().await;
            let Ok(event) = event else { return ended };
            ended = Ended::AfterEvents;
            if !event.data.is_empty()
                && let Passed::Message(message) = relay.pass(event.data)
            {
                source.errand.session.push(&message);
            }
        }
    }
    ended
}

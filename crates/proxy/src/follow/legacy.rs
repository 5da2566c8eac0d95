//! The GET stream of a backend session.

use std::pin::pin;
use std::sync::Arc;

use backend::events::Events;
use http::{HeaderMap, StatusCode};
use mcp::message::apart;
use mcp::subscription::Filter;

use super::source::{Pause, Source};
use crate::forward;
use crate::listening::{self, Listening};
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
    let headers = errand.session_headers(open, HeaderMap::new());
    let events = match listening::listen(&errand.backends, &errand.version.endpoint, headers).await {
        Listening::Open(events) => events,
        Listening::Unknown => return Ended::Lost,
        Listening::NotNow => return Ended::AtOnce,
        Listening::Refused(answer) if answer.status() == StatusCode::BAD_REQUEST => {
            let refusal = forward::read_refusal(answer.into_body()).await.unwrap_or_default();
            return if forward::is_about_session(&refusal) { Ended::Lost } else { Ended::NoStream };
        }
        Listening::Refused(_) => return Ended::NoStream,
    };
    source.ready.done();
    tokio::select! {
        ended = pass_all(source, events) => ended,
        () = renewed => Ended::Renewed,
    }
}

async fn pass_all(source: &Source, mut events: Events) -> Ended {
    let relay = source.relay();
    let mut ended = Ended::AtOnce;
    while let Some(Ok(event)) = events.next().await {
        ended = Ended::AfterEvents;
        for message in apart(event.data) {
            if !message.is_empty()
                && let Passed::Message(message) = relay.pass(message)
            {
                source.errand.session.push(&message);
            }
        }
    }
    ended
}

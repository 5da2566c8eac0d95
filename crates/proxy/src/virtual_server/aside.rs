//! What asks no answer of a backend: the client's answers, cancellations, progress, and its log level.

use std::sync::Arc;

use catalog::VersionKey;
use catalog::endpoint::Era;
use http::{Response, StatusCode};
use mcp::message::text;
use mcp::method::Method;
use mcp::rewrite::{Edit, splice};

use crate::cancel::{self, Cancellation};
use crate::error::Error;
use crate::forward::{Errand, TAKE_UP_TIME};
use crate::outbound::Body;
use crate::plane::Call;
use crate::relay::{LEVELS, asked_number};
use crate::reply;
use crate::sessions::{Answer, ClientSession};

/// The client answers a request of a backend: it goes back under the backend's own id. An answer nobody
/// waits for is dropped.
pub(crate) fn answered(call: &Call, session: &Arc<ClientSession>) -> Response<Body> {
    let number = call.id().and_then(asked_number);
    let asked = number.and_then(|number| session.state().asked.remove(&number));
    match (asked.map(|asked| asked.answer), call.outline.id) {
        (Some(Answer::ToBackend { key, id, .. }), Some(at)) => {
            let body = splice(&call.body, &mut [Edit { at, with: id }]);
            if let Some(errand) = errand(call, session, &key) {
                errand.post_aside(body);
            }
        }
        (Some(Answer::ToRound(waiting)), _) => {
            // Nobody waits any more where the call ended meanwhile.
            let _ = waiting.send(call.body.clone());
        }
        (None, _) | (_, None) => {}
    }
    reply::empty(StatusCode::ACCEPTED)
}

/// Takes a notification and passes it to whom it concerns.
pub(crate) fn notified(call: &Call, session: &Arc<ClientSession>) -> Response<Body> {
    match call.outline.method {
        Method::Cancelled => {
            let (cancellation, body) = cancel::with_upstream_id(call, session.number, call.body.clone());
            if let Some(Cancellation { flight, held }) = cancellation {
                if let Some(stop) = flight.stop {
                    stop.notify_one();
                } else if let Some(errand) = errand(call, session, &flight.key) {
                    errand.post_all(vec![body], Some(held));
                }
            }
        }
        Method::Progress => {
            if let Some(errand) = progress_of(call, session).and_then(|key| errand(call, session, &key)) {
                errand.post_aside(call.body.clone());
            }
        }
        Method::RootsListChanged => {
            for (key, _) in session.open_backends() {
                if let Some(errand) = errand(call, session, &key) {
                    errand.post_aside(call.body.clone());
                }
            }
        }
        // `initialized` is for us, and others have no meaning to a backend.
        _ => {}
    }
    reply::empty(StatusCode::ACCEPTED)
}

/// Finds the backend whose request gave the token that this progress is about.
fn progress_of(call: &Call, session: &ClientSession) -> Option<VersionKey> {
    let token = call.param("progressToken")?;
    let state = session.state();
    let asked = state.asked.values().find(|asked| asked.progress_token.as_deref() == Some(token))?;
    match &asked.answer {
        Answer::ToBackend { key, .. } => Some(key.clone()),
        Answer::ToRound(_) => None,
    }
}

/// `logging/setLevel`: kept for backend sessions to come, and told to the others before the client has its answer, so
/// that the call it sends next is logged as it asked.
pub(crate) async fn set_level(call: &Call, session: &Arc<ClientSession>) -> Result<Response<Body>, Error> {
    let level = call.param("level").and_then(text).filter(|level| LEVELS.contains(&&**level));
    let level = level
        .ok_or_else(|| Error::InvalidParams(format!("params.level is none of {}", LEVELS.join(", "))))?;
    session.state().log_level = Some(format!("\"{level}\""));
    let errands = session.versions().into_iter().filter_map(|key| errand(call, session, &key));
    let errands = errands.filter(|errand| errand.version.offers(Era::Legacy, "logging"));
    let told: Vec<_> = errands.map(|errand| errand.post_first(call.body.clone())).collect();
    let all = async {
        for one in told {
            let _ = one.await;
        }
    };
    let _ = tokio::time::timeout(TAKE_UP_TIME, all).await;
    Ok(reply::result(call, b"{}"))
}

/// Prepares a message to the version that `key` names, whether or not the virtual server still maps it: what
/// runs there began before a switch.
fn errand(call: &Call, session: &Arc<ClientSession>, key: &VersionKey) -> Option<Arc<Errand>> {
    let version = call.table.server(key.path.as_str())?.version(key.label.as_str())?.clone();
    let (shared, backends) = (call.plane.shared.clone(), call.plane.backends.clone());
    Some(Arc::new(Errand { shared, backends, session: session.clone(), version }))
}

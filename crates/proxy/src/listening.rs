//! Asking a backend for the GET stream of a session.

use backend::events::Events;
use backend::{Backends, Outgoing, Reply};
use bytes::Bytes;
use catalog::endpoint::Endpoint;
use http::header::ACCEPT;
use http::{HeaderMap, Method, Response, StatusCode};

use crate::forward::EVENTS;
use crate::outbound::MAX_EVENT_BYTES;

/// What comes of asking.
pub(crate) enum Listening {
    /// The stream, which may be silent for as long as nothing happens.
    Open(Events),
    /// The backend does not know the session.
    Unknown,
    /// Another time it may have one.
    NotNow,
    /// The backend says why it has none.
    Refused(Response<Reply>),
}

/// Asks for the stream; `headers` name the session.
pub(crate) async fn listen(backends: &Backends, endpoint: &Endpoint, mut headers: HeaderMap) -> Listening {
    headers.insert(ACCEPT, EVENTS);
    let outgoing = Outgoing { method: Method::GET, headers, body: Bytes::new() };
    let Ok(answer) = backends.send(endpoint, outgoing).await else { return Listening::NotNow };
    match answer.status() {
        StatusCode::OK => {
            let mut reply = answer.into_body();
            reply.set_idle(None);
            Listening::Open(Events::new(reply, MAX_EVENT_BYTES))
        }
        StatusCode::NOT_FOUND => Listening::Unknown,
        // The backend has not noticed yet that the stream before this one is closed.
        StatusCode::CONFLICT => Listening::NotNow,
        status if status.is_client_error() => Listening::Refused(answer),
        _ => Listening::NotNow,
    }
}

//! Answers as HTTP would bring them.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use mcp::error::{code, error_body};
use mcp::message::Malformed;

use super::messages::Messages;
use crate::error::Error;
use crate::reply::Reply;
use crate::settings::Settings;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Bytes of a session's id, which nobody must guess.
const ID_BYTES: usize = 16;

/// The answer to a request: JSON where its first message was the answer, else events.
pub(crate) fn of_messages(messages: Messages, settings: &Settings) -> Response<Reply> {
    let kind = if messages.answer().is_some() { JSON } else { EVENTS };
    let mut response = Response::new(Reply::of_messages(messages, settings));
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// An answer that says what is wrong with a message that cannot be read.
pub(crate) fn malformed(malformed: &Malformed, settings: &Settings) -> Response<Reply> {
    refused(error_body(None, code::INVALID_REQUEST, &malformed.to_string(), None), settings)
}

/// An answer to a message that is out of place.
pub(crate) fn refused(body: Bytes, settings: &Settings) -> Response<Reply> {
    json(StatusCode::BAD_REQUEST, body, settings)
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, body: Bytes, settings: &Settings) -> Response<Reply> {
    let mut response = Response::new(Reply::of_bytes(body, settings));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// A status and nothing else.
pub(crate) fn empty(status: StatusCode, settings: &Settings) -> Response<Reply> {
    let mut response = Response::new(Reply::of_bytes(Bytes::new(), settings));
    *response.status_mut() = status;
    response
}

/// Makes a session's id.
pub(crate) fn new_id(settings: &Settings) -> Result<String, Error> {
    let mut bytes = [0; ID_BYTES];
    let random = settings.tls.crypto_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| Error::unreachable("no randomness for a session's id"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

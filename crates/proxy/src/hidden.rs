//! Lists of a server path for callers who may not see all of its tools. Only for them is such an answer read.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use mcp::list::{self, ListKind};
use mcp::message::{Kind, Outline, member, text};
use mcp::method::Method;
use mcp::rewrite::{Edit, splice};
use mcp::sse;

use crate::answer;
use crate::error::Error;
use crate::outbound::{Body, MAX_EVENT_BYTES};
use crate::plane::Call;
use crate::reply;

/// Largest list that is read whole, as for anything that is changed on its way.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;

/// Says whether a request is for a list of which this caller may see a part only.
pub(crate) fn hides(call: &Call, path: &str) -> bool {
    let is_list = call.outline.method == Method::ToolsList && call.outline.kind == Kind::Request;
    is_list
        && !call.principal.is_admin
        && call
            .table
            .guard(path)
            .is_some_and(|guard| !guard.shows_all(|scope| call.table.holds(&call.principal, scope)))
}

/// Takes out of an answer to `tools/list` what the caller may not see. What cannot be read is not passed on.
pub(crate) async fn tools(call: &Call, path: &str, answer: Response<Body>) -> Result<Response<Body>, Error> {
    let unusable = |reason: &str| Error::Unusable { server: path.into(), reason: reason.into() };
    let (head, body) = answer.into_parts();
    let is_events = answer::is_events(&head.headers);
    if !is_events && !answer::is_json(&head.headers) {
        return Ok(Response::from_parts(head, body));
    }
    let read = Limited::new(body, MAX_LIST_BYTES).collect().await;
    let mut message = read.map_err(|_| unusable("its list of tools did not come to its end"))?.to_bytes();
    if is_events {
        message = answered(message).ok_or_else(|| unusable("its stream held no answer"))?;
    }
    let shown = filtered(call, path, &message).ok_or_else(|| unusable("its list of tools cannot be read"))?;
    if !is_events {
        return Ok(Response::from_parts(head, Body::full(shown)));
    }
    if call.accepts.json {
        return Ok(reply::json(StatusCode::OK, shown));
    }
    let mut response = Response::new(Body::full(sse::encode(&shown, None)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// Finds the answer in a stream. What else it tells is of no use to whoever asks for a list.
fn answered(stream: Bytes) -> Option<Bytes> {
    let mut decoder = sse::Decoder::new(MAX_EVENT_BYTES);
    decoder.push(stream);
    while let Some(Ok(event)) = decoder.next() {
        if Outline::read(&event.data).is_ok_and(|read| read.kind == Kind::Response) {
            return Some(event.data);
        }
    }
    None
}

/// Returns the message without the hidden tools; `None` where it is no answer that can be read.
fn filtered(call: &Call, path: &str, message: &Bytes) -> Option<Bytes> {
    let outline = Outline::read(message).ok().filter(|outline| outline.kind == Kind::Response)?;
    let Some(result) = outline.result else { return Some(message.clone()) };
    let object = result.of(message);
    let guard = call.table.guard(path)?;
    let is_shown = |name: &str| guard.shows(|scope| call.table.holds(&call.principal, scope), name);
    let mut shown = Vec::from(b"[");
    for item in list::read(object, ListKind::Tools)?.items {
        let Some(name) = item.key.and_then(|key| text(key.of(object))) else { continue };
        if is_shown(&name) {
            shown.extend_from_slice(if shown.len() > 1 { b"," } else { b"" });
            shown.extend_from_slice(item.json.of(object));
        }
    }
    shown.push(b']');
    let list = member(object, ListKind::Tools.member())?;
    let mut edits = vec![Edit { at: list.shifted(result.start), with: shown.into() }];
    if let Some(scope) = member(object, "cacheScope") {
        // Others may see more, or less.
        edits.push(Edit { at: scope.shifted(result.start), with: Bytes::from_static(b"\"private\"") });
    }
    Some(splice(message, &mut edits))
}

#[cfg(test)]
mod tests;

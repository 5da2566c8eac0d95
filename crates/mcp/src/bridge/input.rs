//! Rounds of input: a backend's questions in an answer (2026-07-28), or as requests of their own (legacy).

use bytes::Bytes;

use super::object::Rebuilt;
use crate::message::{Outline, Span, member, members, quote, text};
use crate::method::Method;
use crate::rewrite::{Edit, splice};

/// One question of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRequest {
    /// Its key in `inputRequests`.
    pub key: String,
    /// What is asked for.
    pub method: Method,
    /// The same as text.
    pub method_name: String,
    /// A JSON object; `{}` where there are none.
    pub params: Bytes,
}

/// An answer that asks for input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputRequired {
    /// The questions, in their order.
    pub requests: Vec<InputRequest>,
    /// The backend's state, a JSON string to be given back byte for byte.
    pub request_state: Option<Bytes>,
}

/// An answer asks for input in words that cannot be put to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it asks for input in a way that nobody knows")]
pub struct UnknownQuestion;

/// Reads an answer that asks for input; `None` for any other.
///
/// Only the questions that the protocol has are read: whatever else stood there would reach the client as a request of
/// the gateway.
pub fn input_required(answer: &Bytes) -> Result<Option<InputRequired>, UnknownQuestion> {
    let Some(at) = asking_result(answer) else { return Ok(None) };
    let result = at.of(answer);
    let raw = |span: Span| answer.slice(span.shifted(at.start).range());
    let request_state = member(result, "requestState").map(raw);
    if request_state.as_ref().is_some_and(|state| !state.starts_with(b"\"")) {
        return Err(UnknownQuestion);
    }
    let requests = match member(result, "inputRequests") {
        Some(span) => read_requests(&raw(span)).ok_or(UnknownQuestion)?,
        None => Vec::new(),
    };
    Ok(Some(InputRequired { requests, request_state }))
}

/// Finds the result of an answer that asks for input.
fn asking_result(answer: &Bytes) -> Option<Span> {
    memchr::memmem::find(answer, b"\"input_required\"")?;
    let at = Outline::read(answer).ok()?.result?;
    let result = at.of(answer);
    let kind = member(result, "resultType")?;
    (text(kind.of(result))? == "input_required").then_some(at)
}

fn read_requests(object: &Bytes) -> Option<Vec<InputRequest>> {
    let mut requests = Vec::new();
    for (key, value) in members(object)? {
        let request = object.slice(value.range());
        let method_name = text(member(&request, "method")?.of(&request))?.into_owned();
        let params =
            member(&request, "params").map_or(Bytes::from_static(b"{}"), |span| request.slice(span.range()));
        let key = text(key.of(object))?.into_owned();
        let method = Method::parse(&method_name);
        let is_question = matches!(method, Method::Elicit | Method::CreateMessage | Method::RootsList);
        if !is_question || !params.starts_with(b"{") {
            return None;
        }
        requests.push(InputRequest { key, method, method_name, params });
    }
    Some(requests)
}

/// Writes a request once more, with answers to what was asked, under another id where one is given.
pub fn with_responses(
    body: &Bytes,
    outline: &Outline,
    responses: &[(String, Bytes)],
    request_state: Option<&Bytes>,
    id: Option<&Bytes>,
) -> Bytes {
    let Some(params) = outline.params else { return body.clone() };
    let Some(mut rebuilt) = Rebuilt::of(params.of(body)) else { return body.clone() };
    let answers = responses.iter().fold(Rebuilt::empty(), |all, (key, value)| all.with(key, value));
    rebuilt = rebuilt.without(|name| matches!(name, "inputResponses" | "requestState"));
    rebuilt = rebuilt.with("inputResponses", &answers.written());
    if let Some(state) = request_state {
        rebuilt = rebuilt.with("requestState", state);
    }
    let mut edits = vec![Edit { at: params, with: rebuilt.written().into() }];
    if let (Some(at), Some(id)) = (outline.id, id) {
        edits.push(Edit { at, with: id.clone() });
    }
    splice(body, &mut edits)
}

/// Writes the answer that asks a modern client for input. `elicitationId` belongs to the legacy revisions and
/// is taken out.
pub fn asking(id: &[u8], requests: &[InputRequest], request_state: &str) -> Bytes {
    let mut asked = Rebuilt::empty();
    for request in requests {
        let params = Rebuilt::of(&request.params).unwrap_or_else(Rebuilt::empty);
        let params = params.without(|name| name == "elicitationId").written();
        let one =
            Rebuilt::empty().with("method", quote(&request.method_name).as_bytes()).with("params", &params);
        asked = asked.with(&request.key, &one.written());
    }
    let result = Rebuilt::empty()
        .with("resultType", br#""input_required""#)
        .with("inputRequests", &asked.written())
        .with("requestState", quote(request_state).as_bytes());
    crate::error::result_body(id, &result.written())
}

/// Lists the answers in a modern request that goes on after a round of input.
pub fn input_responses(body: &Bytes, outline: &Outline) -> Vec<(String, Bytes)> {
    let Some(params) = outline.params else { return Vec::new() };
    let Some(at) = member(params.of(body), "inputResponses") else { return Vec::new() };
    let object = body.slice(at.shifted(params.start).range());
    let pairs = members(&object).unwrap_or_default().into_iter();
    pairs
        .filter_map(|(key, value)| Some((text(key.of(&object))?.into_owned(), object.slice(value.range()))))
        .collect()
}

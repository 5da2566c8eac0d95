//! A backend that wants a token which only its user can allow: the client is asked to have them do that.
//!
//! Source: MCP 2025-11-25 and 2026-07-28, client/elicitation, "URL mode".

use auth::Issuer;
use http::{HeaderValue, Response};
use mcp::error::code;
use mcp::message::{Meta, member, quote};
use mcp::method::Method;
use routing::target::Target;

use crate::error::Error;
use crate::metadata;
use crate::outbound::Body;
use crate::plane::{Call, Front};
use crate::{inbound, reply};

/// The key of our question among the answers that come back.
const QUESTION: &str = "switchyard.connect";

/// Turns a refusal for want of consent into a question where the client can put it to its user, else into an error that
/// names the URL. Any other error stays as it is.
pub(crate) fn or_ask(
    error: Error,
    call: &Call,
    host: Option<&HeaderValue>,
    path: &str,
) -> Result<Response<Body>, Error> {
    let Error::NoConsent { server, .. } = error else { return Err(error) };
    let base = metadata::base_url(host, &call.plane.shared.settings);
    let named: String = url::form_urlencoded::byte_serialize(server.as_bytes()).collect();
    let url = format!("{base}/api/connect?server={named}");
    let message = format!("{server} needs your permission to act for you");
    if was_declined(call) || !can_open_urls(call, path) {
        return Err(Error::NoConsent { server, url });
    }
    match (call.front, call.outline.method) {
        (Front::Modern, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead) => {
            let result = format!(
                r#"{{"resultType":"input_required","inputRequests":{{"{QUESTION}":{{"method":"elicitation/create","params":{{"mode":"url","url":{},"message":{}}}}}}}}}"#,
                quote(&url),
                quote(&message)
            );
            Ok(reply::result(call, result.as_bytes()))
        }
        (Front::Modern, _) => Err(Error::NoConsent { server, url }),
        (Front::Legacy, _) => {
            let data = format!(
                r#"{{"elicitations":[{{"mode":"url","elicitationId":"{}","url":{},"message":{}}}]}}"#,
                Issuer::new_id(),
                quote(&url),
                quote(&message)
            );
            let body = mcp::error::error_body(call.id(), code::URL_NEEDED, &message, Some(&data));
            Ok(reply::json(http::StatusCode::OK, body))
        }
    }
}

/// Says whether the user was asked before and would not.
fn was_declined(call: &Call) -> bool {
    let Some(answers) = call.param("inputResponses") else { return false };
    let Some(answer) = member(answers, QUESTION).map(|at| at.of(answers)) else { return false };
    member(answer, "action").is_none_or(|action| action.of(answer) != br#""accept""#)
}

/// Says whether the client declared that it can show its user a URL.
fn can_open_urls(call: &Call, path: &str) -> bool {
    let has_url = |capabilities: &[u8]| {
        let elicitation = member(capabilities, "elicitation").map(|at| at.of(capabilities));
        elicitation.is_some_and(|modes| member(modes, "url").is_some())
    };
    if call.front == Front::Modern {
        let meta = call.outline.meta.map(|span| span.of(&call.body)).unwrap_or_default();
        return Meta::read(meta).client_capabilities.is_some_and(|span| has_url(span.of(meta)));
    }
    if call.outline.method == Method::Initialize {
        return call.param("capabilities").is_some_and(has_url);
    }
    let Ok(Some(token)) = inbound::session_id(&call.headers) else { return false };
    let bound_to = match call.table.target(path) {
        Some(Target::Virtual(target)) => &target.binding,
        _ => path,
    };
    let session = call.plane.shared.sessions.find(token, bound_to, &call.principal);
    session.is_some_and(|session| has_url(session.sealed.capabilities.as_bytes()))
}

//! The one door where an [`Error`] becomes a status and a JSON-RPC body.

use bytes::Bytes;
use catalog::access::Scope;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use mcp::error::{code, error_body, result_body};
use mcp::message::quote;

use crate::error::Error;
use crate::outbound::Body;
use crate::plane::Call;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// When to come back after there was too much to do: large answers leave memory within seconds.
const RETRY_AFTER_MS: u32 = 1_000;

/// When to come back after an identity provider could not be reached: it is asked again within seconds.
const ASK_AGAIN_SECONDS: &str = "5";

/// What an answer about an error needs to know of the request.
pub(crate) struct Asker<'a> {
    /// The raw id of the request, where one was read.
    pub(crate) id: Option<&'a [u8]>,
    /// Whether the client is of the modern era; a few codes and statuses differ.
    pub(crate) is_modern: bool,
    /// URL of the endpoint's protected resource metadata (RFC 9728).
    pub(crate) metadata_url: &'a dyn Fn() -> String,
    /// The scopes the endpoint requires, with blanks between.
    pub(crate) scope: &'a dyn Fn() -> String,
}

/// Answers with a JSON body.
pub(crate) fn json(status: StatusCode, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::full(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// Answers a request with a result of our own.
pub(crate) fn result(call: &Call, result: &[u8]) -> Response<Body> {
    let id = call.id().expect("only requests are answered with a result");
    json(StatusCode::OK, result_body(id, result))
}

/// Answers with a status and nothing else.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Turns an error into a JSON-RPC body, for a stream that has begun.
pub(crate) fn body(error: &Error, asker: &Asker<'_>) -> Bytes {
    error_body(asker.id, rpc_code(error, asker.is_modern), &error.to_string(), data(error).as_deref())
}

/// Turns an error into the answer the client gets.
pub(crate) fn refuse(error: &Error, asker: &Asker<'_>) -> Response<Body> {
    let mut response = json(status(error, asker.is_modern), body(error, asker));
    let headers = response.headers_mut();
    headers.insert(mcp::headers::ERROR_CLASS, HeaderValue::from_static(error.class()));
    match error {
        Error::MethodNotAllowed { allow } => {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        Error::RateLimited { exceeded, .. } => {
            headers.insert(RETRY_AFTER, HeaderValue::from(exceeded.seconds()));
        }
        Error::Unauthorized(_) | Error::MissingScope { .. } => {
            headers.insert(WWW_AUTHENTICATE, challenge(error, asker));
        }
        Error::ProviderAway => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(ASK_AGAIN_SECONDS));
        }
        _ => {}
    }
    response
}

/// MCP clients read a JSON-RPC error only from a 2xx answer (some from 400), so errors of a backend and of
/// a name are 200 (gateway protocol, section 11).
fn status(error: &Error, is_modern: bool) -> StatusCode {
    match error {
        Error::ForeignHost | Error::MissingScope { .. } => StatusCode::FORBIDDEN,
        Error::Unauthorized(_) => StatusCode::UNAUTHORIZED,
        Error::NoSuchPath(_) | Error::Disabled(_) | Error::SessionUnknown | Error::NoSuchVersion { .. } => {
            StatusCode::NOT_FOUND
        }
        Error::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
        Error::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Error::BodySlow => StatusCode::REQUEST_TIMEOUT,
        Error::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
        Error::DoorFull | Error::ProviderAway => StatusCode::SERVICE_UNAVAILABLE,
        Error::RateLimited { is_answered: false, .. } => StatusCode::TOO_MANY_REQUESTS,
        Error::BodyBroken
        | Error::Malformed(_)
        | Error::InvalidRequest(_)
        | Error::MissingMeta(_)
        | Error::HeaderMismatch(_)
        | Error::UnsupportedVersion { .. }
        | Error::SessionMissing
        | Error::SessionVersion { .. }
        | Error::Ambiguous { .. } => StatusCode::BAD_REQUEST,
        Error::UnknownMethod(_) if is_modern => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

fn rpc_code(error: &Error, is_modern: bool) -> i32 {
    match error {
        Error::Malformed(malformed) => malformed.code(),
        Error::InvalidParams(_) | Error::MissingMeta(_) | Error::UnknownName { .. } => code::INVALID_PARAMS,
        Error::ResourceNotFound(_) if is_modern => code::INVALID_PARAMS,
        Error::ResourceNotFound(_) => code::RESOURCE_NOT_FOUND,
        Error::HeaderMismatch(_) => code::HEADER_MISMATCH,
        Error::UnsupportedVersion { .. } => code::UNSUPPORTED_VERSION,
        Error::UnknownMethod(_) => code::METHOD_NOT_FOUND,
        Error::SessionUnknown => code::SESSION_NOT_FOUND,
        Error::NoSuchVersion { .. } => code::NO_SUCH_VERSION,
        Error::MissingScope { .. } => code::MISSING_SCOPE,
        Error::RateLimited { .. } => code::RATE_LIMITED,
        Error::Forbidden(_) => code::POLICY,
        Error::Unreachable { .. }
        | Error::RefusedCredentials { .. }
        | Error::NoCredentials { .. }
        | Error::NoConsent { .. } => code::UNREACHABLE,
        Error::TimedOut { .. } => code::TIMED_OUT,
        Error::Unusable { .. } => code::UNUSABLE_ANSWER,
        Error::Overloaded { .. } | Error::TooManyStreams | Error::DoorFull => code::OVERLOADED,
        Error::Misdressed { .. } | Error::ProviderAway => code::INTERNAL,
        Error::Refused { code, .. } => i32::try_from(*code).unwrap_or(code::UNUSABLE_ANSWER),
        _ => code::INVALID_REQUEST,
    }
}

fn data(error: &Error) -> Option<String> {
    match error {
        Error::Unreachable { server, reason }
        | Error::NoCredentials { server, reason }
        | Error::TimedOut { server, reason }
        | Error::Unusable { server, reason } => {
            Some(format!(r#"{{"server":{},"reason":{}}}"#, quote(server), quote(reason)))
        }
        Error::RefusedCredentials { server } => {
            Some(format!(r#"{{"server":{},"reason":"it answered 401"}}"#, quote(server)))
        }
        Error::NoConsent { server, url } => {
            Some(format!(r#"{{"server":{},"url":{}}}"#, quote(server), quote(url)))
        }
        Error::Overloaded { server } => {
            Some(format!(r#"{{"server":{},"retryAfterMs":{RETRY_AFTER_MS}}}"#, quote(server)))
        }
        Error::TooManyStreams | Error::DoorFull => Some(format!(r#"{{"retryAfterMs":{RETRY_AFTER_MS}}}"#)),
        Error::RateLimited { exceeded, .. } => {
            // Rounded up: who comes at that time is let in.
            let wait = exceeded.retry_after.as_nanos().div_ceil(1_000_000);
            Some(format!(r#"{{"retryAfterMs":{wait},"limit":"{}"}}"#, exceeded.scope.as_str()))
        }
        Error::Refused { server, .. } => Some(format!(r#"{{"server":{}}}"#, quote(server))),
        Error::ResourceNotFound(uri) => Some(format!(r#"{{"uri":{}}}"#, quote(uri))),
        Error::UnsupportedVersion { requested, supported } => {
            Some(format!(r#"{{"supported":{supported},"requested":{}}}"#, quote(requested)))
        }
        _ => None,
    }
}

/// RFC 6750, section 3, with the metadata of RFC 9728. A refusal for scope names every scope the operation
/// needs, so that a client asks for all of them at once.
fn challenge(error: &Error, asker: &Asker<'_>) -> HeaderValue {
    let metadata_url = (asker.metadata_url)();
    let text = match error {
        Error::MissingScope { needed, .. } => {
            let scopes: Vec<_> = needed.iter().map(Scope::as_str).collect();
            let scopes = scopes.join(" ");
            format!(
                r#"Bearer error="insufficient_scope", scope="{scopes}", resource_metadata="{metadata_url}", error_description="{error}""#
            )
        }
        _ => match (asker.scope)() {
            scope if scope.is_empty() => format!(r#"Bearer resource_metadata="{metadata_url}""#),
            scope => format!(r#"Bearer resource_metadata="{metadata_url}", scope="{scope}""#),
        },
    };
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("Bearer"))
}

#[cfg(test)]
mod tests;

//! The one door where an error becomes a status and a body: problem documents of RFC 9457.
//!
//! Shape: `{"type": "about:blank", "title": "Conflict", "status": 409, "detail": "…", "errors": [{"field": "path",
//! "reason": "…"}]}`, `errors` for bad fields only, plus members that help a program act.

use axum::response::{IntoResponse, Response};
use catalog::error::{Invalid, Refusal};
use http::{HeaderName, HeaderValue, StatusCode, header};
use limits::Exceeded;
use serde_json::{Map, Value, json};

use crate::apply;

/// A refusal or failure as its reader gets it.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: Box<str>,
    members: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// What OpenAPI says of a problem document.
#[derive(utoipa::ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "describes the shape that `Problem` writes")]
pub(crate) struct ProblemDocument {
    /// Always `about:blank`.
    r#type: String,
    /// The status in words.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What went wrong and what to do about it.
    detail: String,
    /// Every bad field, where the request was not valid.
    errors: Option<Vec<BadField>>,
}

/// A bad field of a request.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the shape that `Problem` writes")]
pub(crate) struct BadField {
    /// Its name, with an index where it is in a list.
    field: String,
    /// What is wrong with it.
    reason: String,
}

impl Problem {
    /// Says what went wrong in words a person can act on.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into().into(), members: Map::new(), headers: Vec::new() }
    }

    /// Says that a caller comes too often, and when to come again.
    pub(crate) fn too_early(exceeded: Exceeded) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, exceeded.to_string())
            .with_header(header::RETRY_AFTER, &exceeded.seconds().to_string())
    }

    /// Returns its status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns what went wrong in words.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// Adds a member for programs.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.into(), value.into());
        self
    }

    /// Adds a header.
    pub(crate) fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        // Values come from our own words; one that is no header value is left out rather than worth a failure.
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// Names one bad field.
    pub(crate) fn bad_field(field: &str, reason: impl Into<String>) -> Self {
        vec![Invalid::new(field, reason)].into()
    }

    /// Nobody, or nobody we know, calls.
    pub(crate) fn unauthorized(detail: &str, is_token_bad: bool) -> Self {
        let challenge = if is_token_bad { "Bearer error=\"invalid_token\"" } else { "Bearer" };
        Self::new(StatusCode::UNAUTHORIZED, detail).with_header(header::WWW_AUTHENTICATE, challenge)
    }
}

impl From<Vec<Invalid>> for Problem {
    fn from(faults: Vec<Invalid>) -> Self {
        let detail = faults.iter().map(Invalid::to_string).collect::<Vec<_>>().join("; ");
        let errors: Vec<_> =
            faults.iter().map(|one| json!({ "field": one.field, "reason": one.reason })).collect();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail).with("errors", errors)
    }
}

impl From<Invalid> for Problem {
    fn from(fault: Invalid) -> Self {
        vec![fault].into()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        match refusal {
            Refusal::Invalid(faults) => faults.into(),
            Refusal::NoSuch { known, .. } if known.is_empty() => Self::new(StatusCode::NOT_FOUND, detail),
            Refusal::NoSuch { known, .. } => Self::new(StatusCode::NOT_FOUND, detail).with("known", known),
            Refusal::Exists { .. } | Refusal::Unreadable { .. } | Refusal::Active { .. } => {
                Self::new(StatusCode::CONFLICT, detail)
            }
            Refusal::Pinned { by, .. } => {
                let slugs: Vec<_> = by.iter().map(|slug| slug.path()).collect();
                Self::new(StatusCode::CONFLICT, detail).with("virtual_servers", slugs)
            }
            Refusal::Moved { current, .. } => {
                Self::new(StatusCode::PRECONDITION_FAILED, detail).with("revision", current)
            }
        }
    }
}

impl From<apply::Error> for Problem {
    fn from(error: apply::Error) -> Self {
        match error {
            apply::Error::Refused(refusal) => refusal.into(),
            apply::Error::Store(error) => error.into(),
            apply::Error::Interrupted => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the change was interrupted; read it and try again",
            ),
        }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Moved { .. } => {
                let detail = format!("{error}; read it again and repeat the edit");
                Self::new(StatusCode::CONFLICT, detail)
            }
            error => {
                tracing::error!(%error, "the store failed");
                let detail = "the store cannot write now; nothing was changed, try again later";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut document = Map::new();
        document.insert("type".into(), "about:blank".into());
        document.insert("title".into(), self.status.canonical_reason().unwrap_or("Error").into());
        document.insert("status".into(), self.status.as_u16().into());
        document.insert("detail".into(), String::from(self.detail).into());
        document.extend(self.members);
        let body = Value::Object(document).to_string();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (self.status, [(header::CONTENT_TYPE, kind)], body).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}

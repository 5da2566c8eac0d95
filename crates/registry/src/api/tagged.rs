//! Answers that carry the revision they show, for a later `If-Match`.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

/// A JSON answer with `ETag: "<revision>"`.
pub(crate) struct Tagged<T> {
    /// The status of the answer.
    pub(crate) status: StatusCode,
    /// The revision of what is shown.
    pub(crate) revision: u64,
    /// What is shown.
    pub(crate) body: T,
}

impl<T> Tagged<T> {
    /// Answers 200.
    pub(crate) fn ok(revision: u64, body: T) -> Self {
        Self { status: StatusCode::OK, revision, body }
    }
}

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        let tag = HeaderValue::from_str(&format!("\"{}\"", self.revision)).expect("digits in quotes");
        response.headers_mut().insert(header::ETAG, tag);
        response
    }
}

//! Carries a request from a data thread to the control plane's runtime, and its answer back.

use axum::Router;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tower::ServiceExt;

/// The control plane as a data thread sees it.
#[derive(Clone)]
pub(crate) struct Control {
    router: Router,
    runtime: Handle,
}

impl Control {
    /// Serves `router` on the runtime this is called on.
    pub(crate) fn new(router: Router) -> Self {
        Self { router, runtime: Handle::current() }
    }

    /// Answers a request of the control plane.
    ///
    /// **cancel** leaves the handler running to its end: a change that has begun is made whole, whether or not
    /// somebody still listens.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<axum::body::Body> {
        let answer = self.router.clone().oneshot(request.map(axum::body::Body::new));
        match self.runtime.spawn(answer).await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(error) => {
                tracing::error!(%error, "a handler of the control plane failed");
                let detail = "the gateway failed to answer; its log says why";
                problem(StatusCode::INTERNAL_SERVER_ERROR, detail)
            }
        }
    }
}

/// Answers for paths that the control plane has nothing at.
pub(crate) async fn not_found() -> Response<axum::body::Body> {
    problem(StatusCode::NOT_FOUND, "there is nothing at this path; the API is described at /api/docs")
}

/// Makes a problem document (RFC 9457).
fn problem(status: StatusCode, detail: &str) -> Response<axum::body::Body> {
    let title = status.canonical_reason().unwrap_or("Error");
    let body = serde_json::json!({ "type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail });
    let mut response = Response::new(axum::body::Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}

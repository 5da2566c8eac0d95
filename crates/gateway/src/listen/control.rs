//! Carries a request from a data thread to the control plane's runtime, and its answer back.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::{BoxError, Router};
use bytes::Bytes;
use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::time::Sleep;
use tower::ServiceExt;

/// The control plane as a data thread sees it.
#[derive(Clone)]
pub(crate) struct Control {
    router: Router,
    runtime: Handle,
    /// Longest time a request's body may take to arrive.
    body_within: Duration,
}

/// A request's body with a deadline: a client that never ends it would hold a handler for ever.
struct Timed<B> {
    body: B,
    deadline: Pin<Box<Sleep>>,
    is_late: Arc<AtomicBool>,
}

impl Control {
    /// Serves `router` on the runtime this is called on. A body that takes longer than `body_within` is refused.
    pub(crate) fn new(router: Router, body_within: Duration) -> Self {
        Self { router, runtime: Handle::current(), body_within }
    }

    /// Answers a request of the control plane.
    ///
    /// **cancel** leaves the handler running to its end: a change that has begun is made whole, whether or not
    /// somebody still listens.
    pub(super) async fn answer<B>(&self, request: Request<B>) -> Response<axum::body::Body>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let (router, within, is_late) = (self.router.clone(), self.body_within, Arc::default());
        let seen = Arc::clone(&is_late);
        let answer = async move {
            let deadline = Box::pin(tokio::time::sleep(within));
            let request = request.map(|body| axum::body::Body::new(Timed { body, deadline, is_late }));
            router.oneshot(request).await
        };
        guarded(match self.runtime.spawn(answer).await {
            // Whatever a handler makes of half a body, this was the reason.
            Ok(Ok(_)) if seen.load(Ordering::Acquire) => {
                let detail = format!("the body did not arrive within {} seconds", within.as_secs_f32());
                problem(StatusCode::REQUEST_TIMEOUT, &detail)
            }
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(error) => {
                tracing::error!(%error, "a handler of the control plane failed");
                let detail = "the gateway failed to answer; its log says why";
                problem(StatusCode::INTERNAL_SERVER_ERROR, detail)
            }
        })
    }
}

impl<B> http_body::Body for Timed<B>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(self.deadline.as_mut().poll(context));
        self.is_late.store(true, Ordering::Release);
        Poll::Ready(Some(Err("the body is late".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Has browsers do nothing with an answer but show it, where it does not allow more by itself: no page frames it, it
/// loads nothing, nobody guesses what it is, and no link to elsewhere tells where one came from.
fn guarded(mut response: Response<axum::body::Body>) -> Response<axum::body::Body> {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Answers requests that name another host, or come from a page of another one.
pub(super) fn foreign() -> Response<axum::body::Body> {
    guarded(problem(StatusCode::FORBIDDEN, "this host name or origin is not served here"))
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

#[cfg(test)]
mod tests;

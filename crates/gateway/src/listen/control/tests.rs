//! Requests on their way to the control plane.

use std::convert::Infallible;

use axum::routing::post;
use futures_util::StreamExt;
use http_body_util::{BodyExt, Full, StreamBody};

use super::*;

/// Far more than a body in memory needs, far less than a test may take.
const WITHIN: Duration = Duration::from_millis(200);

fn control() -> Control {
    let router = Router::new().route("/echo", post(async |body: Bytes| body));
    Control::new(router.route("/unread", post(async || "done")), WITHIN)
}

fn to<B>(path: &str, body: B) -> Request<B> {
    Request::post(path).body(body).expect("a request")
}

/// A body of which a byte comes every now and then and that never ends.
fn endless() -> impl http_body::Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static {
    let frames = futures_util::stream::repeat(()).then(async |()| {
        tokio::time::sleep(WITHIN / 10).await;
        Ok(Frame::data(Bytes::from_static(b"x")))
    });
    StreamBody::new(Box::pin(frames))
}

async fn text(response: Response<axum::body::Body>) -> String {
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(bytes.to_vec()).expect("a text")
}

#[tokio::test]
async fn a_body_that_never_ends_is_refused_in_time() {
    let begun = std::time::Instant::now();
    let response = control().answer(to("/echo", endless())).await;
    assert!(begun.elapsed() >= WITHIN);
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    let problem = text(response).await;
    assert!(problem.contains("did not arrive within 0.2 seconds"), "{problem}");
}

#[tokio::test]
async fn a_body_in_time_comes_through_and_one_unread_matters_not() {
    let response = control().answer(to("/echo", Full::new(Bytes::from_static(b"hello")))).await;
    assert_eq!((response.status(), text(response).await), (StatusCode::OK, "hello".to_owned()));
    let response = control().answer(to("/unread", endless())).await;
    assert_eq!((response.status(), text(response).await), (StatusCode::OK, "done".to_owned()));
}

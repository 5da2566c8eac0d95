//! Serves one connection: HTTP/1.1, or HTTP/2 by prior knowledge.

use std::cell::Cell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::Watcher;

use super::body::Body;
use super::{Accepted, Control, plane};

/// A new connection must have sent the head of its first request by then.
const FIRST_HEAD: Duration = Duration::from_secs(30);
/// A kept connection must have sent the head of its next request by then. Longer than the minute after which
/// load balancers and client libraries drop theirs, so that they and not we end it.
const NEXT_HEAD: Duration = Duration::from_secs(120);
/// Largest head of a request, and most of a body read ahead.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Requests one HTTP/2 connection may have open.
const MAX_STREAMS: u32 = 256;
/// Body bytes that one HTTP/2 request may send ahead; eight times that for the whole connection.
const STREAM_WINDOW: u32 = 256 << 10;
/// Between two signs of life asked of an HTTP/2 client.
const PING_EVERY: Duration = Duration::from_secs(60);

/// What a data thread answers requests with.
pub(super) struct Planes {
    pub(super) proxy: proxy::Proxy,
    pub(super) control: Control,
    /// The path that a proxy in front puts before ours; empty for none.
    pub(super) prefix: Box<str>,
}

/// Runs tasks on the thread they come from.
#[derive(Clone, Copy)]
pub(super) struct OnThisThread;

impl<F: Future + 'static> hyper::rt::Executor<F> for OnThisThread {
    fn execute(&self, task: F) {
        // Nobody waits for a stream's output; the connection that made it ends it.
        tokio::task::spawn_local(async move { drop(task.await) });
    }
}

/// Makes the one builder of a data thread.
pub(super) fn builder() -> Builder<OnThisThread> {
    let mut builder = Builder::new(OnThisThread);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(NEXT_HEAD).max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(STREAM_WINDOW * 8)
        .keep_alive_interval(PING_EVERY);
    builder
}

/// Serves a connection to its end.
pub(super) async fn serve(
    accepted: Accepted,
    builder: Rc<Builder<OnThisThread>>,
    planes: Rc<Planes>,
    watcher: Watcher,
) {
    let Accepted { stream, permit: _permit } = accepted;
    let stream = match tokio::net::TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "a connection ended before it began"),
    };
    let peer = stream.peer_addr().ok();
    let has_begun = Rc::new(Cell::new(false));
    let begun = has_begun.clone();
    let service = hyper::service::service_fn(move |request| {
        begun.set(true);
        let planes = planes.clone();
        async move { Ok::<_, Infallible>(planes.answer(request, peer).await) }
    });
    let connection = watcher.watch(builder.serve_connection(TokioIo::new(stream), service).into_owned());
    let mut connection = std::pin::pin!(connection);
    let outcome = tokio::select! {
        outcome = &mut connection => outcome,
        () = tokio::time::sleep(FIRST_HEAD) => {
            if !has_begun.get() {
                return;
            }
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(error = &*error, "a connection broke off");
    }
}

impl Planes {
    async fn answer(&self, mut request: Request<Incoming>, peer: Option<SocketAddr>) -> Response<Body> {
        if !plane::is_control(request.uri().path(), &self.prefix) {
            return self.proxy.handle(request).await.map(Body::Data);
        }
        if let Some(short) = plane::without_prefix(request.uri(), &self.prefix) {
            *request.uri_mut() = short;
        }
        if let Some(peer) = peer {
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        self.control.answer(request).await.map(Body::Control)
    }
}

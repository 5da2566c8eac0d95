//! Serves one connection: HTTP/1.1 by ourselves, HTTP/2 by prior knowledge through hyper.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::Cursor;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use bytes::BytesMut;
use http::{Request, Response};
use http_body_util::Either;
use hyper::server::conn::http2::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::{Accepted, Control, control, plane};

/// A new connection must have sent the head of its first request by then.
const FIRST_HEAD: Duration = Duration::from_secs(30);
/// A kept connection must have sent the head of its next request by then. Longer than the minute after which
/// load balancers and client libraries drop theirs, so that they and not we end it.
const NEXT_HEAD: Duration = Duration::from_secs(120);
/// Largest head of an HTTP/2 request.
const MAX_HEAD_BYTES: u32 = 64 << 10;
/// Requests one HTTP/2 connection may have open.
const MAX_STREAMS: u32 = 256;
/// Body bytes that one HTTP/2 request may send ahead; eight times that for the whole connection.
const STREAM_WINDOW: u32 = 256 << 10;
/// Between two signs of life asked of an HTTP/2 client.
const PING_EVERY: Duration = Duration::from_secs(60);
/// What every HTTP/2 connection begins with. No request of HTTP/1 does.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What is read at first: more than most requests.
const FIRST_READ_BYTES: usize = 8 << 10;

/// A request's body, in HTTP/1 or in HTTP/2.
type Incoming = Either<http1::body::Body, hyper::body::Incoming>;

/// An answer's body, from the data plane or from the control plane.
type Body = Either<proxy::outbound::Body, axum::body::Body>;

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

/// Makes the one builder of a data thread's HTTP/2 connections.
pub(super) fn builder() -> Builder<OnThisThread> {
    let mut builder = Builder::new(OnThisThread);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(STREAM_WINDOW * 8)
        .keep_alive_interval(PING_EVERY);
    builder
}

/// Serves a connection to its end. When `closing` turns true, what runs is the last.
pub(super) async fn serve(
    accepted: Accepted,
    builder: Rc<Builder<OnThisThread>>,
    planes: Rc<Planes>,
    mut closing: watch::Receiver<bool>,
) {
    let Accepted { stream, permit: _permit } = accepted;
    let mut stream = match TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "a connection ended before it began"),
    };
    let peer = stream.peer_addr().ok();
    // The worker waits for its receivers to be gone; this one goes with the connection.
    let _open = closing.clone();
    let mut closing = pin!(async move {
        // The worker that could not tell is gone, and with it what runs.
        let _ = closing.wait_for(|closing| *closing).await;
    });
    let accepted_at = tokio::time::Instant::now();
    let begun = tokio::select! {
        // Who has sent a request before the program ends gets an answer.
        biased;
        begun = tokio::time::timeout(FIRST_HEAD, beginning(&mut stream)) => begun,
        () = closing.as_mut() => return,
    };
    let begun = match begun {
        Ok(Ok(begun)) => begun,
        Ok(Err(error)) => return tracing::debug!(%error, "a connection broke before its first request"),
        Err(_) => return tracing::debug!("a connection was silent from the start"),
    };
    if !begun.starts_with(PREFACE) {
        let patience = http1::server::Patience {
            first_head: FIRST_HEAD.saturating_sub(accepted_at.elapsed()),
            next_head: NEXT_HEAD,
        };
        let service = |request: Request<http1::body::Body>| planes.answer(request.map(Either::Left), peer);
        if let Err(error) = http1::server::serve(stream, begun, patience, closing, service).await {
            tracing::debug!(%error, "a connection broke off");
        }
        return;
    }
    let planes = &planes;
    let service = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
        let planes = planes.clone();
        async move { Ok::<_, Infallible>(planes.answer(request.map(Either::Right), peer).await) }
    });
    let (read, write) = stream.into_split();
    let stream = TokioIo::new(tokio::io::join(Cursor::new(begun).chain(read), write));
    let mut connection = pin!(builder.serve_connection(stream, service));
    let mut is_closing = false;
    let outcome = poll_fn(|cx| {
        if !is_closing && closing.as_mut().poll(cx).is_ready() {
            is_closing = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(cx)
    });
    if let Err(error) = outcome.await {
        tracing::debug!(%error, "a connection broke off");
    }
}

/// Reads until it can be told which version of HTTP is spoken, or nothing comes.
async fn beginning(stream: &mut TcpStream) -> std::io::Result<BytesMut> {
    let mut begun = BytesMut::with_capacity(FIRST_READ_BYTES);
    while begun.len() < PREFACE.len() && PREFACE.starts_with(&begun) {
        if stream.read_buf(&mut begun).await? == 0 {
            break;
        }
    }
    Ok(begun)
}

impl Planes {
    async fn answer(&self, mut request: Request<Incoming>, peer: Option<SocketAddr>) -> Response<Body> {
        if !plane::is_control(request.uri().path(), &self.prefix) {
            return self.proxy.handle(request).await.map(Either::Left);
        }
        if let Some(short) = plane::without_prefix(request.uri(), &self.prefix) {
            *request.uri_mut() = short;
        }
        if !plane::is_for_machines(request.uri().path()) && !self.proxy.is_meant(&request) {
            return control::foreign().map(Either::Right);
        }
        if let Some(peer) = peer {
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        self.control.answer(request).await.map(Either::Right)
    }
}

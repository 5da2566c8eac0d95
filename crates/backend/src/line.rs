//! One HTTP/1 connection, driven by whoever uses it.
//!
//! The connection has no task of its own: the future that waits for an answer, and then the answer's body, poll
//! it. So a request costs no hand-over between tasks, and dropping either closes the connection at once. An idle
//! connection is not polled; that it was closed is noticed before the next request is written to it.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, Sleep};

use crate::error::Error;
use crate::stream::Stream;

/// Most bytes of a response head, and of what is read at a time.
const MAX_BUFFER_BYTES: usize = 64 * 1024;

/// Most headers of a response.
const MAX_HEADERS: usize = 128;

/// One HTTP/1 connection with its deadline.
pub(crate) struct Line {
    sender: http1::SendRequest<Full<Bytes>>,
    /// Gone once the connection ended.
    connection: Option<http1::Connection<TokioIo<Stream>, Full<Bytes>>>,
    /// One timer for the connection's life: setting a deadline only moves it.
    timer: Pin<Box<Sleep>>,
}

/// Why a request got no answer.
pub(crate) enum Failed {
    /// Nothing of it was written; here it is again.
    HandedBack(Request<Full<Bytes>>),
    /// It may have run.
    Lost(Error),
}

impl Line {
    /// Speaks HTTP/1 on an open stream.
    pub(crate) async fn new(stream: Stream) -> Result<Box<Self>, hyper::Error> {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(MAX_BUFFER_BYTES).max_headers(MAX_HEADERS);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
        let timer = Box::pin(tokio::time::sleep(Duration::ZERO));
        Ok(Box::new(Self { sender, connection: Some(connection), timer }))
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// Cancel: the connection closes with the line.
    pub(crate) async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        deadline: Instant,
    ) -> Result<Response<Incoming>, Failed> {
        // Without the budget a ready answer is never hidden behind a wake-up that would go nowhere.
        let answer = tokio::task::coop::unconstrained(self.sender.try_send_request(request));
        let mut answer = pin!(answer);
        self.timer.as_mut().reset(deadline);
        poll_fn(|cx| {
            let is_open = self.poll(cx);
            // Only the connection, polled above, can make progress here: its waker is enough.
            match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(response)) => return Poll::Ready(Ok(response)),
                Poll::Ready(Err(mut failure)) => {
                    return Poll::Ready(Err(match failure.take_message() {
                        Some(request) => Failed::HandedBack(request),
                        None => Failed::Lost(Error::broken(&failure.into_error())),
                    }));
                }
                Poll::Pending if !is_open => {
                    let reason = "closed without an answer".into();
                    return Poll::Ready(Err(Failed::Lost(Error::Broken { reason })));
                }
                Poll::Pending => {}
            }
            let timed_out = Error::TimedOut { what: "no answer", may_have_run: true };
            self.timer.as_mut().poll(cx).map(|()| Err(Failed::Lost(timed_out)))
        })
        .await
    }

    /// Lets the connection work. Returns whether it is still open.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        if Pin::new(connection).poll(cx).is_ready() {
            // Dropped at once, so that a request still queued is handed back.
            self.connection = None;
        }
        self.connection.is_some()
    }

    /// Says whether the last exchange is over and the connection can take another request.
    pub(crate) fn is_free(&mut self, cx: &mut Context<'_>) -> bool {
        self.connection.is_some() && (self.sender.is_ready() || (self.poll(cx) && self.sender.is_ready()))
    }

    pub(crate) fn timer(&mut self) -> Pin<&mut Sleep> {
        self.timer.as_mut()
    }
}

//! A stream of events of several origins.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;
use mcp::sse;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::Polled;
use super::silence::Silence;

/// Events of several origins, sent by tasks that end with the stream.
pub(super) struct Merged {
    events: mpsc::Receiver<Bytes>,
    tasks: Vec<AbortHandle>,
    silence: Silence,
    closing: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The last event, where it is closing that ends the stream.
    pub(super) farewell: Bytes,
    is_over: bool,
}

impl Merged {
    pub(super) fn new(
        events: mpsc::Receiver<Bytes>,
        tasks: Vec<AbortHandle>,
        closing: Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> Self {
        Self { events, tasks, silence: Silence::new(), closing, farewell: Bytes::new(), is_over: false }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Polled {
        if self.is_over {
            return Poll::Ready(None);
        }
        if self.closing.as_mut().poll(cx).is_ready() {
            self.is_over = true;
            let farewell = std::mem::take(&mut self.farewell);
            return Poll::Ready((!farewell.is_empty()).then(|| Ok(Frame::data(farewell))));
        }
        match self.events.poll_recv(cx) {
            Poll::Ready(Some(event)) => {
                self.silence.broken();
                Poll::Ready(Some(Ok(Frame::data(event))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                ready!(self.silence.poll(cx));
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(sse::KEEP_ALIVE)))))
            }
        }
    }
}

impl Drop for Merged {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

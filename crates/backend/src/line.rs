//! One HTTP/1 connection, driven by whoever uses it.
//!
//! The connection has no task of its own: the future that waits for an answer, and then the answer's body, read
//! and write it. So a request costs a write and a read and no hand-over between tasks, dropping either closes the
//! connection at once, and whether any byte of a request was written is known exactly. An idle connection is not
//! watched; that it was closed is noticed before the next request is written to it.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Method, Response};
use http1::answer;
use http1::framing::Framing;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::time::{Instant, Sleep};

use crate::error::Error;
use crate::outgoing::Outgoing;
use crate::route::Route;
use crate::stream::Stream;

/// How much is read at a time at first: more than most answers.
const READ_BYTES: usize = 8 * 1024;

/// How much is read at a time once reads come back full.
const MAX_READ_BYTES: usize = 128 * 1024;

/// Bodies up to this size are copied behind the head, which is cheaper than two buffers for the kernel.
const COPIED_BODY_BYTES: usize = 4 * 1024;

/// Chunks smaller than this are joined with those that follow in the buffer, up to so many bytes and chunks in one
/// piece: each piece costs its readers more than its bytes do.
const SMALL_PIECE_BYTES: usize = 1024;
const JOINED_BYTES: usize = 8 * 1024;
const MAX_JOINED_CHUNKS: usize = 256;

/// One HTTP/1 connection with its deadline.
pub(crate) struct Line {
    stream: Stream,
    /// What was read and not yet taken.
    buffer: BytesMut,
    read_bytes: usize,
    /// The request: its head, and its body where that was not copied behind the head.
    head: Vec<u8>,
    body: Bytes,
    /// How much of both was written.
    written: usize,
    /// Whether all that was written is through the stream.
    is_flushed: bool,
    /// What of the current answer is still to come.
    framing: Framing,
    /// What is wrong with the body behind the piece that was taken last.
    fault: Option<&'static str>,
    keeps_alive: bool,
    /// Whether it carried a request before.
    is_used: bool,
    /// One timer for the connection's life: setting a deadline only moves it.
    timer: Pin<Box<Sleep>>,
}

/// Why a request got no answer.
pub(crate) enum Failed {
    /// Nothing of it was written; here it is again.
    HandedBack(Outgoing),
    /// It may have run.
    Lost(Error),
}

impl Line {
    /// Speaks HTTP/1 on an open stream.
    pub(crate) fn new(stream: Stream) -> Box<Self> {
        Box::new(Self {
            stream,
            buffer: BytesMut::new(),
            read_bytes: READ_BYTES,
            head: Vec::new(),
            body: Bytes::new(),
            written: 0,
            is_flushed: true,
            framing: Framing::Done,
            fault: None,
            keeps_alive: true,
            is_used: false,
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
        })
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// Cancel: drop the line too; the answer would otherwise be taken for the next request's.
    pub(crate) async fn exchange(
        &mut self,
        route: &Route,
        outgoing: Outgoing,
        deadline: Instant,
    ) -> Result<Response<()>, Failed> {
        self.write_request(route, &outgoing);
        let is_head = outgoing.method == Method::HEAD;
        self.timer.as_mut().reset(deadline);
        let mut reader = answer::Reader::default();
        let mut must_look = self.is_used;
        self.is_used = true;
        let answered = poll_fn(|cx| {
            if std::mem::take(&mut must_look) && self.poll_fill(cx).is_ready() {
                // Closed, or said something that nobody asked for.
                return Poll::Ready(Err(None));
            }
            if let Poll::Ready(Err(error)) = self.poll_write(cx)
                // Where the backend stopped reading it may still have answered.
                && (self.written == 0 || !is_closed(&error))
            {
                return Poll::Ready(Err(Some(broken(&error))));
            }
            while let Poll::Ready(filled) = self.poll_fill(cx) {
                match filled {
                    Ok(0) => return Poll::Ready(Err(Some(reason("closed without an answer")))),
                    Ok(_) => {}
                    Err(error) => return Poll::Ready(Err(Some(broken(&error)))),
                }
                match reader.read(&mut self.buffer) {
                    Ok(Some(head)) => return Poll::Ready(Ok(head)),
                    Ok(None) => {}
                    Err(fault) => return Poll::Ready(Err(Some(reason(fault)))),
                }
                // Who keeps sending would keep the timer from being asked.
                if Instant::now() >= deadline {
                    break;
                }
            }
            let timed_out = Error::TimedOut { what: "no answer", may_have_run: true };
            if Instant::now() >= deadline {
                return Poll::Ready(Err(Some(timed_out)));
            }
            self.timer.as_mut().poll(cx).map(|()| Err(Some(timed_out)))
        })
        .await;
        let head = match answered {
            Ok(head) => head,
            Err(None) => return Err(Failed::HandedBack(outgoing)),
            Err(Some(_)) if self.written == 0 => return Err(Failed::HandedBack(outgoing)),
            Err(Some(error)) => return Err(Failed::Lost(error)),
        };
        self.framing = if is_head { Framing::Done } else { head.framing };
        self.keeps_alive = head.keeps_alive;
        let mut response = Response::new(());
        *response.status_mut() = head.status;
        *response.version_mut() = head.version;
        *response.headers_mut() = head.headers;
        Ok(response)
    }

    /// Takes the next piece of the answer's body; `None` at its end.
    pub(crate) fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if let Some(fault) = self.fault.take() {
            return Poll::Ready(Some(Err(reason(fault))));
        }
        loop {
            match self.framing.take(&mut self.buffer) {
                Ok(Some(piece)) => return Poll::Ready(Some(Ok(self.joined(piece)))),
                Ok(None) if self.framing.is_done() => return Poll::Ready(None),
                Ok(None) => {}
                Err(fault) => return Poll::Ready(Some(Err(reason(fault)))),
            }
            // The rest of a request that is answered while it is still being sent. If it cannot be sent, the
            // answer counts.
            let _ = self.poll_write(cx);
            match ready!(self.poll_fill(cx)) {
                Ok(0) => {
                    if let Err(fault) = self.framing.close() {
                        return Poll::Ready(Some(Err(reason(fault))));
                    }
                }
                Ok(_) => {}
                Err(error) => return Poll::Ready(Some(Err(broken(&error)))),
            }
        }
    }

    /// Joins a small piece with those that follow it in the buffer.
    fn joined(&mut self, piece: Bytes) -> Bytes {
        if piece.len() >= SMALL_PIECE_BYTES || self.buffer.is_empty() || self.framing.is_done() {
            return piece;
        }
        let mut joined = BytesMut::from(piece);
        for _ in 0..MAX_JOINED_CHUNKS {
            if joined.len() >= JOINED_BYTES {
                break;
            }
            match self.framing.take(&mut self.buffer) {
                Ok(Some(more)) => joined.extend_from_slice(&more),
                Ok(None) => break,
                Err(fault) => {
                    self.fault = Some(fault);
                    break;
                }
            }
        }
        joined.freeze()
    }

    /// Returns what of the answer's body is still to come.
    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }

    /// Ends an exchange. Returns whether the connection can take another request.
    pub(crate) fn finish(&mut self) -> bool {
        self.body = Bytes::new();
        self.fault = None;
        if self.read_bytes > READ_BYTES {
            // An idle connection keeps no large buffer.
            self.compact();
        }
        // What follows a whole answer unasked would be taken for the next one.
        let is_clean = self.buffer.is_empty() && self.is_flushed;
        self.keeps_alive && is_clean && self.framing.is_done()
    }

    /// Keeps no memory but for what was read and not yet taken.
    pub(crate) fn compact(&mut self) {
        self.read_bytes = READ_BYTES;
        self.buffer = self.buffer.as_ref().into();
        if self.is_written() && self.is_flushed {
            self.head = Vec::new();
            self.body = Bytes::new();
            self.written = 0;
        }
    }

    pub(crate) fn timer(&mut self) -> Pin<&mut Sleep> {
        self.timer.as_mut()
    }

    fn write_request(&mut self, route: &Route, outgoing: &Outgoing) {
        self.head.clear();
        self.written = 0;
        self.is_flushed = false;
        route.write_head(outgoing, &mut self.head);
        if outgoing.body.len() <= COPIED_BODY_BYTES {
            self.head.extend_from_slice(&outgoing.body);
        } else {
            self.body = outgoing.body.clone();
        }
    }

    fn is_written(&self) -> bool {
        self.written == self.head.len() + self.body.len()
    }

    /// Writes what is left of the request.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.is_written() {
            let stream = Pin::new(&mut self.stream);
            let written = match self.written.checked_sub(self.head.len()) {
                None if self.body.is_empty() => stream.poll_write(cx, &self.head[self.written..]),
                None => {
                    let slices = [IoSlice::new(&self.head[self.written..]), IoSlice::new(&self.body)];
                    stream.poll_write_vectored(cx, &slices)
                }
                Some(of_body) => stream.poll_write(cx, &self.body[of_body..]),
            };
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
        }
        if !self.is_flushed {
            ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what there is, at least one byte; 0 where the backend closed.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.buffer.capacity() - self.buffer.len() < READ_BYTES / 4 {
            self.buffer.reserve(self.read_bytes);
        }
        let room = self.buffer.capacity() - self.buffer.len();
        let read = ready!(pin!(self.stream.read_buf(&mut self.buffer)).poll(cx))?;
        if read == room {
            self.read_bytes = (self.read_bytes * 2).min(MAX_READ_BYTES);
        }
        Poll::Ready(Ok(read))
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn broken(error: &io::Error) -> Error {
    Error::Broken { reason: error.to_string() }
}

fn reason(fault: &str) -> Error {
    Error::Broken { reason: fault.into() }
}

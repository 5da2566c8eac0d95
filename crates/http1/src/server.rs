//! A connection with a client: requests one after another, each answered by a service.
//!
//! The connection has one task. While a service works on a request, the same task looks whether the client is still
//! there, and drops the service's future where it is not.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, Sleep};

use crate::body::Body;
use crate::feed::Feed;
use crate::framing::Framing;
use crate::outgoing::{Asked, Delimited, Outgoing};
use crate::request::{Head, Reader, Refused};
use crate::wire::Wire;

/// How much is read at a time at first: more than most requests.
const READ_BYTES: usize = 8 * 1024;

/// How much is read at a time once reads come back full.
const MAX_READ_BYTES: usize = 128 * 1024;

/// Most bytes that are read ahead of what is being served; a client that sends more waits.
const MAX_AHEAD_BYTES: usize = 64 * 1024;

/// How often a client that has sent so much is looked at: its closing cannot be read before what it sent.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long, how silently, and how much a client may go on sending what nobody will read. Were its connection closed
/// at once, the system would throw away what of the answer is still on its way.
const LINGER: Duration = Duration::from_secs(10);
const LINGER_SILENT: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 64 * 1024 * 1024;

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the head of its first request.
    pub first_head: Duration,
    /// For the head of each further one, silence included.
    pub next_head: Duration,
}

/// Why a connection ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It broke.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The client closed it before it had its answer.
    #[error("the client closed the connection before it had its answer")]
    Gone,
    /// A request was refused.
    #[error("a request was refused: {0}")]
    Refused(&'static str),
    /// The body of an answer broke off.
    #[error("the body of an answer broke off: {0}")]
    Answer(String),
}

struct Connection<IO> {
    io: IO,
    /// What was read and not yet taken.
    buffer: BytesMut,
    read_bytes: usize,
    /// Whether the buffer grew beyond what an idle connection may keep.
    is_large: bool,
    outgoing: Outgoing,
    /// What of the last request's body nobody read.
    unread: Framing,
    /// When the client is looked at next, where nothing more is read of it for now.
    look: Option<Pin<Box<Sleep>>>,
}

/// What comes next on a connection.
#[expect(
    clippy::large_enum_variant,
    reason = "it is the usual one, and a box for it would cost each request"
)]
enum Next {
    Request(Head),
    Refused(Refused),
    /// Nothing: the client closed, was silent for too long, or the program ends.
    End,
}

/// Serves a connection to its end. `begun` is what was read of it already.
///
/// When `closing` is ready, the request that is being served is the last, and a silent connection closes.
///
/// **cancel** cuts off the request that is being served.
pub async fn serve<IO, S, F, B>(
    io: IO,
    begun: BytesMut,
    patience: Patience,
    closing: impl Future<Output = ()>,
    service: S,
) -> Result<(), Error>
where
    IO: Wire,
    S: Fn(Request<Body>) -> F,
    F: Future<Output = Response<B>>,
    B: http_body::Body<Data = Bytes, Error: std::fmt::Display>,
{
    let (outgoing, unread) = (Outgoing::default(), Framing::Done);
    let (read_bytes, is_large) = (READ_BYTES, false);
    let mut connection = Connection { io, buffer: begun, read_bytes, is_large, outgoing, unread, look: None };
    let mut closing = Closing { signal: pin!(closing), is_set: false };
    let mut timer = pin!(tokio::time::sleep(patience.first_head));
    let mut reader = Reader::default();
    loop {
        let next = poll_fn(|cx| connection.poll_next(cx, &mut reader, &mut closing, timer.as_mut()));
        let head = match next.await? {
            Next::Request(head) => head,
            Next::Refused(refused) => return connection.refuse(&refused).await,
            Next::End => return Ok(()),
        };
        let Head { parts, framing, keeps_alive, expects_continue } = head;
        let asked = (parts.method.clone(), parts.version);
        let (body, mut feed) = connection.body(framing, expects_continue);
        let response = {
            let mut answer = pin!(service(Request::from_parts(parts, body)));
            poll_fn(|cx| connection.poll_answer(cx, answer.as_mut(), feed.as_mut())).await?
        };
        // What nobody read of the body stands where the next request should begin.
        connection.unread = feed.map_or(Framing::Done, |feed| feed.unread());
        let is_closing = poll_fn(|cx| Poll::Ready(closing.is_set(cx))).await;
        let keeps_alive = keeps_alive && connection.can_skip() && !is_closing;
        let asked = Asked { method: &asked.0, version: asked.1, keeps_alive };
        if !connection.answer(response, &asked).await? {
            return connection.linger().await;
        }
        connection.slim();
        timer.as_mut().reset(Instant::now() + patience.next_head);
    }
}

impl<IO: Wire> Connection<IO> {
    /// Waits for a request.
    fn poll_next<C: Future<Output = ()>>(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut Reader,
        closing: &mut Closing<'_, C>,
        timer: Pin<&mut Sleep>,
    ) -> Poll<io::Result<Next>> {
        loop {
            match self.read_head(reader) {
                Ok(Some(head)) => return Poll::Ready(Ok(Next::Request(head))),
                Ok(None) => {}
                Err(refused) => return Poll::Ready(Ok(Next::Refused(refused))),
            }
            match self.poll_fill(cx) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(Next::End)),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => break,
            }
        }
        let is_silent = self.buffer.is_empty();
        if closing.is_set(cx) && is_silent {
            return Poll::Ready(Ok(Next::End));
        }
        ready!(timer.poll(cx));
        Poll::Ready(Ok(match is_silent {
            true => Next::End,
            false => {
                let late = "the head of the request did not arrive in time";
                Next::Refused(Refused(StatusCode::REQUEST_TIMEOUT, late))
            }
        }))
    }

    /// Says whether the rest of the body may be passed over, so that the connection need not close.
    fn can_skip(&self) -> bool {
        self.unread.left().is_some_and(|left| left <= MAX_AHEAD_BYTES as u64)
    }

    /// Takes the next head out of the buffer, behind what nobody read of the last body; `None` where it is not all there.
    fn read_head(&mut self, reader: &mut Reader) -> Result<Option<Head>, Refused> {
        let bad = |fault| Refused(StatusCode::BAD_REQUEST, fault);
        while self.unread.take(&mut self.buffer).map_err(bad)?.is_some() {}
        if !self.unread.is_done() {
            return Ok(None);
        }
        reader.read(&mut self.buffer)
    }

    /// Lets go of room that a large request took.
    fn slim(&mut self) {
        if std::mem::take(&mut self.is_large) {
            self.read_bytes = READ_BYTES;
            self.buffer = std::mem::take(&mut self.buffer).as_ref().into();
        }
    }

    /// Makes the body of a request: at once where all of it came with the head.
    fn body(&mut self, framing: Framing, expects_continue: bool) -> (Body, Option<Feed>) {
        match framing {
            Framing::Done => (Body::whole(Bytes::new()), None),
            Framing::Length(length) if length <= self.buffer.len() as u64 => {
                let whole = self.buffer.split_to(usize::try_from(length).unwrap_or(usize::MAX));
                (Body::whole(whole.freeze()), None)
            }
            framing => {
                let feed = Feed::new(framing, expects_continue);
                (Body::coming(feed.slot(), framing.left()), Some(feed))
            }
        }
    }

    /// Waits for the service, feeds it the body, and watches the client.
    fn poll_answer<R>(
        &mut self,
        cx: &mut Context<'_>,
        answer: Pin<&mut impl Future<Output = R>>,
        mut feed: Option<&mut Feed>,
    ) -> Poll<Result<R, Error>> {
        if let Poll::Ready(response) = answer.poll(cx) {
            return Poll::Ready(Ok(response));
        }
        loop {
            if feed.as_mut().is_some_and(|feed| feed.poll(cx, &mut self.buffer)) {
                self.outgoing.go_on();
            }
            if !self.outgoing.is_empty() {
                ready!(self.outgoing.poll_write(cx, &mut self.io))?;
            }
            ready!(self.poll_more(cx))?;
        }
    }

    /// Reads what the client sends while its request is served. It closing is an error.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.buffer.len() >= MAX_AHEAD_BYTES {
            return self.poll_closed(cx);
        }
        match ready!(self.poll_fill(cx))? {
            0 => Poll::Ready(Err(Error::Gone)),
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Looks now and then whether a client closed of which nothing more is read.
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let look = self.look.get_or_insert_with(|| Box::pin(tokio::time::sleep(LOOK_EVERY)));
        loop {
            ready!(look.as_mut().poll(cx));
            if self.io.is_closed() {
                return Poll::Ready(Err(Error::Gone));
            }
            look.as_mut().reset(Instant::now() + LOOK_EVERY);
        }
    }

    /// Sends an answer. Returns whether the connection can take another request.
    async fn answer<B>(&mut self, response: Response<B>, asked: &Asked<'_>) -> Result<bool, Error>
    where
        B: http_body::Body<Data = Bytes, Error: std::fmt::Display>,
    {
        let (head, body) = response.into_parts();
        let (mut delimited, keeps_alive) = self.outgoing.head(&head, body.size_hint().exact(), asked);
        let mut body = pin!(body);
        let mut is_over = delimited == Delimited::Absent;
        let mut broken = None;
        poll_fn(|cx| {
            loop {
                while !is_over && broken.is_none() && self.outgoing.has_room() {
                    let fits = match body.as_mut().poll_frame(cx) {
                        Poll::Pending => break,
                        Poll::Ready(None) => {
                            is_over = true;
                            self.outgoing.end(delimited)
                        }
                        Poll::Ready(Some(Ok(frame))) => {
                            // Trailers are for HTTP/2.
                            match frame.into_data() {
                                Ok(piece) => self.outgoing.piece(piece, &mut delimited),
                                Err(_trailers) => true,
                            }
                        }
                        Poll::Ready(Some(Err(error))) => {
                            broken = Some(error.to_string());
                            break;
                        }
                    };
                    if !fits {
                        broken = Some("it is not as long as it said".into());
                    }
                }
                // What came before the body broke off is the client's.
                if !self.outgoing.is_empty() {
                    ready!(self.outgoing.poll_write(cx, &mut self.io))?;
                } else if let Some(reason) = broken.take() {
                    return Poll::Ready(Err(Error::Answer(reason)));
                } else if is_over {
                    return Poll::Ready(Ok(()));
                } else {
                    ready!(self.poll_more(cx))?;
                }
            }
        })
        .await?;
        Ok(keeps_alive)
    }

    /// Answers a request that cannot be served, and ends the connection: where the next would begin is not known.
    async fn refuse(mut self, Refused(status, reason): &Refused) -> Result<(), Error> {
        let title = status.canonical_reason().unwrap_or("Error");
        let body = format!(
            r#"{{"type":"about:blank","title":"{title}","status":{},"detail":"{reason}"}}"#,
            status.as_u16()
        );
        let mut response = Response::new(Body::whole(body.into()));
        *response.status_mut() = *status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        let asked = Asked { method: &http::Method::GET, version: http::Version::HTTP_11, keeps_alive: false };
        self.answer(response, &asked).await?;
        self.linger().await?;
        Err(Error::Refused(reason))
    }

    /// Ends the sending side, and reads for a while what the client still sends.
    async fn linger(mut self) -> Result<(), Error> {
        let end = Instant::now() + LINGER;
        self.io.shutdown().await?;
        let mut passed_over = 0;
        while passed_over < LINGER_BYTES {
            self.buffer.clear();
            let until = end.min(Instant::now() + LINGER_SILENT);
            let read = tokio::time::timeout_at(until, poll_fn(|cx| self.poll_fill(cx))).await;
            match read {
                Ok(Ok(0)) | Err(_) => break,
                Ok(Ok(read)) => passed_over += read,
                Ok(Err(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads what there is, at least one byte; 0 where the client closed.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.buffer.capacity() - self.buffer.len() < READ_BYTES / 4 {
            self.buffer.reserve(self.read_bytes);
        }
        let room = self.buffer.capacity() - self.buffer.len();
        let read = ready!(pin!(self.io.read_buf(&mut self.buffer)).poll(cx))?;
        if read == room {
            self.read_bytes = (self.read_bytes * 2).min(MAX_READ_BYTES);
        }
        self.is_large |= self.buffer.len() > READ_BYTES || self.read_bytes > READ_BYTES;
        Poll::Ready(Ok(read))
    }
}

/// A signal that may be asked again after it came.
struct Closing<'a, C> {
    signal: Pin<&'a mut C>,
    is_set: bool,
}

impl<C: Future<Output = ()>> Closing<'_, C> {
    fn is_set(&mut self, cx: &mut Context<'_>) -> bool {
        self.is_set = self.is_set || self.signal.as_mut().poll(cx).is_ready();
        self.is_set
    }
}

#[cfg(test)]
mod tests;

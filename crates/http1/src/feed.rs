//! Hands a body from the connection, which reads it, to the service, which may run on another thread.
//!
//! One piece at a time, and none before it was asked for: a service that refuses a request never has its body read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};

use crate::framing::Framing;

/// Why a body ends early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body of the request broke off: {0}")]
pub struct Broken(&'static str);

/// Pieces smaller than this are copied together, as many as the buffer holds: each by itself would keep alive the whole
/// buffer it was read into, and wake the service.
const SMALL_PIECE_BYTES: usize = 4 * 1024;

/// How much may stand between the chunks of a body: so many bytes, and so many times what the chunks hold. A chunk of
/// one byte needs five; extensions that nobody reads may be longer than any body.
const SPARE_BYTES: u64 = 16 * 1024;
const SPARE_TIMES: u64 = 16;

/// What the two sides share.
#[derive(Debug, Default)]
pub(crate) struct Slot(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    piece: Option<Result<Bytes, Broken>>,
    is_wanted: bool,
    /// No piece comes after the one that is there.
    is_over: bool,
    service: Option<Waker>,
    connection: Option<Waker>,
}

/// The connection's side.
pub(crate) struct Feed {
    slot: Arc<Slot>,
    framing: Framing,
    expects_continue: bool,
    /// Bytes of the body so far, and bytes between its chunks.
    data: u64,
    spare: u64,
}

impl Slot {
    /// Takes the next piece; `None` behind the last.
    pub(crate) fn poll_take(&self, cx: &Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let mut state = self.lock();
        state.is_wanted = true;
        if let Some(connection) = state.connection.take() {
            connection.wake();
        }
        if let Some(piece) = state.piece.take() {
            return Poll::Ready(Some(piece));
        }
        if state.is_over {
            return Poll::Ready(None);
        }
        state.service = Some(cx.waker().clone());
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, piece: Option<Result<Bytes, Broken>>, is_over: bool) {
        self.piece = piece;
        self.is_over = is_over;
        if let Some(service) = self.service.take() {
            service.wake();
        }
    }
}

impl Feed {
    pub(crate) fn new(framing: Framing, expects_continue: bool) -> Self {
        Self { slot: Arc::default(), framing, expects_continue, data: 0, spare: 0 }
    }

    pub(crate) fn slot(&self) -> Arc<Slot> {
        self.slot.clone()
    }

    /// Moves on what the buffer holds of the body, as far as the service asks for it. Says whether the client must hear
    /// first that it may send the body.
    pub(crate) fn poll(&mut self, cx: &Context<'_>, buffer: &mut BytesMut) -> bool {
        let slot = self.slot.clone();
        let mut state = slot.lock();
        if state.is_over {
            return false;
        }
        if !state.is_wanted || state.piece.is_some() {
            state.connection = Some(cx.waker().clone());
            return false;
        }
        if std::mem::take(&mut self.expects_continue) && buffer.is_empty() {
            return true;
        }
        match self.take(buffer) {
            Ok(Some(piece)) => {
                state.put(Some(Ok(piece)), self.framing.is_done());
                state.connection = Some(cx.waker().clone());
            }
            Ok(None) if self.framing.is_done() => state.put(None, true),
            // More has to be read.
            Ok(None) => {}
            Err(fault) => state.put(Some(Err(Broken(fault))), true),
        }
        false
    }

    /// Takes the next piece out of the buffer, small ones together.
    fn take(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, &'static str> {
        let Some(first) = self.take_one(buffer)? else { return Ok(None) };
        if first.len() >= SMALL_PIECE_BYTES {
            return Ok(Some(first));
        }
        let mut joined = BytesMut::from(&first[..]);
        while joined.len() < SMALL_PIECE_BYTES
            && let Some(more) = self.take_one(buffer)?
        {
            joined.extend_from_slice(&more);
        }
        Ok(Some(joined.freeze()))
    }

    fn take_one(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, &'static str> {
        let before = buffer.len();
        let piece = self.framing.take(buffer)?;
        let taken = piece.as_ref().map_or(0, Bytes::len);
        self.data += taken as u64;
        self.spare += (before - buffer.len() - taken) as u64;
        if self.spare > SPARE_BYTES + SPARE_TIMES * self.data {
            return Err("there is more between the chunks than in them");
        }
        Ok(piece)
    }

    /// Returns what of the body is still to come. A client that waits for our word may never send it, so that where
    /// the next request begins is not known.
    pub(crate) fn unread(&self) -> Framing {
        if self.expects_continue { Framing::UntilClose } else { self.framing }
    }
}

impl Drop for Feed {
    /// A service that is still at it elsewhere must not wait for ever.
    fn drop(&mut self) {
        let mut state = self.slot.lock();
        if !state.is_over {
            state.put(Some(Err(Broken("the connection closed"))), true);
        }
    }
}

//! The body of a request, as the service reads it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::feed::Slot;

pub use crate::feed::Broken;

/// The body of a request.
#[derive(Debug)]
pub struct Body(Kind);

#[derive(Debug)]
enum Kind {
    /// It came with the head.
    Whole(Bytes),
    /// The connection reads it when it is asked for.
    Coming { slot: Arc<Slot>, left: Option<u64> },
}

impl Body {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole(bytes))
    }

    /// A body of `left` bytes, where that is known.
    pub(crate) fn coming(slot: Arc<Slot>, left: Option<u64>) -> Self {
        Self(Kind::Coming { slot, left })
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut self.get_mut().0 {
            Kind::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Coming { slot, left } => slot.poll_take(cx).map(|piece| {
                let piece = piece?;
                if let (Some(left), Ok(piece)) = (left, &piece) {
                    *left = left.saturating_sub(piece.len() as u64);
                }
                Some(piece.map(Frame::data))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Kind::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Coming { left, .. } => left.map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}

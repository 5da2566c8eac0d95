//! The body of an answer, from whichever plane it comes.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// An answer's body.
pub(super) enum Body {
    /// From the data plane.
    Data(proxy::outbound::Body),
    /// From the control plane.
    Control(axum::body::Body),
}

/// Why a body broke off; only hyper sees it, which then closes the connection.
pub(super) type Broken = Box<dyn std::error::Error + Send + Sync>;

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Data(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
            Self::Control(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Data(body) => body.is_end_stream(),
            Self::Control(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Data(body) => body.size_hint(),
            Self::Control(body) => body.size_hint(),
        }
    }
}

//! Bodies: of a request, in whichever version of HTTP it came, and of an answer, from whichever plane.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// A request's body.
pub(super) enum Incoming {
    /// By HTTP/1.
    One(http1::body::Body),
    /// By HTTP/2.
    Two(hyper::body::Incoming),
}

/// An answer's body.
pub(super) enum Body {
    /// From the data plane.
    Data(proxy::outbound::Body),
    /// From the control plane.
    Control(axum::body::Body),
}

/// Why a body broke off; the connection or the stream of it closes then.
pub(super) type Broken = Box<dyn std::error::Error + Send + Sync>;

impl http_body::Body for Incoming {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::One(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
            Self::Two(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::One(body) => body.is_end_stream(),
            Self::Two(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::One(body) => body.size_hint(),
            Self::Two(body) => body.size_hint(),
        }
    }
}

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

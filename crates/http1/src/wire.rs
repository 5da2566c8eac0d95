//! What a connection with a client runs over.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::TcpStream;

/// A stream of bytes in both directions.
pub trait Wire: AsyncRead + AsyncWrite + Unpin {
    /// Says whether the other side sends nothing more, although what it sent may not all have been read yet. May say
    /// no too often.
    fn is_closed(&self) -> bool;
}

impl Wire for TcpStream {
    fn is_closed(&self) -> bool {
        // Only what the system has told already.
        let told = pin!(self.ready(Interest::READABLE)).poll(&mut Context::from_waker(Waker::noop()));
        matches!(told, Poll::Ready(Ok(ready)) if ready.is_read_closed())
    }
}

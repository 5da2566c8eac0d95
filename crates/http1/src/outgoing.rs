//! An answer on its way out: its head, and its body in the framing that the client understands.

use std::io::{self, IoSlice, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, TRANSFER_ENCODING};
use http::response::Parts;
use http::{Method, StatusCode, Version};
use tokio::io::AsyncWrite;

use crate::date;

/// Pieces of a body up to this size are copied behind what is already to be sent, which is cheaper than one more
/// buffer for the kernel.
const COPIED_BYTES: usize = 4 * 1024;

/// With this much waiting to be sent no more is asked of the body.
const FULL_BYTES: usize = 16 * 1024;

/// How the body of an answer is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delimited {
    /// There is none, whatever the head says.
    Absent,
    /// So many bytes are still to come.
    Length(u64),
    Chunked,
    /// By the end of the connection: the client knows no chunks.
    ByClose,
}

/// What is to be sent: copied bytes, then one large piece, then the end of its chunk.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    copied: Vec<u8>,
    written: usize,
    piece: Bytes,
    tail: &'static [u8],
}

/// What the head of an answer goes by.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a Method,
    pub(crate) version: Version,
    /// Whether the connection stays open if the answer lets it.
    pub(crate) keeps_alive: bool,
}

impl Outgoing {
    /// Appends the head of an answer whose body has `length` bytes, where that is known. Returns how the body is
    /// delimited, and whether the connection stays open behind it.
    pub(crate) fn head(&mut self, head: &Parts, length: Option<u64>, asked: &Asked<'_>) -> (Delimited, bool) {
        let is_empty = head.status.is_informational()
            || matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let delimited = match length {
            _ if is_empty || asked.method == Method::HEAD => Delimited::Absent,
            Some(length) => Delimited::Length(length),
            None if asked.version == Version::HTTP_11 => Delimited::Chunked,
            None => Delimited::ByClose,
        };
        let mut keeps_alive = asked.keeps_alive && delimited != Delimited::ByClose;
        let out = &mut self.copied;
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(head.status.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(head.status.canonical_reason().unwrap_or_default().as_bytes());
        out.extend_from_slice(b"\r\n");
        for (name, value) in &head.headers {
            let is_ours = match *name {
                CONNECTION => {
                    // Whoever made the answer may want it to be the last.
                    keeps_alive &= !value.as_bytes().eq_ignore_ascii_case(b"close");
                    true
                }
                TRANSFER_ENCODING => true,
                // The answer to HEAD says how long the body would be.
                CONTENT_LENGTH => is_empty || asked.method != Method::HEAD,
                _ => false,
            };
            if !is_ours {
                out.extend_from_slice(name.as_str().as_bytes());
                out.extend_from_slice(b": ");
                out.extend_from_slice(value.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
        }
        match delimited {
            Delimited::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
            // Writing to a vector does not fail.
            Delimited::Length(length) => drop(write!(out, "content-length: {length}\r\n")),
            Delimited::Absent | Delimited::ByClose => {}
        }
        match (keeps_alive, asked.version) {
            (false, _) => out.extend_from_slice(b"connection: close\r\n"),
            (true, Version::HTTP_10) => out.extend_from_slice(b"connection: keep-alive\r\n"),
            (true, _) => {}
        }
        if !head.headers.contains_key(DATE) {
            out.extend_from_slice(b"date: ");
            date::write(out);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        (delimited, keeps_alive)
    }

    /// Appends what the client waits for before it sends a body.
    pub(crate) fn go_on(&mut self) {
        self.copied.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    }

    /// Appends a piece of a body. Returns whether the body may have it.
    pub(crate) fn piece(&mut self, piece: Bytes, delimited: &mut Delimited) -> bool {
        if piece.is_empty() {
            return true;
        }
        let mut tail: &'static [u8] = b"";
        match delimited {
            Delimited::Absent => return true,
            Delimited::ByClose => {}
            Delimited::Length(left) => match left.checked_sub(piece.len() as u64) {
                Some(rest) => *left = rest,
                None => return false,
            },
            Delimited::Chunked => {
                // Writing to a vector does not fail.
                let _ = write!(self.copied, "{:x}\r\n", piece.len());
                tail = b"\r\n";
            }
        }
        if piece.len() <= COPIED_BYTES {
            self.copied.extend_from_slice(&piece);
            self.copied.extend_from_slice(tail);
        } else {
            (self.piece, self.tail) = (piece, tail);
        }
        true
    }

    /// Appends the end of a body. Returns whether it may end here.
    pub(crate) fn end(&mut self, delimited: Delimited) -> bool {
        if delimited == Delimited::Chunked {
            self.copied.extend_from_slice(b"0\r\n\r\n");
        }
        matches!(
            delimited,
            Delimited::Absent | Delimited::Length(0) | Delimited::Chunked | Delimited::ByClose
        )
    }

    /// Says whether another piece can be taken before what is there was written.
    pub(crate) fn has_room(&self) -> bool {
        self.piece.is_empty() && self.tail.is_empty() && self.copied.len() - self.written < FULL_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.written == self.copied.len() && self.piece.is_empty() && self.tail.is_empty()
    }

    /// Writes all that is there, and flushes it.
    pub(crate) fn poll_write<IO: AsyncWrite + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut IO,
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            let copied = &self.copied[self.written..];
            let io = Pin::new(&mut *io);
            let written = if self.piece.is_empty() && self.tail.is_empty() {
                ready!(io.poll_write(cx, copied))?
            } else {
                let slices = [IoSlice::new(copied), IoSlice::new(&self.piece), IoSlice::new(self.tail)];
                ready!(io.poll_write_vectored(cx, &slices))?
            };
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(written);
        }
        self.copied.clear();
        self.written = 0;
        if self.copied.capacity() > 2 * FULL_BYTES {
            // A head may be large; an idle connection keeps no large buffer.
            self.copied = Vec::new();
        }
        Pin::new(io).poll_flush(cx)
    }

    fn advance(&mut self, written: usize) {
        let of_copied = written.min(self.copied.len() - self.written);
        self.written += of_copied;
        let of_piece = (written - of_copied).min(self.piece.len());
        self.piece.advance(of_piece);
        self.tail = &self.tail[written - of_copied - of_piece..];
    }
}

#[cfg(test)]
mod tests;

//! Where the body of an HTTP/1 message ends: after a length, with the last chunk, or with the connection.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

/// Longest line that gives a chunk's size, extensions included.
const MAX_SIZE_LINE_BYTES: usize = 1024;

/// Most bytes of trailers, which are dropped.
const MAX_TRAILER_BYTES: usize = 16 * 1024;

/// What of a body is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// This many bytes, at least one.
    Length(u64),
    /// Chunks.
    Chunked(Chunk),
    /// Whatever comes until the connection closes.
    UntilClose,
    /// Nothing.
    Done,
}

/// What comes next in a chunked body. Source: RFC 9112, section 7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// The line with the size of the next chunk.
    Size,
    /// This many bytes of the chunk, at least one.
    Data(u64),
    /// The line end after them.
    End,
    /// Trailers, of which this many bytes came, up to an empty line.
    Trailers(usize),
}

impl Framing {
    /// A chunked body, nothing read yet.
    pub const CHUNKED: Self = Self::Chunked(Chunk::Size);

    pub fn of_length(length: u64) -> Self {
        if length == 0 { Self::Done } else { Self::Length(length) }
    }

    pub fn is_done(self) -> bool {
        self == Self::Done
    }

    /// Returns how many bytes are left, where that is known.
    pub fn left(self) -> Option<u64> {
        match self {
            Self::Length(left) => Some(left),
            Self::Done => Some(0),
            Self::Chunked(_) | Self::UntilClose => None,
        }
    }

    /// Takes what there is of the body out of the buffer. `None` where more has to be read, or the body is done.
    ///
    /// What follows the piece is looked at too, so that the end is known together with the last piece.
    pub fn take(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, &'static str> {
        self.settle(buffer)?;
        let most = match self {
            Self::Done => return Ok(None),
            Self::UntilClose => u64::MAX,
            Self::Length(left) | Self::Chunked(Chunk::Data(left)) => *left,
            Self::Chunked(_) => return Ok(None),
        };
        if buffer.is_empty() {
            return Ok(None);
        }
        let taken = usize::try_from(most).unwrap_or(usize::MAX).min(buffer.len());
        let piece = buffer.split_to(taken).freeze();
        match self {
            Self::Length(left) => *self = Self::of_length(*left - taken as u64),
            Self::Chunked(Chunk::Data(left)) => {
                *left -= taken as u64;
                if *left == 0 {
                    *self = Self::Chunked(Chunk::End);
                }
            }
            _ => {}
        }
        self.settle(buffer)?;
        Ok(Some(piece))
    }

    /// Says whether the body may end where the connection closed.
    pub fn close(&mut self) -> Result<(), &'static str> {
        match self {
            Self::UntilClose | Self::Done => {
                *self = Self::Done;
                Ok(())
            }
            Self::Length(_) | Self::Chunked(_) => Err("closed inside the body"),
        }
    }

    /// Passes over what is not data.
    fn settle(&mut self, buffer: &mut BytesMut) -> Result<(), &'static str> {
        while let Self::Chunked(chunk) = self {
            match chunk {
                Chunk::Data(_) => return Ok(()),
                Chunk::Size => {
                    let Some(line) = take_line(buffer, MAX_SIZE_LINE_BYTES)? else { return Ok(()) };
                    *chunk = match size(&line)? {
                        0 => Chunk::Trailers(0),
                        size => Chunk::Data(size),
                    };
                }
                Chunk::End => {
                    let Some(line) = take_line(buffer, 2)? else { return Ok(()) };
                    if !line.is_empty() {
                        return Err("a chunk is longer than its size");
                    }
                    *chunk = Chunk::Size;
                }
                Chunk::Trailers(read) => {
                    let Some(line) = take_line(buffer, MAX_TRAILER_BYTES - *read)? else { return Ok(()) };
                    // Two more for the line's end, so that the limit is always met.
                    *read += line.len() + 2;
                    if *read > MAX_TRAILER_BYTES {
                        return Err("the trailers are too long");
                    }
                    if line.is_empty() {
                        *self = Self::Done;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Takes a line, without its end, out of the buffer; `None` where its end has not come.
fn take_line(buffer: &mut BytesMut, limit: usize) -> Result<Option<BytesMut>, &'static str> {
    let Some(end) = memchr(b'\n', buffer) else {
        return if buffer.len() > limit { Err("a line between chunks is too long") } else { Ok(None) };
    };
    if end > limit {
        return Err("a line between chunks is too long");
    }
    let mut line = buffer.split_to(end + 1);
    // A lone line feed ends a line for some and not for others, who would then see other messages than we.
    if !line.ends_with(b"\r\n") {
        return Err("a line between chunks does not end with CR LF");
    }
    line.truncate(end - 1);
    if line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err("a line between chunks holds a control character");
    }
    Ok(Some(line))
}

fn size(line: &[u8]) -> Result<u64, &'static str> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    // Some servers put blanks behind the size, none before it.
    let end = digits.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |last| last + 1);
    let digits = &digits[..end];
    let is_hex = !digits.is_empty() && digits.len() <= 16 && digits.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_hex);
    digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or("a chunk's size is no number")
}

#[cfg(test)]
mod tests;

//! The head of an HTTP/1 answer: status, headers, and how its body is delimited.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, Version};

use crate::fields::{Ending, Fields, Lines};
use crate::framing::Framing;

/// Most bytes of a head.
const MAX_BYTES: usize = 64 * 1024;

/// Most interim answers before an answer, and most bytes of them together. Real servers send one or two.
const MAX_INTERIM: usize = 16;
const MAX_INTERIM_BYTES: usize = MAX_BYTES;

/// The head of an answer.
#[derive(Debug)]
pub struct Head {
    pub version: Version,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub framing: Framing,
    /// Whether the connection can take another request after the body.
    pub keeps_alive: bool,
}

/// Reads heads from a buffer that grows.
#[derive(Debug, Default)]
pub struct Reader {
    ending: Ending,
    /// Interim answers that were passed over, and their bytes.
    interim: usize,
    interim_bytes: usize,
}

impl Reader {
    /// Takes a head out of the buffer; `None` where its end has not come. Interim answers (1xx) are passed over,
    /// as many as are sensible.
    pub fn read(&mut self, buffer: &mut BytesMut) -> Result<Option<Head>, &'static str> {
        loop {
            let Some(end) = self.ending.find(buffer) else {
                return if buffer.len() > MAX_BYTES { Err("the head is too long") } else { Ok(None) };
            };
            if end > MAX_BYTES {
                return Err("the head is too long");
            }
            let head = parse(&buffer.split_to(end).freeze())?;
            match head.status.as_u16() {
                101 => return Err("the protocol was switched unasked"),
                100..200 => {
                    self.interim += 1;
                    self.interim_bytes += end;
                    if self.interim > MAX_INTERIM || self.interim_bytes > MAX_INTERIM_BYTES {
                        return Err("too many interim answers");
                    }
                }
                _ => return Ok(Some(head)),
            }
        }
    }
}

/// Source: RFC 9112, sections 4, 6.3 and 9.3.
fn parse(head: &Bytes) -> Result<Head, &'static str> {
    let (line, rest) = Lines::Either.split(head)?;
    let (version, status) = status_line(line)?;
    let Fields { headers, length, chunked, keeps_alive } = Fields::read(head, rest, Lines::Either)?;
    let framing = match (status, chunked, length) {
        (StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED, ..) => Framing::Done,
        (_, Some(true), _) => Framing::CHUNKED,
        (_, Some(false), _) => Framing::UntilClose,
        (_, None, Some(length)) => Framing::of_length(length),
        (_, None, None) => Framing::UntilClose,
    };
    // Two lengths, or a coding that the version does not have, may be read otherwise by whoever is in between.
    let is_plain = chunked.is_none() || (length.is_none() && version == Version::HTTP_11);
    let keeps_alive = keeps_alive.unwrap_or(version == Version::HTTP_11);
    let keeps_alive = keeps_alive && is_plain && framing != Framing::UntilClose;
    Ok(Head { version, status, headers, framing, keeps_alive })
}

fn status_line(line: &[u8]) -> Result<(Version, StatusCode), &'static str> {
    let not_http = "it is not HTTP/1";
    let (version, rest) = match line.strip_prefix(b"HTTP/1.").and_then(|rest| rest.split_first()) {
        Some((b'1', rest)) => (Version::HTTP_11, rest),
        Some((b'0', rest)) => (Version::HTTP_10, rest),
        _ => return Err(not_http),
    };
    let code = match rest {
        [b' ', code @ ..] if code.len() == 3 => code,
        [b' ', code @ ..] if code.len() > 3 && code[3] == b' ' => &code[..3],
        _ => return Err(not_http),
    };
    Ok((version, StatusCode::from_bytes(code).map_err(|_| not_http)?))
}

#[cfg(test)]
mod tests;

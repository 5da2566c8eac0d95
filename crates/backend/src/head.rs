//! The head of an HTTP/1 answer: status, headers, and how its body is delimited.

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};
use memchr::memchr;

use crate::framing::Framing;

/// Most bytes of a head.
const MAX_BYTES: usize = 64 * 1024;

/// Most interim answers before an answer, and most bytes of them together. Real servers send one or two.
const MAX_INTERIM: usize = 16;
const MAX_INTERIM_BYTES: usize = MAX_BYTES;

/// Most headers of a head.
const MAX_HEADERS: usize = 128;

/// Room for the headers that answers usually have.
const USUAL_HEADERS: usize = 12;

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) version: Version,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) framing: Framing,
    /// Whether the connection can take another request after the body.
    pub(crate) keeps_alive: bool,
}

/// Reads heads from a buffer that grows.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// Up to here no end was found.
    searched: usize,
    /// Interim answers that were passed over, and their bytes.
    interim: usize,
    interim_bytes: usize,
}

impl Reader {
    /// Takes a head out of the buffer; `None` where its end has not come. Interim answers (1xx) are passed over,
    /// as many as are sensible.
    pub(crate) fn read(&mut self, buffer: &mut BytesMut) -> Result<Option<Head>, &'static str> {
        loop {
            let Some(end) = self.find_end(buffer) else {
                return if buffer.len() > MAX_BYTES { Err("the head is too long") } else { Ok(None) };
            };
            if end > MAX_BYTES {
                return Err("the head is too long");
            }
            self.searched = 0;
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

    /// Finds the end of the empty line that ends a head.
    fn find_end(&mut self, buffer: &[u8]) -> Option<usize> {
        while let Some(found) = memchr(b'\n', &buffer[self.searched..]) {
            let at = self.searched + found;
            match &buffer[at + 1..] {
                [b'\n', ..] => return Some(at + 2),
                [b'\r', b'\n', ..] => return Some(at + 3),
                // Looked at again when more is there.
                [] | [b'\r'] => {
                    self.searched = at;
                    return None;
                }
                _ => self.searched = at + 1,
            }
        }
        self.searched = buffer.len();
        None
    }
}

/// Source: RFC 9112, sections 4, 5, 6.3 and 9.3.
fn parse(head: &Bytes) -> Result<Head, &'static str> {
    let (line, mut rest) = split_line(head);
    let (version, status) = status_line(line)?;
    let mut headers = HeaderMap::with_capacity(USUAL_HEADERS);
    let mut length = None;
    let mut coding = None;
    let mut keeps_alive = version == Version::HTTP_11;
    while !rest.is_empty() {
        let (line, after) = split_line(rest);
        rest = after;
        if line.is_empty() {
            break;
        }
        if headers.len() >= MAX_HEADERS {
            return Err("the head has too many headers");
        }
        let colon = memchr(b':', line).ok_or("a header has no colon")?;
        // Refuses blanks before the colon, and lines that continue the one before.
        let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| "a header has no proper name")?;
        let value = line[colon + 1..].trim_ascii();
        if name == CONTENT_LENGTH {
            length = Some(content_length(value, length)?);
        } else if name == TRANSFER_ENCODING {
            coding = Some(is_chunked(value, coding)?);
        } else if name == CONNECTION {
            keeps_alive = connection(value, keeps_alive);
        }
        let value = HeaderValue::from_maybe_shared(head.slice_ref(value))
            .map_err(|_| "a header has no proper value")?;
        headers.append(name, value);
    }
    let framing = match (status, coding, length) {
        (StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED, ..) => Framing::Done,
        (_, Some(true), _) => Framing::CHUNKED,
        (_, Some(false), _) => Framing::UntilClose,
        (_, None, Some(length)) => Framing::of_length(length),
        (_, None, None) => Framing::UntilClose,
    };
    // Two lengths, or a coding that the version does not have, may be read otherwise by whoever is in between.
    let is_plain = coding.is_none() || (length.is_none() && version == Version::HTTP_11);
    Ok(Head {
        version,
        status,
        headers,
        keeps_alive: keeps_alive && is_plain && framing != Framing::UntilClose,
        framing,
    })
}

/// Splits off a line, without its end.
fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b'\n', bytes) {
        Some(end) => {
            let line = &bytes[..end];
            (line.strip_suffix(b"\r").unwrap_or(line), &bytes[end + 1..])
        }
        None => (bytes, &[]),
    }
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

/// Reads a length, which may be repeated but not contradicted.
fn content_length(value: &[u8], known: Option<u64>) -> Result<u64, &'static str> {
    let mut known = known;
    for one in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        let is_number = !one.is_empty() && one.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(one).ok().filter(|_| is_number).and_then(|one| one.parse().ok());
        let number = number.ok_or("the length is no number")?;
        if known.is_some_and(|known| known != number) {
            return Err("two lengths contradict each other");
        }
        known = Some(number);
    }
    known.ok_or("the length is no number")
}

/// Says whether chunked is the last coding. As an earlier one it makes no sense.
fn is_chunked(value: &[u8], before: Option<bool>) -> Result<bool, &'static str> {
    let mut is_chunked = before.unwrap_or(false);
    for one in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        if is_chunked {
            return Err("chunked is not the last transfer coding");
        }
        is_chunked = one.eq_ignore_ascii_case(b"chunked");
    }
    Ok(is_chunked)
}

fn connection(value: &[u8], before: bool) -> bool {
    let mut options = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    if options.clone().any(|one| one.eq_ignore_ascii_case(b"close")) {
        return false;
    }
    before || options.any(|one| one.eq_ignore_ascii_case(b"keep-alive"))
}

#[cfg(test)]
mod tests;

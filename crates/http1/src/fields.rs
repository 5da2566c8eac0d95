//! The header section of a head, and the fields in it that delimit the body and keep the connection.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};
use memchr::{memchr, memmem};

/// Most headers of a head.
pub(crate) const MAX_HEADERS: usize = 128;

/// Said of a head with more; clients are told so by another status than of other faults.
pub(crate) const TOO_MANY: &str = "the head has too many headers";

/// Room for the headers that messages usually have.
const USUAL_HEADERS: usize = 12;

/// A header section.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) headers: HeaderMap,
    pub(crate) length: Option<u64>,
    /// Whether the last transfer coding is chunked; `None` without one.
    pub(crate) chunked: Option<bool>,
    /// What `Connection` asks for: to stay or to close; `None` where it says neither.
    pub(crate) keeps_alive: Option<bool>,
}

/// Where a head ends, looked for in a buffer that grows.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// Up to here no end was found.
    searched: usize,
}

impl Ending {
    /// Finds the end of the empty line that ends a head. Found once, the next head is looked for from the start.
    pub(crate) fn find(&mut self, buffer: &[u8]) -> Option<usize> {
        while let Some(found) = memchr(b'\n', &buffer[self.searched..]) {
            let at = self.searched + found;
            let end = match &buffer[at + 1..] {
                [b'\n', ..] => at + 2,
                [b'\r', b'\n', ..] => at + 3,
                // Looked at again when more is there.
                [] | [b'\r'] => {
                    self.searched = at;
                    return None;
                }
                _ => {
                    self.searched = at + 1;
                    continue;
                }
            };
            self.searched = 0;
            return Some(end);
        }
        self.searched = buffer.len();
        None
    }

    /// Like [`find`](Self::find), in one go where the head came whole and its lines end as they should.
    pub(crate) fn find_quickly(&mut self, buffer: &[u8]) -> Option<usize> {
        // The end may have begun in what was searched.
        let from = self.searched.saturating_sub(3);
        match memmem::find(&buffer[from..], b"\r\n\r\n") {
            Some(at) => {
                self.searched = 0;
                Some(from + at + 4)
            }
            None => self.find(buffer),
        }
    }
}

impl Fields {
    /// Reads the lines behind the first of a head; `rest` is a part of `head`. Source: RFC 9112, sections 5, 6.3 and 9.3.
    pub(crate) fn read(head: &Bytes, mut rest: &[u8], lines: Lines) -> Result<Self, &'static str> {
        let headers = HeaderMap::with_capacity(USUAL_HEADERS);
        let mut fields = Self { headers, length: None, chunked: None, keeps_alive: None };
        while !rest.is_empty() {
            let (line, after) = lines.split(rest)?;
            rest = after;
            if line.is_empty() {
                break;
            }
            if fields.headers.len() >= MAX_HEADERS {
                return Err(TOO_MANY);
            }
            // Names are short: a library's search costs more than the steps it saves.
            let colon = line.iter().position(|byte| *byte == b':').ok_or("a header has no colon")?;
            // Refuses blanks before the colon, and lines that continue the one before.
            let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| "a header has no proper name")?;
            let value = trim(&line[colon + 1..]);
            if name == CONTENT_LENGTH {
                fields.length = Some(content_length(value, fields.length)?);
            } else if name == TRANSFER_ENCODING {
                fields.chunked = Some(is_chunked(value, fields.chunked)?);
            } else if name == CONNECTION {
                fields.keeps_alive = connection(value, fields.keeps_alive);
            }
            let value = HeaderValue::from_maybe_shared(head.slice_ref(value))
                .map_err(|_| "a header has no proper value")?;
            fields.headers.append(name, value);
        }
        Ok(fields)
    }
}

/// How lines may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// With CR LF, or with a lone LF, as some old servers write.
    Either,
    /// With CR LF. Proxies in front read a lone LF in two ways.
    Strict,
}

impl Lines {
    /// Splits off a line, without its end.
    pub(crate) fn split(self, bytes: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
        let Some(end) = memchr(b'\n', bytes) else { return Ok((bytes, &[])) };
        let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
        match line.strip_suffix(b"\r") {
            Some(line) => Ok((line, rest)),
            None if self == Self::Either => Ok((line, rest)),
            None => Err("a line of the head does not end with CR LF"),
        }
    }
}

/// Takes the optional white space of HTTP off both ends: blanks and tabs, nothing else.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// The members of a list in a field's value.
fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    value.split(|byte| *byte == b',').map(trim)
}

/// Reads a length, which may be repeated but not contradicted.
fn content_length(value: &[u8], known: Option<u64>) -> Result<u64, &'static str> {
    let mut known = known;
    for one in members(value) {
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
    for one in members(value) {
        if is_chunked {
            return Err("chunked is not the last transfer coding");
        }
        is_chunked = one.eq_ignore_ascii_case(b"chunked");
    }
    Ok(is_chunked)
}

fn connection(value: &[u8], before: Option<bool>) -> Option<bool> {
    let mut options = members(value);
    if before == Some(false) || options.clone().any(|one| one.eq_ignore_ascii_case(b"close")) {
        return Some(false);
    }
    options.any(|one| one.eq_ignore_ascii_case(b"keep-alive")).then_some(true).or(before)
}

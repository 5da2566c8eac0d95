//! Event streams: an incremental decoder that keeps each block's bytes, and an encoder.
//!
//! Source: WHATWG HTML, section 9.2.6, interpreting an event stream.

mod boundary;

use std::collections::VecDeque;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

use boundary::Boundary;

/// A comment that keeps a stream from looking dead.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Cuts a stream of bytes into blocks.
///
/// Blocks that lie whole in one chunk are slices of it. Memory stays within the limit and one chunk as long as
/// `next` is asked until it has nothing before the next `push`.
#[derive(Debug)]
pub struct Decoder {
    max_event_bytes: usize,
    boundary: Boundary,
    /// The start of a block whose end has not come yet.
    pending: BytesMut,
    /// What was pushed and not yet looked at.
    chunks: VecDeque<Bytes>,
    /// No block has been given out, so a byte order mark may stand in front.
    is_first: bool,
    /// A block was too long; nothing more comes out.
    is_over: bool,
}

/// A block was longer than the decoder's limit. The stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {limit} bytes")]
pub struct TooLong {
    /// The limit in bytes.
    pub limit: usize,
}

/// One block of a stream, up to and with its blank line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The whole block, byte for byte. All of them in a row are the stream.
    pub raw: Bytes,
    /// The data lines joined by line feeds; empty where there is none.
    pub data: Bytes,
    /// The event's name; absent where it is empty.
    pub name: Option<Bytes>,
    /// The event's id, which may be empty.
    pub id: Option<Bytes>,
    /// The time to reconnect, digits only.
    pub retry: Option<Bytes>,
    /// The block holds comments or nothing, and no field.
    pub is_comment: bool,
}

impl Decoder {
    /// Makes a decoder that refuses blocks longer than `max_event_bytes`, counted with comments and blank line.
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            boundary: Boundary::default(),
            pending: BytesMut::new(),
            chunks: VecDeque::new(),
            is_first: true,
            is_over: false,
        }
    }

    /// Takes in the next bytes of the stream.
    pub fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() && !self.is_over {
            self.chunks.push_back(chunk);
        }
    }

    /// Returns the next block that is complete; `None` where more bytes are needed, and for good after an error.
    #[expect(clippy::should_implement_trait, reason = "it is no iterator: after None more may come")]
    pub fn next(&mut self) -> Option<Result<Event, TooLong>> {
        while let Some(mut chunk) = self.chunks.pop_front() {
            let end = self.boundary.find(&chunk);
            if self.pending.len() + end.unwrap_or(chunk.len()) > self.max_event_bytes {
                return Some(Err(self.give_up()));
            }
            let Some(end) = end else {
                self.pending.extend_from_slice(&chunk);
                continue;
            };
            let raw = if self.pending.is_empty() {
                chunk.split_to(end)
            } else {
                self.pending.extend_from_slice(&chunk.split_to(end));
                self.pending.split().freeze()
            };
            if !chunk.is_empty() {
                self.chunks.push_front(chunk);
            }
            let event = if self.is_first { Event::read_first(raw) } else { Event::read(raw) };
            self.is_first = false;
            return Some(Ok(event));
        }
        None
    }

    /// Keeps no memory but for what was pushed and not yet given out, while nobody reads on for a time: it is copied out
    /// of the larger pieces it came in.
    pub fn compact(&mut self) {
        self.pending = BytesMut::from(&self.pending[..]);
        self.chunks = self.chunks.iter().map(|chunk| Bytes::copy_from_slice(chunk)).collect();
    }

    /// Ends the stream; returns the bytes of a block that was never finished. A browser drops them.
    pub fn finish(mut self) -> Option<Bytes> {
        for chunk in &self.chunks {
            self.pending.extend_from_slice(chunk);
        }
        Some(self.pending.freeze()).filter(|rest| !rest.is_empty())
    }

    fn give_up(&mut self) -> TooLong {
        self.is_over = true;
        self.pending = BytesMut::new();
        self.chunks.clear();
        TooLong { limit: self.max_event_bytes }
    }
}

impl Event {
    /// Reads one block, with or without its blank line.
    pub fn read(raw: Bytes) -> Event {
        Event::read_from(raw, 0)
    }

    /// Reads the first block of a stream, which may begin with a byte order mark.
    fn read_first(raw: Bytes) -> Event {
        let start = if raw.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        Event::read_from(raw, start)
    }

    fn read_from(raw: Bytes, start: usize) -> Event {
        let mut data = Data::None;
        let (mut name, mut id, mut retry, mut is_comment) = (None, None, None, true);
        let mut at = start;
        while at < raw.len() {
            let end = memchr::memchr2(b'\n', b'\r', &raw[at..]).map_or(raw.len(), |found| at + found);
            let line = at..end;
            at = end + 1;
            if line.is_empty() || raw[line.start] == b':' {
                continue;
            }
            is_comment = false;
            let (field, value) = split_field(&raw, line);
            match &raw[field] {
                b"data" => data.add(&raw, value),
                b"event" => name = Some(value).filter(|value| !value.is_empty()),
                b"id" if !raw[value.clone()].contains(&0) => id = Some(value),
                b"retry" if is_digits(&raw[value.clone()]) => retry = Some(value),
                _ => {}
            }
        }
        let slice = |range: Option<Range<usize>>| range.map(|range| raw.slice(range));
        let data = match data {
            Data::None => Bytes::new(),
            Data::One(range) => raw.slice(range),
            Data::Many(joined) => joined.into(),
        };
        Event { data, name: slice(name), id: slice(id), retry: slice(retry), is_comment, raw }
    }
}

/// Writes one event named `message`.
///
/// Shape: `event: message`, `id: …` where given, `data: …`, a blank line. Line ends in the data, which JSON
/// has only between its tokens, begin a further data line. An id that holds a line end or a null byte is left
/// out, because it could not be read back.
pub fn encode(data: &[u8], id: Option<&str>) -> Bytes {
    let mut out = Vec::with_capacity(data.len() + id.map_or(0, str::len) + 40);
    out.extend_from_slice(b"event: message\n");
    if let Some(id) = id.filter(|id| !id.contains(['\n', '\r', '\0'])) {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_bytes());
        out.push(b'\n');
    }
    let mut rest = data;
    while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
        let width = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        push_data(&mut out, &rest[..end]);
        rest = &rest[end + width..];
    }
    push_data(&mut out, rest);
    out.push(b'\n');
    out.into()
}

/// The data lines met so far.
enum Data {
    None,
    One(Range<usize>),
    Many(Vec<u8>),
}

impl Data {
    fn add(&mut self, raw: &[u8], line: Range<usize>) {
        match self {
            Data::None => *self = Data::One(line),
            Data::One(first) => *self = Data::Many([&raw[first.clone()], b"\n", &raw[line]].concat()),
            Data::Many(joined) => {
                joined.push(b'\n');
                joined.extend_from_slice(&raw[line]);
            }
        }
    }
}

/// Splits a line at its colon; one blank after it belongs to neither side.
fn split_field(raw: &[u8], line: Range<usize>) -> (Range<usize>, Range<usize>) {
    let Some(colon) = memchr::memchr(b':', &raw[line.clone()]).map(|found| line.start + found) else {
        return (line.clone(), line.end..line.end);
    };
    let blank = usize::from(raw.get(colon + 1) == Some(&b' '));
    (line.start..colon, colon + 1 + blank..line.end)
}

fn is_digits(value: &[u8]) -> bool {
    !value.is_empty() && value.iter().all(u8::is_ascii_digit)
}

fn push_data(out: &mut Vec<u8>, line: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(line);
    out.push(b'\n');
}

#[cfg(test)]
mod tests;

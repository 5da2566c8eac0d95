//! An answer on its way, piece by piece: the few members in it whose text is replaced are found as they pass, and
//! nothing but the text of one is ever held.

use bytes::{Bytes, BytesMut};

use crate::task::RELATED;

/// Longest key that is told from others, with its quotes; longer ones are none of ours.
const MAX_KEY_BYTES: usize = 64;

/// What a text found is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// `nextCursor` of the result.
    Cursor,
    /// `requestState` of a result that asks for input.
    State,
    /// The id of a task, wherever `task::ids` finds one.
    Task,
}

/// Reads one JSON answer. What is no answer passes as it is.
pub struct Sift {
    wanted: [bool; 3],
    /// What is open, from the envelope inwards, as far as it may hold what is looked for.
    open: Vec<Place>,
    /// How many arrays and objects are open within one that holds nothing of interest.
    beyond: usize,
    /// Whether the next string of the innermost object is a key.
    is_key_next: bool,
    /// The last key, with its quotes; empty where it is too long.
    key: Vec<u8>,
    /// The string that is being read.
    string: Option<Text>,
    is_escaped: bool,
    /// Whether the result is known to ask for nothing.
    asks_nothing: bool,
    /// A text that is looked for, as far as it has come.
    held: BytesMut,
}

/// What an open array or object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Envelope,
    Result,
    /// Holds `taskId`.
    Task,
    /// An array of those.
    Tasks,
    Meta,
}

/// What a string is that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Key,
    /// The type of the result.
    Type,
    Wanted(Found),
    Plain,
}

impl Sift {
    /// Looks for these.
    pub fn new(wanted: &[Found]) -> Self {
        let wanted = [Found::Cursor, Found::State, Found::Task].map(|one| wanted.contains(&one));
        Self {
            wanted,
            open: Vec::new(),
            beyond: 0,
            is_key_next: false,
            key: Vec::new(),
            string: None,
            is_escaped: false,
            asks_nothing: false,
            held: BytesMut::new(),
        }
    }

    /// Takes the next bytes and hands on, in order, what goes out: slices of `data`, and in place of a text found, which
    /// `replace` gets with its quotes, what that returns.
    ///
    /// A text that is not at its end is held; see [`Self::held_bytes`]. A state counts as asked for where nothing was
    /// said yet of the type of its result.
    pub fn push(
        &mut self,
        data: &Bytes,
        mut replace: impl FnMut(Found, Bytes) -> Bytes,
        mut out: impl FnMut(Bytes),
    ) {
        let (mut at, mut from) = (0, 0);
        while at < data.len() {
            let Some(text) = self.string else {
                at = self.outside(data, at);
                if let Some(Text::Wanted(_)) = self.string {
                    emit(data, from..at, &mut out);
                    self.held.extend_from_slice(b"\"");
                    from = at + 1;
                }
                // The quote, where one begins a string.
                at += usize::from(self.string.is_some());
                continue;
            };
            let (end, is_closed) = self.inside(data, at);
            match text {
                Text::Key | Text::Type => self.note(&data[at..end]),
                Text::Wanted(found) => {
                    self.held.extend_from_slice(&data[at..end]);
                    from = end;
                    if is_closed {
                        out(replace(found, self.held.split().freeze()));
                    }
                }
                Text::Plain => {}
            }
            if is_closed {
                self.close(text);
            }
            at = end;
        }
        emit(data, from..data.len(), &mut out);
    }

    /// Returns how much of a text is held that is not at its end.
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }

    /// Reads on to the quote that begins a string, or to the end; returns where it stands.
    fn outside(&mut self, data: &[u8], mut at: usize) -> usize {
        while let Some(&byte) = data.get(at) {
            match byte {
                b'"' => {
                    self.begin();
                    return at;
                }
                b'{' | b'[' => self.enter(byte == b'{'),
                b'}' | b']' => self.leave(),
                b',' if self.beyond == 0 => self.is_key_next = self.is_in_object(),
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// Reads on behind the quote that ends a string, or to the end; says which.
    fn inside(&mut self, data: &[u8], mut at: usize) -> (usize, bool) {
        if self.is_escaped {
            self.is_escaped = false;
            at += 1;
        }
        while let Some(found) = memchr::memchr2(b'"', b'\\', data.get(at..).unwrap_or_default()) {
            at += found;
            if data[at] == b'"' {
                return (at + 1, true);
            }
            if at + 1 == data.len() {
                self.is_escaped = true;
                break;
            }
            at += 2;
        }
        (data.len(), false)
    }

    fn is_in_object(&self) -> bool {
        self.open.last().is_some_and(|place| *place != Place::Tasks)
    }

    /// A string begins.
    fn begin(&mut self) {
        let text = match self.open.last() {
            _ if self.beyond > 0 => Text::Plain,
            Some(Place::Tasks) | None => Text::Plain,
            Some(_) if self.is_key_next => Text::Key,
            Some(place) => self.value(*place),
        };
        if text == Text::Key || text == Text::Type {
            self.key.clear();
            self.key.push(b'"');
        }
        self.string = Some(text);
    }

    /// Says what a string is that is the value of the last key.
    fn value(&self, place: Place) -> Text {
        let found = match (place, &self.key[..]) {
            (Place::Result, br#""resultType""#) => return Text::Type,
            (Place::Result, br#""nextCursor""#) => Found::Cursor,
            (Place::Result, br#""requestState""#) if !self.asks_nothing => Found::State,
            (Place::Result | Place::Task, br#""taskId""#) => Found::Task,
            _ => return Text::Plain,
        };
        if self.wanted[found as usize] { Text::Wanted(found) } else { Text::Plain }
    }

    /// Keeps what comes of a key.
    fn note(&mut self, part: &[u8]) {
        if !self.key.is_empty() && self.key.len() + part.len() <= MAX_KEY_BYTES {
            self.key.extend_from_slice(part);
        } else {
            self.key.clear();
        }
    }

    /// A string is at its end.
    fn close(&mut self, text: Text) {
        self.string = None;
        match text {
            Text::Key => self.is_key_next = false,
            Text::Type => self.asks_nothing = self.key != br#""input_required""#,
            Text::Wanted(_) | Text::Plain => {}
        }
    }

    fn enter(&mut self, is_object: bool) {
        if self.beyond > 0 {
            self.beyond += 1;
            return;
        }
        let inner = match (self.open.last(), &self.key[..], is_object) {
            (None, _, true) => Some(Place::Envelope),
            (Some(Place::Envelope), br#""result""#, true) => Some(Place::Result),
            (Some(Place::Result), br#""task""#, true) => Some(Place::Task),
            (Some(Place::Result), br#""tasks""#, false) => Some(Place::Tasks),
            (Some(Place::Result), br#""_meta""#, true) => Some(Place::Meta),
            (Some(Place::Meta), key, true) if unquoted(key) == RELATED.as_bytes() => Some(Place::Task),
            (Some(Place::Tasks), _, true) => Some(Place::Task),
            _ => None,
        };
        match inner {
            Some(place) => {
                self.open.push(place);
                self.is_key_next = is_object;
            }
            None => self.beyond = 1,
        }
    }

    fn leave(&mut self) {
        if self.beyond > 0 {
            self.beyond -= 1;
        } else {
            self.open.pop();
        }
    }
}

fn emit(data: &Bytes, range: std::ops::Range<usize>, out: &mut impl FnMut(Bytes)) {
    if !range.is_empty() {
        out(data.slice(range));
    }
}

fn unquoted(key: &[u8]) -> &[u8] {
    key.get(1..key.len().saturating_sub(1)).unwrap_or_default()
}

#[cfg(test)]
mod tests;

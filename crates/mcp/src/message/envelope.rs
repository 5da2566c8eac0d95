//! The one pass over a message: collects the raw members we route by from the envelope and from `params`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::json::{first_byte, plain};

/// The raw members found, each a slice of the body. The first spelling is kept of a member that comes twice.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    pub(super) jsonrpc: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) method: Option<&'a str>,
    pub(super) params: Option<&'a str>,
    pub(super) result: Option<&'a str>,
    pub(super) error: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) uri: Option<&'a str>,
    pub(super) task_id: Option<&'a str>,
    pub(super) cursor: Option<&'a str>,
    pub(super) meta: Option<&'a str>,
    pub(super) request_state: Option<&'a str>,
    /// The first member that came twice.
    pub(super) duplicate: Option<&'static str>,
}

impl<'a> Envelope<'a> {
    /// Reads `text`, whose first byte that is not white space is `{`.
    pub(super) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        let mut envelope = Envelope::default();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        (&mut deserializer).deserialize_map(Outer { text, envelope: &mut envelope })?;
        deserializer.end()?;
        Ok(envelope)
    }
}

/// Keeps a member's value, or the fact that it came before.
fn keep<'a>(
    slot: &mut Option<&'a str>,
    duplicate: &mut Option<&'static str>,
    name: &'static str,
    value: &'a str,
) {
    if slot.is_none() {
        *slot = Some(value);
    } else {
        duplicate.get_or_insert(name);
    }
}

/// Returns the offset of the byte after `part`, a slice of `text`.
fn end_of(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize + part.len()
}

/// Visits the message itself.
struct Outer<'a, 'e> {
    text: &'a str,
    envelope: &'e mut Envelope<'a>,
}

impl<'a> Visitor<'a> for Outer<'a, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let envelope = self.envelope;
        while let Some(key) = map.next_key::<&'a RawValue>()? {
            let (slot, name) = match plain(key.get()).as_deref() {
                Some("jsonrpc") => (&mut envelope.jsonrpc, "jsonrpc"),
                Some("id") => (&mut envelope.id, "id"),
                Some("method") => (&mut envelope.method, "method"),
                Some("result") => (&mut envelope.result, "result"),
                Some("error") => (&mut envelope.error, "error"),
                Some("params") if envelope.params.is_none() => {
                    match object_after(self.text, key.get()) {
                        Some(start) => {
                            let inner = Inner { text: self.text, start, envelope: &mut *envelope };
                            let end = map.next_value_seed(inner)?;
                            envelope.params = Some(&self.text[start..end]);
                        }
                        None => envelope.params = Some(map.next_value::<&'a RawValue>()?.get()),
                    }
                    continue;
                }
                Some("params") => (&mut envelope.params, "params"),
                _ => {
                    map.next_value::<serde::de::IgnoredAny>()?;
                    continue;
                }
            };
            let value = map.next_value::<&'a RawValue>()?;
            keep(slot, &mut envelope.duplicate, name, value.get());
        }
        Ok(())
    }
}

/// Returns the offset of the `{` that is the value of `key`, `None` where another value stands there.
fn object_after(text: &str, key: &str) -> Option<usize> {
    let (colon, b':') = first_byte(text.as_bytes(), end_of(text, key))? else { return None };
    let (start, b'{') = first_byte(text.as_bytes(), colon + 1)? else { return None };
    Some(start)
}

/// Visits `params` in place, so that its bytes are read once; returns the offset after its `}`.
struct Inner<'a, 'e> {
    text: &'a str,
    /// Offset of the opening brace.
    start: usize,
    envelope: &'e mut Envelope<'a>,
}

impl<'a> DeserializeSeed<'a> for Inner<'a, '_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Inner<'a, '_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<usize, A::Error> {
        let envelope = self.envelope;
        let mut end = self.start + 1;
        while let Some((key, value)) = map.next_entry::<&'a RawValue, &'a RawValue>()? {
            let value = value.get();
            end = end_of(self.text, value);
            let (slot, name) = match plain(key.get()).as_deref() {
                Some("name") => (&mut envelope.name, "params.name"),
                Some("uri") => (&mut envelope.uri, "params.uri"),
                Some("taskId") => (&mut envelope.task_id, "params.taskId"),
                Some("cursor") => (&mut envelope.cursor, "params.cursor"),
                Some("_meta") => (&mut envelope.meta, "params._meta"),
                Some("requestState") => (&mut envelope.request_state, "params.requestState"),
                _ => continue,
            };
            keep(slot, &mut envelope.duplicate, name, value);
        }
        // The map ended, so the next byte after white space is its closing brace.
        Ok(first_byte(self.text.as_bytes(), end).map_or(end, |(at, _)| at + 1))
    }
}

//! An object written anew: its members in their order, some left out, some set.

use crate::message::{members, quote, text};

/// The members of one object, to be written anew.
pub(crate) struct Rebuilt {
    members: Vec<(String, Vec<u8>)>,
}

impl Rebuilt {
    /// Takes an object apart; `None` where it is none.
    pub(crate) fn of(object: &[u8]) -> Option<Self> {
        let raw = |span: crate::message::Span| span.of(object).to_vec();
        let key = |span: crate::message::Span| String::from_utf8_lossy(span.of(object)).into_owned();
        let members = members(object)?.into_iter().map(|(name, value)| (key(name), raw(value))).collect();
        Some(Self { members })
    }

    pub(crate) fn empty() -> Self {
        Self { members: Vec::new() }
    }

    /// Leaves out every member whose name fits.
    pub(crate) fn without(mut self, fits: impl Fn(&str) -> bool) -> Self {
        self.members.retain(|(key, _)| !text(key.as_bytes()).is_some_and(|name| fits(&name)));
        self
    }

    /// Sets a member, in its place where it is there already, else at the end.
    pub(crate) fn with(mut self, name: &str, value: &[u8]) -> Self {
        let is_it = |key: &String| text(key.as_bytes()).as_deref() == Some(name);
        match self.members.iter_mut().find(|(key, _)| is_it(key)) {
            Some((_, old)) => *old = value.to_vec(),
            None => self.members.push((quote(name), value.to_vec())),
        }
        self
    }

    /// Sets a member only where it is absent.
    pub(crate) fn with_default(self, name: &str, value: &[u8]) -> Self {
        let is_there = self.members.iter().any(|(key, _)| text(key.as_bytes()).as_deref() == Some(name));
        if is_there { self } else { self.with(name, value) }
    }

    /// Writes the object.
    pub(crate) fn written(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        for (index, (key, value)) in self.members.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(key.as_bytes());
            out.push(b':');
            out.extend_from_slice(value);
        }
        out.push(b'}');
        out
    }
}

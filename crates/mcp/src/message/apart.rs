//! Messages that came together in a JSON array.

use bytes::Bytes;

use super::{Kind, Outline, elements};

/// Says whether this is an array and no single message.
pub fn is_array(data: &[u8]) -> bool {
    data.trim_ascii_start().first() == Some(&b'[')
}

/// Takes an array of messages apart, as servers of 2025-03-26 send them; whatever else it is comes as it is. Answers
/// come last: nobody listens behind them.
pub fn apart(data: Bytes) -> impl Iterator<Item = Bytes> + Send {
    let (single, mut several) = match is_array(&data) {
        false => (Some(data), Vec::new()),
        true => match elements(&data) {
            Some(spans) => (None, spans.into_iter().map(|span| data.slice(span.range())).collect()),
            None => (Some(data), Vec::new()),
        },
    };
    several.sort_by_cached_key(|one| Outline::read(one).is_ok_and(|outline| outline.kind == Kind::Response));
    single.into_iter().chain(several)
}

#[cfg(test)]
mod tests;

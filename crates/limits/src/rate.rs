//! So many requests in so much time.

/// Longest time between two requests that a rate may stand for, in nanoseconds: a day.
const MAX_EACH: u64 = 86_400_000_000_000;
/// Most requests at once. With the longest time between them it still fits into nanoseconds.
const MAX_BURST: u64 = 100_000;

/// How many requests may come, in the long run and at once.
///
/// Shape: `10/s`, `600/m`, `5000/h`, or with another number at once than in that time: `600/m burst 20`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Time between two requests, in nanoseconds.
    pub(crate) each: u64,
    /// How far ahead of that time requests may be, in nanoseconds.
    pub(crate) ahead: u64,
}

impl Rate {
    /// Reads a rate; `None` where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (count, unit) = words.next()?.split_once('/')?;
        let count: u64 = count.parse().ok()?;
        let second = 1_000_000_000;
        let span = match unit {
            "s" => second,
            "m" | "min" => 60 * second,
            "h" => 3600 * second,
            _ => return None,
        };
        let burst = match (words.next(), words.next(), words.next()) {
            (None, ..) => count,
            (Some("burst"), Some(number), None) => number.parse().ok()?,
            _ => return None,
        };
        let fits = (1..=span).contains(&count) && (1..=MAX_BURST).contains(&burst);
        let each = span.checked_div(count).filter(|each| fits && *each <= MAX_EACH)?;
        Some(Self { each, ahead: each * (burst - 1) })
    }
}

#[cfg(test)]
mod tests;

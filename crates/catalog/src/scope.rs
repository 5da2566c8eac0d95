//! Named rights.

use std::sync::Arc;

use crate::invalid::Invalid;
use crate::name::MAX_SCOPE_BYTES;

/// A named right, for example `github-write`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(Arc<str>);

impl Scope {
    /// Checks a scope: printable ASCII without blanks, quotes or backslashes (RFC 6749, section 3.3).
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let fits = |b: u8| matches!(b, 0x21 | 0x23..=0x5b | 0x5d..=0x7e);
        if text.is_empty() || text.len() > MAX_SCOPE_BYTES || !text.bytes().all(fits) {
            let rule = "must be 1 to 256 printable ASCII characters without blanks, quotes or backslashes";
            return Err(Invalid::new(field, format!("{text:?} {rule}")));
        }
        if matches!(text, "." | "..") {
            return Err(Invalid::new(field, format!("{text:?} has a meaning of its own in URLs")));
        }
        Ok(Self(text.into()))
    }

    /// Returns the scope as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Scope {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;

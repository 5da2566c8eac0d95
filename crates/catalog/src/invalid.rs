//! A bad field and the reason. Everything that checks says it this way, down to the names.

use std::fmt;

/// One bad field and the reason, as a person would say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The field's name in the request, with an index where it is in a list: `tool_mappings[2].alias`.
    pub field: String,
    /// What is wrong with it and what would be right.
    pub reason: String,
}

impl Invalid {
    /// Says that a field is bad and why.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

//! The catalog against its rules.

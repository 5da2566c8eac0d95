//! The stored shape of each catalog type. Every store writes these, under the field names of the original
//! registry, so that its data moves over and other tools can read ours.

/// Seals credentials before they are stored and opens them again.
pub trait Sealer: Send + Sync + 'static {
    /// Seals a text.
    fn seal(&self, plain: &str) -> String;
    /// Opens what `seal` made; `None` where it was not made under this key or was altered.
    fn open(&self, sealed: &str) -> Option<String>;
}

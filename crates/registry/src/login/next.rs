//! Where a sign-in leads: a path of this host and nowhere else.

/// Longest path that is gone to.
const MAX_BYTES: usize = 1024;

/// Returns the wanted path, or that of the page of one's own where it is none or could lead away.
pub(super) fn local(wanted: Option<&str>, prefix: &str) -> String {
    wanted.filter(|path| is_local(path)).map_or_else(|| format!("{prefix}/login"), Into::into)
}

/// Browsers read `//host` and `/\host` as other hosts, and drop tabs and line ends before they look.
fn is_local(path: &str) -> bool {
    let is_plain = path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    is_plain && path.len() <= MAX_BYTES && path.starts_with('/') && !path.starts_with("//")
}

#[cfg(test)]
mod tests;

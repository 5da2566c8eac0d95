//! One file at a time: it opens with what lives in it, and its name is not that of a drawer.

use crate::tidy::source::File;

/// Names that say nothing about what is inside.
const DRAWERS: &[&str] =
    &["util", "utils", "utilities", "common", "helper", "helpers", "misc", "shared_code"];

/// Returns what is wrong with the file itself. A `tests.rs` says by its name and place what it is.
pub(super) fn faults(file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    if !file.local.ends_with("/tests.rs") && !has_header(&file.text) {
        faults.push(format!("{}: does not open with `//!` and a sentence on what lives here", file.path));
    }
    for part in file.local.split('/') {
        let stem = part.strip_suffix(".rs").unwrap_or(part);
        if DRAWERS.contains(&stem) {
            faults.push(format!("{}: `{stem}` is a drawer; name the room the code belongs to", file.path));
        }
    }
    if file.local.ends_with("/mod.rs") {
        faults.push(format!("{}: write `foo.rs` beside `foo/` instead of `mod.rs`", file.path));
    }
    faults
}

/// Inner attributes may come first, as in fuzz targets.
fn has_header(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty() || line.starts_with("#!["));
    lines.next().and_then(|line| line.strip_prefix("//!")).is_some_and(|rest| !rest.trim().is_empty())
}

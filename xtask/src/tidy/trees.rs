//! Bytes of a message are never turned into a JSON tree in `mcp` and `proxy`.

use crate::tidy::source::{self, File};

const PACKAGES: &[&str] = &["mcp", "proxy"];

/// Names that only exist for trees. `Value` alone may be something else, so it counts when serde_json is named with it.
const TREES: &[&str] = &[
    "serde_json::Value",
    "serde_json::Map",
    "serde_json::json",
    "json!",
    "serde_json::to_value",
    "serde_json::from_value",
];

/// Returns the fault of a file that uses JSON trees where they are not wanted.
pub(super) fn fault(package: &str, file: &File) -> Option<String> {
    if !PACKAGES.contains(&package) || file.is_test() || !file.local.starts_with("src/") {
        return None;
    }
    let code = source::code(&file.text);
    let found = TREES.iter().find(|tree| code.contains(*tree)).copied().or_else(|| imported(&code))?;
    Some(format!("{}: `{found}` is a JSON tree; keep messages as bytes and byte ranges", file.path))
}

/// Finds `use serde_json::{Value, …}` in any order.
fn imported(code: &str) -> Option<&'static str> {
    code.split("use serde_json::{").skip(1).find_map(|after| {
        let names = after.split('}').next().unwrap_or_default();
        ["Value", "Map"].into_iter().find(|tree| names.split(',').any(|name| name.trim().starts_with(tree)))
    })
}

//! Which member of a JSON text stands at a position: serde says where a value does not fit, people want its name.

use serde::de::DeserializeOwned;

/// Reads JSON into a type, or says which member does not fit and why. For text that is known to be JSON.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, (Option<String>, String)> {
    serde_json::from_slice(body).map_err(|error| {
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or(&text).to_owned();
        // serde names a member that is missing; one of a wrong type it shows by its place only.
        let field = match text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
            Some(missing) => Some(inside(member_at(body, error.line(), error.column()), missing)),
            None => member_at(body, error.line(), error.column()),
        };
        (field, reason)
    })
}

fn inside(outer: Option<String>, member: &str) -> String {
    // Where a member is missing, serde stands behind the object, or behind the last member of it.
    match outer.as_deref().and_then(|outer| outer.rfind(']')) {
        Some(end) => format!("{}.{member}", &outer.unwrap_or_default()[..=end]),
        None => member.to_owned(),
    }
}

/// One level of nesting around a position.
enum Level {
    Object(Option<String>),
    List(usize),
}

/// Returns the member at a position, `tool_mappings[2].alias`; lines and columns count from 1.
fn member_at(body: &[u8], line: usize, column: usize) -> Option<String> {
    let start: usize =
        body.split_inclusive(|b| *b == b'\n').take(line.checked_sub(1)?).map(<[u8]>::len).sum();
    let end = (start + column).min(body.len());
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    while at < end {
        match body[at] {
            b'{' => levels.push(Level::Object(None)),
            b'[' => levels.push(Level::List(0)),
            // The last thing before the position still counts as inside.
            b'}' | b']' if at + 1 < end => {
                levels.pop();
            }
            b',' if at + 1 < end => {
                if let Some(Level::List(index)) = levels.last_mut() {
                    *index += 1;
                }
            }
            b'"' => {
                let close = string_end(body, at);
                let is_key = body[close..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
                if is_key && let Some(Level::Object(key)) = levels.last_mut() {
                    *key = serde_json::from_slice(&body[at..close]).ok();
                }
                at = close;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    let mut name = String::new();
    for level in &levels {
        match level {
            Level::Object(Some(key)) if name.is_empty() => name.push_str(key),
            Level::Object(Some(key)) => name = format!("{name}.{key}"),
            Level::Object(None) => {}
            Level::List(index) => name = format!("{name}[{index}]"),
        }
    }
    (!name.is_empty()).then_some(name)
}

/// Returns where a string that begins at `at` ends, behind its quote.
fn string_end(body: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < body.len() && body[end] != b'"' {
        end += if body[end] == b'\\' { 2 } else { 1 };
    }
    (end + 1).min(body.len())
}

#[cfg(test)]
mod tests;

//! Tools that one era defines in a way the other cannot take.

use std::borrow::Cow;

use super::object::Rebuilt;
use crate::message::{member, text};
use crate::param::marks;

/// Returns a tool as a legacy client takes it: `None` hides one whose input is not an object, or whose arguments
/// are marked for headers that nobody can make; an output schema that describes no object is left out.
pub fn for_legacy(tool: &str) -> Option<Cow<'_, str>> {
    let json = tool.as_bytes();
    let input = member(json, "inputSchema")?;
    if !is_object_schema(input.of(json)) || marks(input.of(json)).is_err() {
        return None;
    }
    match member(json, "outputSchema") {
        Some(output) if !is_object_schema(output.of(json)) => {
            let rest = Rebuilt::of(json)?.without(|name| name == "outputSchema").written();
            Some(Cow::Owned(String::from_utf8(rest).ok()?))
        }
        _ => Some(Cow::Borrowed(tool)),
    }
}

/// Returns a tool as a modern client takes it: `None` hides one that can only be run as a task of 2025-11-25.
pub fn for_modern(tool: &str) -> Option<Cow<'_, str>> {
    let json = tool.as_bytes();
    let execution = member(json, "execution").map(|span| span.of(json));
    let support = execution.and_then(|object| Some(member(object, "taskSupport")?.of(object)));
    let is_required = support.and_then(text).as_deref() == Some("required");
    (!is_required).then_some(Cow::Borrowed(tool))
}

fn is_object_schema(schema: &[u8]) -> bool {
    member(schema, "type").and_then(|span| text(span.of(schema))).as_deref() == Some("object")
}

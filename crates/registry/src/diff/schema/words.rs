//! The words of JSON Schema, read one at a time.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Map, Value};

/// Longest chain of references; a longer one runs in a circle.
const MAX_CHAIN: usize = 24;

/// Follows references within the document; one that leads nowhere stays as it is.
pub(super) fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..MAX_CHAIN {
        let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
        let Some(target) = pointer.and_then(|pointer| root.pointer(pointer)) else { return schema };
        schema = target;
    }
    schema
}

/// Returns a schema's members; `true` has none, and `false` is no schema that allows anything.
pub(super) fn constraints(schema: &Value) -> Option<&Map<String, Value>> {
    static ANYTHING: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    match schema {
        Value::Object(members) => Some(members),
        Value::Bool(true) => Some(&ANYTHING),
        _ => None,
    }
}

/// Returns the schemas of which a value has to fit one.
pub(super) fn alternatives(schema: &Map<String, Value>) -> Option<&Vec<Value>> {
    schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array)
}

/// Returns the properties that a schema names.
pub(super) fn members(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// Returns the properties that must be there.
pub(super) fn required(schema: &Map<String, Value>) -> BTreeSet<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the types a schema names; empty where it names none.
pub(super) fn types(schema: &Map<String, Value>) -> BTreeSet<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => BTreeSet::from([one.as_str()]),
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

/// Says whether every value of the narrow types has one of the wide ones.
pub(super) fn covers(wide: &BTreeSet<&str>, narrow: &BTreeSet<&str>) -> bool {
    let allows = |kind: &&str| wide.contains(kind) || *kind == "integer" && wide.contains("number");
    wide.is_empty() || !narrow.is_empty() && narrow.iter().all(allows)
}

/// Names types for a person.
pub(super) fn spelled(types: &BTreeSet<&str>) -> String {
    if types.is_empty() { "anything".into() } else { types.iter().copied().collect::<Vec<_>>().join(" or ") }
}

/// Names an alternative for a person.
pub(super) fn kind(schema: &Value) -> String {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.rsplit('/').next());
    let title = schema.get("title").and_then(Value::as_str);
    match (title.or(reference), schema.as_object().map(types)) {
        (Some(name), _) => name.to_owned(),
        (None, Some(types)) => spelled(&types),
        (None, None) => "anything".into(),
    }
}

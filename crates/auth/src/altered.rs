//! What a test changes of a token.

use serde_json::Value;

/// Returns an object with one member set, or removed where the value is null.
pub(crate) fn with(mut object: Value, key: &str, value: Value) -> Value {
    let members = object.as_object_mut().unwrap();
    if value.is_null() {
        members.remove(key)
    } else {
        members.insert(key.into(), value)
    };
    object
}

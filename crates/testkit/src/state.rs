//! The `requestState` of a backend: readable for nobody who must not read it, and useless when changed.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The key of this process.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Makes text of a value that only this process can have made.
pub(crate) fn seal(value: &Value) -> String {
    let text = URL_SAFE_NO_PAD.encode(value.to_string());
    let mark = KEY.hash_one(&text);
    format!("{text}.{mark:016x}")
}

/// Returns the value; `None` where the text was changed or is foreign.
pub(crate) fn open(sealed: &str) -> Option<Value> {
    let (text, mark) = sealed.split_once('.')?;
    if mark != format!("{:016x}", KEY.hash_one(text)) {
        return None;
    }
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

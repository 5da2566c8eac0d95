//! Headers of the modern era that repeat an argument of a tool call (`Mcp-Param-*`, annotated by `x-mcp-header`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::record::Seen;
use crate::script::Script;

/// Says what is wrong with the headers of a tool call that repeat its arguments.
pub(crate) fn fault(script: &Script, seen: &Seen) -> Option<String> {
    if seen.method != "tools/call" {
        return None;
    }
    let tool = script.tools.iter().find(|tool| tool.name() == seen.name())?;
    let properties = tool.definition["inputSchema"]["properties"].as_object()?;
    let annotated =
        properties.iter().filter_map(|(key, schema)| Some((key, schema["x-mcp-header"].as_str()?)));
    for (key, word) in annotated {
        let header = format!("mcp-param-{}", word.to_ascii_lowercase());
        let argument = match &seen.params()["arguments"][key] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let said = match seen.headers.contains_key(&header) {
            true => Some(decoded(seen.header(&header)).ok_or(format!("{header} is no base64"))),
            false => None,
        };
        match said.transpose() {
            Err(fault) => return Some(fault),
            Ok(said) if said != argument => {
                return Some(format!("{header} says {said:?}, the body {argument:?}"));
            }
            Ok(_) => {}
        }
    }
    None
}

/// Undoes `=?base64?…?=`; `None` where what is inside is not strictly base64 of text.
pub(crate) fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

//! A row of a virtual server as it is written on the command line.

use serde_json::{Map, Value, json};

/// Reads `/github:search,alias=github_search,version=v2.0.0` as the body of a mapping.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut parts = text.split(',');
    let source = parts.next().unwrap_or_default();
    let Some((server, tool)) =
        source.split_once(':').filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
    else {
        return Err(format!(
            "{source:?} names no tool of a server; write /PATH:TOOL, for example /github:search"
        ));
    };
    let mut row = Map::new();
    row.insert("tool_name".into(), tool.into());
    row.insert("backend_server_path".into(), server.into());
    let mut last: Option<&str> = None;
    for part in parts {
        let member = part.split_once('=').and_then(|(key, value)| Some((member(key)?, value)));
        match (member, last) {
            (Some((member, value)), _) => {
                row.insert(member.into(), value.into());
                last = Some(member);
            }
            // A comma inside a description.
            (None, Some("description_override")) => {
                let so_far = row["description_override"].as_str().unwrap_or_default();
                row["description_override"] = format!("{so_far},{part}").into();
            }
            (None, _) => {
                return Err(format!("{part:?} is none of alias=NAME, version=LABEL, description=TEXT"));
            }
        }
    }
    Ok(row.into())
}

/// Reads `github_search=github-write`.
pub(super) fn parse_scope(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, scope)) if !name.is_empty() && !scope.is_empty() => Ok((name.into(), scope.into())),
        _ => Err("write it as NAME=SCOPE, for example github_search=github-write".into()),
    }
}

/// Gathers the scopes of each tool, in the order the tools first came.
pub(super) fn overrides(pairs: &[(String, String)]) -> Value {
    let mut scopes: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, scope) in pairs {
        match scopes.iter_mut().find(|(known, _)| known == name) {
            Some((_, all)) => all.push(scope),
            None => scopes.push((name, vec![scope])),
        }
    }
    scopes.into_iter().map(|(name, all)| json!({ "tool_alias": name, "required_scopes": all })).collect()
}

fn member(key: &str) -> Option<&'static str> {
    match key {
        "alias" => Some("alias"),
        "version" => Some("backend_version"),
        "description" => Some("description_override"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

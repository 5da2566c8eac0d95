//! What both eras answer alike: lists, prompts, resources, completion.

use serde_json::{Value, json};

use crate::call::{Call, End};
use crate::script::Script;
use crate::tool::Tool;

/// Answers a method that needs nothing but the script; `None` for any other.
pub(crate) fn answer(script: &Script, call: &Call) -> Option<End> {
    let is_listed = |tool: &&Tool| tool.only_modern.is_none_or(|modern| modern == call.is_modern);
    let tools =
        || -> Vec<_> { script.tools.iter().filter(is_listed).map(|tool| tool.definition.clone()).collect() };
    Some(match call.method.as_str() {
        "tools/list" => list(script, call, "tools", &tools()),
        "prompts/list" => list(script, call, "prompts", &script.prompts),
        "resources/list" => list(script, call, "resources", &script.resources),
        "resources/templates/list" => list(script, call, "resourceTemplates", &script.templates),
        "prompts/get" => prompt(script, call),
        "resources/read" => read(script, call),
        "completion/complete" => complete(script, call),
        _ => return None,
    })
}

/// Answers with a page of a list.
pub(crate) fn list(script: &Script, call: &Call, member: &str, items: &[Value]) -> End {
    let size = script.page_size.unwrap_or(items.len()).max(1);
    let start = match &call.params["cursor"] {
        Value::Null => 0,
        cursor => {
            match cursor.as_str().and_then(|text| text.strip_prefix("page-")).and_then(|n| n.parse().ok()) {
                Some(page) => usize::min(page, items.len()) * size,
                None => return End::error(-32602, format!("unknown cursor {cursor}")),
            }
        }
    };
    let page: Vec<_> = items.iter().skip(start).take(size).cloned().collect();
    let mut result = json!({ member: page });
    if script.loops_cursors {
        result["nextCursor"] = json!("page-0");
    } else if start + size < items.len() {
        result["nextCursor"] = json!(format!("page-{}", start / size + 1));
    }
    End::Result(result)
}

fn prompt(script: &Script, call: &Call) -> End {
    let name = call.text("name");
    if !script.prompts.iter().any(|prompt| prompt["name"] == name) {
        return End::error(-32602, format!("unknown prompt: {name}"));
    }
    let text = format!("{} {name} {}", script.name, call.params["arguments"]);
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    End::Result(json!({ "description": format!("The {name} prompt"), "messages": [message] }))
}

fn read(script: &Script, call: &Call) -> End {
    let uri = call.text("uri");
    let matches = |template: &Value| {
        let template = template["uriTemplate"].as_str().unwrap_or_default();
        template.split_once('{').is_some_and(|(prefix, _)| uri.starts_with(prefix))
    };
    if let Some(content) = script.contents.and_then(|contents| contents(uri)) {
        return End::Result(json!({ "contents": [content] }));
    }
    let known = script.resources.iter().any(|resource| resource["uri"] == uri);
    if !known && !script.templates.iter().any(matches) {
        let code = if call.is_modern { -32602 } else { -32002 };
        let data = Some(json!({ "uri": uri }));
        return End::Error { code, message: format!("resource not found: {uri}"), data };
    }
    let text = format!("{} {uri}", script.name);
    End::Result(json!({ "contents": [{ "uri": uri, "mimeType": "text/plain", "text": text }] }))
}

fn complete(script: &Script, call: &Call) -> End {
    let value = call.params["argument"]["value"].as_str().unwrap_or_default();
    let reference = &call.params["ref"];
    let of = reference["name"].as_str().or(reference["uri"].as_str()).unwrap_or_default();
    let values = [format!("{value}-{}-{of}", script.name)];
    End::Result(json!({ "completion": { "values": values, "total": 1, "hasMore": false } }))
}

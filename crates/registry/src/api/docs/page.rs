//! The page: every operation with its parameters, bodies and answers, written on the server from the document.

use std::fmt::Write;

use serde_json::Value;

/// Deepest nesting of a shape that is written out; deeper ones name their type.
const MAX_DEPTH: usize = 8;
/// Methods in the order they are shown.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Writes the page of an OpenAPI document.
pub(super) fn render(document: &Value) -> String {
    let title = text(&document["info"]["title"]);
    let mut page = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    add(&mut page, format_args!("<title>{title} API</title>\n"));
    page += "<link rel=\"stylesheet\" href=\"docs/docs.css\">\n</head>\n<body>\n";
    let version = text(&document["info"]["version"]);
    add(&mut page, format_args!("<h1>{title} API <small>{version}</small></h1>\n"));
    for paragraph in text(&document["info"]["description"]).split("\n\n") {
        add(&mut page, format_args!("<p>{}</p>\n", code(paragraph)));
    }
    page += "<p>For programs: <a href=\"openapi.json\">openapi.json</a></p>\n<nav><ul>\n";
    let tags: Vec<&Value> = document["tags"].as_array().into_iter().flatten().collect();
    for name in tags.iter().map(|tag| text(&tag["name"])) {
        add(&mut page, format_args!("<li><a href=\"#{}\">{name}</a></li>\n", anchor(&name)));
    }
    page += "</ul></nav>\n<main>\n";
    for tag in tags {
        section(&mut page, document, tag);
    }
    page += "</main>\n</body>\n</html>\n";
    page
}

fn section(page: &mut String, document: &Value, tag: &Value) {
    let name = text(&tag["name"]);
    add(
        page,
        format_args!("<h2 id=\"{}\">{name}</h2>\n<p>{}</p>\n", anchor(&name), text(&tag["description"])),
    );
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        for method in METHODS {
            let operation = &item[method];
            let is_here = operation["tags"].as_array().is_some_and(|tags| tags.contains(&tag["name"]));
            if is_here {
                show(page, document, method, path, operation);
            }
        }
    }
}

fn show(page: &mut String, document: &Value, method: &str, path: &str, operation: &Value) {
    let (verb, summary) = (method.to_uppercase(), text(&operation["summary"]));
    let head =
        format!("<b class=\"{method}\">{verb}</b> <code>{}</code> <span>{summary}</span>", escaped(path));
    add(page, format_args!("<details><summary>{head}</summary><div>\n"));
    let about = text(&operation["description"]);
    if !about.is_empty() {
        add(page, format_args!("<p>{}</p>\n", code(&about)));
    }
    let parameters: Vec<&Value> = operation["parameters"].as_array().into_iter().flatten().collect();
    if !parameters.is_empty() {
        page.push_str("<h4>Parameters</h4>\n<table>\n");
        for one in parameters {
            let needed = if one["required"] == true { "required" } else { "" };
            let (name, place, about) = (text(&one["name"]), text(&one["in"]), text(&one["description"]));
            let row = format!(
                "<td><code>{name}</code></td><td>{place}</td><td>{needed}</td><td>{}</td>",
                code(&about)
            );
            add(page, format_args!("<tr>{row}</tr>\n"));
        }
        page.push_str("</table>\n");
    }
    for (kind, content) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        add(page, format_args!("<h4>Body, {}</h4>\n", escaped(kind)));
        content_shape(page, document, content);
    }
    page.push_str("<h4>Answers</h4>\n");
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let about = code(&text(&answer["description"]));
        add(page, format_args!("<p><code>{}</code> {about}</p>\n", escaped(status)));
        let problem = |kind: &str| kind == "application/problem+json";
        for (kind, content) in answer["content"].as_object().into_iter().flatten() {
            if !problem(kind) {
                content_shape(page, document, content);
            }
        }
    }
    page.push_str("</div></details>\n");
}

fn content_shape(page: &mut String, document: &Value, content: &Value) {
    if let Some(example) = content.get("example") {
        let example = serde_json::to_string_pretty(example).unwrap_or_default();
        add(page, format_args!("<pre>{}</pre>\n", escaped(&example)));
    }
    let mut drawn = String::new();
    shape(&mut drawn, document, &content["schema"], 0);
    add(page, format_args!("<pre>{}</pre>\n", escaped(&drawn)));
}

/// Draws a schema as JSON with types in place of values and descriptions behind `//`.
fn shape(out: &mut String, document: &Value, schema: &Value, depth: usize) {
    if let Some(name) = schema["$ref"].as_str() {
        let target = name.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
        return match target {
            Some(target) if depth < MAX_DEPTH => shape(out, document, target, depth),
            _ => out.push_str(name.rsplit('/').next().unwrap_or(name)),
        };
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let mut members = Vec::new();
        for part in parts {
            collect(&mut members, document, part);
        }
        return object(out, document, &members, depth);
    }
    if let Some(options) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        for (index, option) in options.iter().enumerate() {
            if index > 0 {
                out.push_str(" | ");
            }
            shape(out, document, option, depth);
        }
        return;
    }
    if schema["properties"].is_object() {
        let mut members = Vec::new();
        collect(&mut members, document, schema);
        return object(out, document, &members, depth);
    }
    if schema["items"].is_object() {
        out.push('[');
        shape(out, document, &schema["items"], depth + 1);
        return out.push(']');
    }
    out.push_str(&kinds(schema));
}

/// Adds an object's members: name, schema, whether required.
fn collect<'a>(members: &mut Vec<(&'a str, &'a Value, bool)>, document: &'a Value, schema: &'a Value) {
    let pointer = schema["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
    let schema = pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema);
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    for (name, one) in schema["properties"].as_object().into_iter().flatten() {
        members.push((name, one, required.iter().any(|other| other == name)));
    }
}

fn object(out: &mut String, document: &Value, members: &[(&str, &Value, bool)], depth: usize) {
    let indent = "  ".repeat(depth + 1);
    out.push_str("{\n");
    for (name, schema, required) in members {
        let mark = if *required { "" } else { "?" };
        add(out, format_args!("{indent}\"{name}\"{mark}: "));
        shape(out, document, schema, depth + 1);
        match schema["description"].as_str() {
            Some(about) => add(out, format_args!(",  // {}\n", about.replace('\n', " "))),
            None => out.push_str(",\n"),
        }
    }
    add(out, format_args!("{}}}", "  ".repeat(depth)));
}

fn kinds(schema: &Value) -> String {
    match &schema["type"] {
        Value::String(one) => one.clone(),
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        _ => "any".into(),
    }
}

fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a String takes everything");
}

/// Returns a member's text, safe within HTML.
fn text(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Turns pairs of backticks in escaped text into code.
fn code(escaped: &str) -> String {
    let mut out = String::new();
    for (index, part) in escaped.split('`').enumerate() {
        match index % 2 {
            0 => out.push_str(part),
            _ => add(&mut out, format_args!("<code>{part}</code>")),
        }
    }
    out
}

fn anchor(name: &str) -> String {
    name.replace(' ', "-")
}

#[cfg(test)]
mod tests;

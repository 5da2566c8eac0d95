//! Answers: what the modern era adds to a result, and what the legacy eras do not know.

use bytes::Bytes;

use super::object::Rebuilt;
use super::tool;
use crate::error::code;
use crate::message::{Outline, Span, elements, member, quote};
use crate::method::Method;
use crate::rewrite::{Edit, splice};

/// Hints of a modern list or read answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caching {
    /// How long the answer may be kept.
    pub ttl_ms: u32,
    /// Whether it depends on who asked.
    pub is_private: bool,
}

/// Turns a legacy answer into one for a modern client: `resultType` and hints where they are absent, tools
/// it cannot run left out, "not found" under its new code. What cannot be read comes back as it was.
pub fn answer_to_modern(
    answer: &Bytes,
    method: Method,
    caching: Option<&Caching>,
    uri: Option<&str>,
) -> Bytes {
    let Ok(outline) = Outline::read(answer) else { return answer.clone() };
    if let Some(error) = outline.error {
        return recoded(answer, error, code::RESOURCE_NOT_FOUND, code::INVALID_PARAMS, uri);
    }
    let Some(at) = outline.result else { return answer.clone() };
    let Some(mut result) = Rebuilt::of(at.of(answer)) else { return answer.clone() };
    if method == Method::ToolsList
        && let Some(tools) = cleaned_tools(at.of(answer), tool::for_modern)
    {
        result = result.with("tools", &tools);
    }
    result = result.with_default("resultType", br#""complete""#);
    if let Some(caching) = caching {
        let scope: &[u8] = if caching.is_private { br#""private""# } else { br#""public""# };
        result = result
            .with_default("ttlMs", caching.ttl_ms.to_string().as_bytes())
            .with_default("cacheScope", scope);
    }
    splice(answer, &mut [Edit { at, with: result.written().into() }])
}

/// Turns a modern answer into one for a legacy client. What cannot be read comes back as it was.
pub fn answer_to_legacy(answer: &Bytes, method: Method) -> Bytes {
    let Ok(outline) = Outline::read(answer) else { return answer.clone() };
    if let Some(error) = outline.error {
        let has_uri = member(error.of(answer), "data").is_some_and(|data| {
            let data = data.shifted(error.start).of(answer);
            member(data, "uri").is_some()
        });
        let is_read = method == Method::ResourcesRead && has_uri;
        return if is_read {
            recoded(answer, error, code::INVALID_PARAMS, code::RESOURCE_NOT_FOUND, None)
        } else {
            answer.clone()
        };
    }
    let Some(at) = outline.result else { return answer.clone() };
    let raw = at.of(answer);
    let Some(mut result) = Rebuilt::of(raw) else { return answer.clone() };
    result = result.without(|name| matches!(name, "resultType" | "ttlMs" | "cacheScope"));
    match method {
        Method::ToolsList => {
            if let Some(tools) = cleaned_tools(raw, tool::for_legacy) {
                result = result.with("tools", &tools);
            }
        }
        Method::ToolsCall => result = with_object_structure(result, raw),
        _ => {}
    }
    splice(answer, &mut [Edit { at, with: result.written().into() }])
}

/// Legacy revisions want `structuredContent` to be an object: any other value moves to a text item.
fn with_object_structure(result: Rebuilt, raw: &[u8]) -> Rebuilt {
    let Some(structured) = member(raw, "structuredContent").map(|span| span.of(raw)) else { return result };
    if structured.starts_with(b"{") {
        return result;
    }
    let content = member(raw, "content").map(|span| span.of(raw));
    let mut items: Vec<&[u8]> = Vec::new();
    if let Some(content) = content {
        items = elements(content).unwrap_or_default().into_iter().map(|span| span.of(content)).collect();
    }
    let text = format!(r#"{{"type":"text","text":{}}}"#, quote(&String::from_utf8_lossy(structured)));
    items.push(text.as_bytes());
    result.without(|name| name == "structuredContent").with("content", &array(&items))
}

/// Applies a rule to each tool of a list; `None` where there is no list to apply it to.
fn cleaned_tools<'a>(
    result: &'a [u8],
    rule: impl Fn(&'a str) -> Option<std::borrow::Cow<'a, str>>,
) -> Option<Vec<u8>> {
    let list = member(result, "tools")?.of(result);
    let tools = elements(list)?.into_iter().filter_map(|span| std::str::from_utf8(span.of(list)).ok());
    let kept: Vec<_> = tools.filter_map(rule).collect();
    Some(array(&kept.iter().map(|tool| tool.as_bytes()).collect::<Vec<_>>()))
}

fn array(items: &[&[u8]]) -> Vec<u8> {
    [b"[", items.join(&b","[..]).as_slice(), b"]"].concat()
}

/// Gives an error of one code another, with the URI it is about where it names none.
fn recoded(answer: &Bytes, error: Span, from: i32, to: i32, uri: Option<&str>) -> Bytes {
    let raw = error.of(answer);
    let is_it = member(raw, "code").is_some_and(|span| span.of(raw) == from.to_string().as_bytes());
    let Some(rebuilt) = Rebuilt::of(raw).filter(|_| is_it) else { return answer.clone() };
    let mut rebuilt = rebuilt.with("code", to.to_string().as_bytes());
    if let Some(uri) = uri {
        let data =
            member(raw, "data").and_then(|span| Rebuilt::of(span.of(raw))).unwrap_or_else(Rebuilt::empty);
        rebuilt = rebuilt.with("data", &data.with_default("uri", quote(uri).as_bytes()).written());
    }
    splice(answer, &mut [Edit { at: error, with: rebuilt.written().into() }])
}

//! Subscriptions of 2026-07-28: the filter a client asks with, and the messages of the stream it gets.
//!
//! Source: specification 2026-07-28, basic/patterns/subscriptions.

use std::collections::HashSet;

use bytes::Bytes;

use crate::bridge::{Dress, object::Rebuilt, to_modern};
use crate::error::result_body;
use crate::message::{Outline, elements, member, quote, text};
use crate::method::Method;
use crate::rewrite::{Edit, splice};

/// The key of `_meta` that says to which subscription a message belongs.
const ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The method of the first message on a stream.
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// Which notifications are wanted. On the wire:
/// `{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Changes of the list of tools.
    pub tools: bool,
    /// Changes of the list of prompts.
    pub prompts: bool,
    /// Changes of the lists of resources and of their templates.
    pub resources: bool,
    /// Updates of these resources, each once.
    pub uris: Vec<Box<str>>,
}

impl Filter {
    /// Reads `notifications` out of `params`, of a request or an acknowledgment; `None` where it is no such object.
    pub fn read(params: &[u8]) -> Option<Filter> {
        let raw = member(params, "notifications")?.of(params);
        if !raw.starts_with(b"{") {
            return None;
        }
        let is_on = |key| member(raw, key).is_some_and(|value| value.of(raw) == b"true");
        let uris = match member(raw, "resourceSubscriptions").map(|list| list.of(raw)) {
            None | Some(b"null") => Vec::new(),
            Some(list) => {
                let uri = |span: crate::message::Span| Some(Box::from(text(span.of(list))?));
                elements(list)?.into_iter().map(uri).collect::<Option<Vec<Box<str>>>>()?
            }
        };
        let mut seen = HashSet::new();
        let uris = uris.into_iter().filter(|uri| seen.insert(uri.clone())).collect();
        let (tools, prompts) = (is_on("toolsListChanged"), is_on("promptsListChanged"));
        Some(Filter { tools, prompts, resources: is_on("resourcesListChanged"), uris })
    }

    /// Writes the object, without what is not wanted.
    pub fn written(&self) -> String {
        let switches = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        let on = switches.iter().filter(|(_, is_on)| *is_on).map(|(key, _)| format!("\"{key}\":true"));
        let mut members: Vec<String> = on.collect();
        if !self.uris.is_empty() {
            let uris: Vec<String> = self.uris.iter().map(|uri| quote(uri)).collect();
            members.push(format!("\"resourceSubscriptions\":[{}]", uris.join(",")));
        }
        format!("{{{}}}", members.join(","))
    }

    /// Says whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Says whether a notification is one of those wanted.
    pub fn wants(&self, message: &[u8], outline: &Outline) -> bool {
        match outline.method {
            Method::ToolsListChanged => self.tools,
            Method::PromptsListChanged => self.prompts,
            Method::ResourcesListChanged => self.resources,
            Method::ResourceUpdated => outline
                .uri
                .and_then(|uri| text(uri.of(message)))
                .is_some_and(|uri| self.uris.iter().any(|wanted| is_within(&uri, wanted))),
            _ => false,
        }
    }

    /// Returns the notifications that say of each wanted list that it changed.
    pub fn changes(&self) -> impl Iterator<Item = Bytes> {
        let lists = [
            (self.tools, Method::ToolsListChanged),
            (self.prompts, Method::PromptsListChanged),
            (self.resources, Method::ResourcesListChanged),
        ];
        lists.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, method)| list_changed(method))
    }
}

/// Says whether a resource is the one subscribed to or a part of it, of which the same updates tell.
fn is_within(uri: &str, subscribed: &str) -> bool {
    let rest = uri.strip_prefix(subscribed);
    rest.is_some_and(|rest| rest.is_empty() || subscribed.ends_with('/') || rest.starts_with(['/', '#', '?']))
}

/// Makes a notification without parameters.
pub fn list_changed(method: Method) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","method":"{}"}}"#, method.as_str()).into()
}

/// Makes the first message of the stream of the request with this raw id: what of its filter is honoured.
pub fn acknowledgment(id: &[u8], filter: &Filter) -> Bytes {
    let params = format!(r#"{{"notifications":{}}}"#, filter.written());
    let message = format!(r#"{{"jsonrpc":"2.0","method":"{ACKNOWLEDGED}","params":{params}}}"#);
    let message = Bytes::from(message);
    Outline::read(&message).map_or(message.clone(), |outline| tagged(&message, &outline, id))
}

/// Says whether a message is such a first one.
pub fn is_acknowledgment(message: &[u8], outline: &Outline) -> bool {
    outline.method_name.and_then(|name| text(name.of(message))).as_deref() == Some(ACKNOWLEDGED)
}

/// Makes the answer that ends a stream in good order.
pub fn end(id: &[u8]) -> Bytes {
    let id_text = String::from_utf8_lossy(id);
    result_body(id, format!(r#"{{"resultType":"complete","_meta":{{"{ID}":{id_text}}}}}"#).as_bytes())
}

/// Says in a notification to which subscription it belongs.
pub fn tagged(message: &Bytes, outline: &Outline, id: &[u8]) -> Bytes {
    let old = outline.meta.and_then(|span| Rebuilt::of(span.of(message))).unwrap_or_else(Rebuilt::empty);
    let meta = old.with(ID, id).written();
    let params = outline.params.and_then(|span| Rebuilt::of(span.of(message)));
    match (outline.meta, outline.params, params) {
        (Some(at), ..) => splice(message, &mut [Edit { at, with: meta.into() }]),
        (None, Some(at), Some(params)) => {
            let with = params.with("_meta", &meta).written();
            splice(message, &mut [Edit { at, with: with.into() }])
        }
        _ => {
            let Some(envelope) = Rebuilt::of(message) else { return message.clone() };
            let params = [br#"{"_meta":"#, meta.as_slice(), b"}"].concat();
            envelope.with("params", &params).written().into()
        }
    }
}

/// Makes a `subscriptions/listen` of our own, under this raw id.
pub fn listen(id: &str, filter: &Filter, dress: &Dress<'_>) -> Bytes {
    let (method, filter) = (Method::Listen.as_str(), filter.written());
    let params = format!(r#"{{"notifications":{filter}}}"#);
    let message =
        Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
    Outline::read(&message).map_or(message.clone(), |outline| to_modern(&message, &outline, dress))
}

#[cfg(test)]
mod tests;

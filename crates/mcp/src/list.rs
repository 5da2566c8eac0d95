//! The results of list methods: items as byte ranges, and an item under another name.

use bytes::Bytes;

use crate::message::{Span, members, pick, quote, rows, text};
use crate::method::Method;
use crate::rewrite::{Edit, splice};

/// What a list method lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

/// A list result taken apart. Spans index into the result object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The items in their order.
    pub items: Vec<Entry>,
    /// The raw string `nextCursor`, where there is a next page.
    pub next_cursor: Option<Span>,
}

/// One item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The whole item.
    pub json: Span,
    /// The raw string it is called by, with quotes; absent where the item has no such string, or two.
    pub key: Option<Span>,
    /// The raw value of its description.
    pub description: Option<Span>,
}

impl ListKind {
    /// All four, in the order in which they are asked for.
    pub const ALL: [ListKind; 4] =
        [ListKind::Tools, ListKind::Prompts, ListKind::Resources, ListKind::Templates];

    /// Returns the member of the result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            ListKind::Tools => "tools",
            ListKind::Prompts => "prompts",
            ListKind::Resources => "resources",
            ListKind::Templates => "resourceTemplates",
        }
    }

    /// Returns the member of an item that it is called by.
    pub fn key(self) -> &'static str {
        match self {
            ListKind::Tools | ListKind::Prompts => "name",
            ListKind::Resources => "uri",
            ListKind::Templates => "uriTemplate",
        }
    }

    /// Returns the method that lists.
    pub fn method(self) -> Method {
        match self {
            ListKind::Tools => Method::ToolsList,
            ListKind::Prompts => Method::PromptsList,
            ListKind::Resources => Method::ResourcesList,
            ListKind::Templates => Method::TemplatesList,
        }
    }
}

/// Takes a list result apart; `None` where it is not an object that holds one array of that kind.
///
/// Items of a wrong shape stay in the list, without a key.
pub fn read(result: &[u8], kind: ListKind) -> Option<Listed> {
    let [list, next_cursor] = pick(result, [kind.member(), "nextCursor"])?;
    let list = list?;
    let entry = |(json, [key, description]): (Span, [Option<Span>; 2])| {
        let shifted = |span: Span| span.shifted(list.start);
        let key = key.map(shifted).filter(|key| is_string(*key, result));
        Entry { json: shifted(json), key, description: description.map(shifted) }
    };
    let items = rows(list.of(result), [kind.key(), "description"])?.into_iter().map(entry).collect();
    Some(Listed { items, next_cursor: next_cursor.filter(|cursor| is_string(*cursor, result)) })
}

/// Returns an item's JSON with its name or description replaced, everything else byte for byte.
///
/// A member that is absent is inserted at the front. What is not an object comes back as it was.
pub fn renamed(item: &str, name: Option<&str>, description: Option<&str>) -> String {
    let Some(members) = members(item.as_bytes()) else { return item.to_owned() };
    let mut edits = Vec::new();
    let mut front = String::new();
    for (key, new) in [("name", name), ("description", description)] {
        let Some(new) = new.map(quote) else { continue };
        let old = members.iter().filter(|(found, _)| text(found.of(item.as_bytes())).as_deref() == Some(key));
        let before = edits.len();
        edits.extend(old.map(|(_, value)| Edit { at: *value, with: Bytes::from(new.clone()) }));
        if edits.len() == before {
            front.push_str(if front.is_empty() { "" } else { "," });
            front.push_str(&format!("\"{key}\":{new}"));
        }
    }
    if !front.is_empty() {
        front.push_str(if members.is_empty() { "" } else { "," });
        let inside = item.find('{').map_or(0, |brace| brace as u32 + 1);
        edits.push(Edit { at: Span { start: inside, end: inside }, with: front.into() });
    }
    let spliced = splice(&Bytes::copy_from_slice(item.as_bytes()), &mut edits);
    String::from_utf8(spliced.into()).expect("text spliced into text at the ends of values")
}

fn is_string(span: Span, json: &[u8]) -> bool {
    span.of(json).first() == Some(&b'"')
}

#[cfg(test)]
mod tests;

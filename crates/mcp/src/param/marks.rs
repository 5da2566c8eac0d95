//! Reading the marks of a tool's schema, and refusing those that no header can be made for.

use http::HeaderName;

use super::{Mark, PREFIX};
use crate::message::{MAX_DEPTH, elements, members, quote, text};

/// The member of a schema that marks an argument.
const KEYWORD: &str = "x-mcp-header";

/// Most marks of one tool: each is a header of every call, and many servers take a hundred headers at most.
pub const MAX_MARKS: usize = 64;

/// Why a tool's marks cannot be honoured, so that clients must not use the tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The mark is no text, or one that cannot be part of a header's name.
    #[error("x-mcp-header of {place} is {value}, which cannot name a header")]
    Name {
        /// The path of the parameter.
        place: String,
        /// What stands there.
        value: String,
    },
    /// The parameter is of a type that has no spelling in a header.
    #[error("x-mcp-header of {0} is on something other than a string, an integer or a boolean")]
    Type(String),
    /// Two marks name the same header.
    #[error("x-mcp-header of {place} names the header {header} a second time")]
    Repeated {
        /// The path of the second parameter.
        place: String,
        /// The header.
        header: HeaderName,
    },
    /// The mark stands where no argument is sure to be: in items, in alternatives, behind a reference.
    #[error("x-mcp-header stands in {0}, which no chain of properties leads to")]
    Place(String),
    /// There are more than `MAX_MARKS`.
    #[error("x-mcp-header stands on more than 64 parameters")]
    TooMany,
    /// The schema cannot be read, or nests deeper than `MAX_DEPTH`.
    #[error("its input schema cannot be read")]
    Unreadable,
}

/// Reads the marks of an `inputSchema`, in the order in which they stand there.
///
/// Values of words that hold no schemas (`default`, `examples`, words we do not know) are not looked at.
pub fn marks(schema: &[u8]) -> Result<Vec<Mark>, Unfit> {
    if !may_have_marks(schema) {
        return Ok(Vec::new());
    }
    let mut walk = Walk { found: Vec::new(), path: Vec::new() };
    walk.schema(schema, Reach::Root, 0)?;
    Ok(walk.found)
}

/// Tells most schemas apart without taking them to pieces. An escape may hide the word.
fn may_have_marks(schema: &[u8]) -> bool {
    let holds = |needle: &[u8]| memchr::memmem::find(schema, needle).is_some();
    holds(KEYWORD.as_bytes()) || holds(b"\\u")
}

/// How a schema is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It is the whole.
    Root,
    /// Through `properties` alone, so that its argument has one place.
    Properties,
    /// In any other way.
    Otherwise,
}

struct Walk {
    found: Vec<Mark>,
    path: Vec<Box<str>>,
}

impl Walk {
    fn schema(&mut self, schema: &[u8], reach: Reach, depth: usize) -> Result<(), Unfit> {
        if depth > MAX_DEPTH {
            return Err(Unfit::Unreadable);
        }
        // `true` and `false` are schemas, too.
        if !schema.starts_with(b"{") {
            return Ok(());
        }
        let members = members(schema).ok_or(Unfit::Unreadable)?;
        let members =
            members.iter().filter_map(|(key, value)| Some((text(key.of(schema))?, value.of(schema))));
        let members: Vec<_> = members.collect();
        for (word, value) in &members {
            match &**word {
                KEYWORD if reach == Reach::Properties => {
                    let types = members.iter().filter(|(word, _)| word == "type").map(|(_, value)| *value);
                    self.mark(value, types)?;
                }
                KEYWORD => return Err(Unfit::Place(self.place())),
                "properties" => {
                    let inner = if reach == Reach::Otherwise { reach } else { Reach::Properties };
                    self.named(value, inner, depth)?;
                }
                "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies" => {
                    self.named(value, Reach::Otherwise, depth)?;
                }
                "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "prefixItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "allOf"
                | "anyOf"
                | "oneOf"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contentSchema" => self.inner(value, depth)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// An object whose members are schemas under names of the author's.
    fn named(&mut self, object: &[u8], reach: Reach, depth: usize) -> Result<(), Unfit> {
        for (key, value) in members(object).unwrap_or_default() {
            let Some(name) = text(key.of(object)) else { continue };
            self.path.push(name.into());
            self.schema(value.of(object), reach, depth + 1)?;
            self.path.pop();
        }
        Ok(())
    }

    /// A schema, or an array of schemas, that no chain of properties leads to.
    fn inner(&mut self, value: &[u8], depth: usize) -> Result<(), Unfit> {
        if !value.starts_with(b"[") {
            return self.schema(value, Reach::Otherwise, depth + 1);
        }
        for element in elements(value).unwrap_or_default() {
            self.schema(element.of(value), Reach::Otherwise, depth + 1)?;
        }
        Ok(())
    }

    fn mark<'a>(&mut self, value: &[u8], types: impl Iterator<Item = &'a [u8]>) -> Result<(), Unfit> {
        let unnamed =
            || Unfit::Name { place: self.place(), value: String::from_utf8_lossy(value).into_owned() };
        let name = text(value).filter(|name| is_token(name)).ok_or_else(unnamed)?;
        let header = HeaderName::from_bytes(format!("{PREFIX}{name}").as_bytes()).map_err(|_| unnamed())?;
        let mut types = types.peekable();
        if types.peek().is_none() || !types.all(is_mirrored_type) {
            return Err(Unfit::Type(self.place()));
        }
        if self.found.iter().any(|mark| mark.header == header) {
            return Err(Unfit::Repeated { place: self.place(), header });
        }
        if self.found.len() == MAX_MARKS {
            return Err(Unfit::TooMany);
        }
        self.found.push(Mark { header, path: self.path.clone().into() });
        Ok(())
    }

    fn place(&self) -> String {
        match self.path[..] {
            [] => "the schema itself".into(),
            _ => quote(&self.path.join(".")),
        }
    }
}

/// A name of headers (RFC 9110, section 5.6.2).
fn is_token(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

/// A string, an integer or a boolean; each may be null as well, which no header is sent for.
fn is_mirrored_type(value: &[u8]) -> bool {
    let is_one = |raw: &[u8]| matches!(text(raw).as_deref(), Some("string" | "integer" | "boolean"));
    if !value.starts_with(b"[") {
        return is_one(value);
    }
    let types = elements(value).unwrap_or_default();
    let (null, others): (Vec<_>, Vec<_>) =
        types.iter().map(|span| span.of(value)).partition(|raw| text(raw).as_deref() == Some("null"));
    null.len() <= 1 && matches!(others[..], [one] if is_one(one))
}

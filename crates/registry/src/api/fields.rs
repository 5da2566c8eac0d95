//! Reads the members of a body one by one, from JSON or a form, so that every bad one is named at once.

use std::collections::HashSet;

use axum::extract::{FromRequest, Request};
use catalog::error::Invalid;
use catalog::prose;
use http::{StatusCode, header};
use serde_json::{Map, Value};

use super::error::Problem;
use super::extract::body;
use super::unique;

/// Most characters of a member's name that an answer repeats.
const MAX_SHOWN_CHARS: usize = 64;
/// What is said of a form that has a field twice which is no list.
const GIVEN_TWICE: &str = "is given more than once";

/// The members of a body that were not read yet, and what was wrong with those that were.
pub(crate) struct Fields {
    members: Map<String, Value>,
    /// Forms write everything as text, and leave empty what they do not mean.
    is_form: bool,
    faults: Vec<Invalid>,
}

impl Fields {
    /// Takes a text of one line. `null` counts as absent.
    pub(crate) fn text(&mut self, name: &str, max_bytes: usize) -> Option<String> {
        self.nullable_text(name, max_bytes).flatten()
    }

    /// Takes a description. `null` counts as absent.
    pub(crate) fn prose(&mut self, name: &str) -> Option<String> {
        let text = self.any_text(name, prose::MAX_PROSE_BYTES).flatten()?;
        self.checked(prose::check_prose(name, &text))?;
        Some(text)
    }

    /// Takes a text of one line that `null` clears: `Some(None)`. Outer blanks and line ends go.
    pub(crate) fn nullable_text(&mut self, name: &str, max_bytes: usize) -> Option<Option<String>> {
        let Some(text) = self.any_text(name, max_bytes)? else { return Some(None) };
        self.checked(prose::check_line(name, text.trim()))?;
        Some(Some(text.trim().to_owned()))
    }

    fn any_text(&mut self, name: &str, max_bytes: usize) -> Option<Option<String>> {
        match self.take(name)? {
            Value::Null => Some(None),
            Value::String(text) if text.len() > max_bytes => {
                self.fault(name, format!("is longer than {max_bytes} bytes"));
                None
            }
            Value::String(text) => Some(Some(text)),
            Value::Array(_) if self.is_form => {
                self.fault(name, GIVEN_TWICE);
                None
            }
            _ => {
                self.fault(name, "must be a text");
                None
            }
        }
    }

    /// Takes a flag: `true`, `false`, or in a form also `on`, `off`, `1`, `0`, `yes`, `no`.
    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        let flag = match self.take(name)? {
            Value::Null => return None,
            Value::Array(_) if self.is_form => {
                self.fault(name, GIVEN_TWICE);
                return None;
            }
            Value::Bool(flag) => Some(flag),
            Value::String(text) if self.is_form => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "on" | "1" | "yes" => Some(true),
                "false" | "off" | "0" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        };
        if flag.is_none() {
            self.fault(name, "must be true or false");
        }
        flag
    }

    /// Takes a list of words: a list of texts, or one text with commas. Blanks around words and empty words go.
    pub(crate) fn words(&mut self, name: &str, max_words: usize, max_bytes: usize) -> Option<Vec<String>> {
        let given = match self.take(name)? {
            Value::Null => return None,
            Value::String(text) => split(&text),
            Value::Array(values) if values.len() > max_words => {
                self.fault(name, format!("has more than {max_words} entries"));
                return None;
            }
            Value::Array(values) => {
                let texts: Option<Vec<_>> = values.iter().map(Value::as_str).collect();
                match texts {
                    Some(texts) if self.is_form => texts.into_iter().flat_map(split).collect(),
                    Some(texts) => texts.into_iter().map(|text| text.trim().to_owned()).collect(),
                    None => {
                        self.fault(name, "must be a list of texts");
                        return None;
                    }
                }
            }
            _ => {
                self.fault(name, "must be a list of texts");
                return None;
            }
        };
        match read_words(name, given, max_words, max_bytes) {
            Ok(words) => Some(words),
            Err(fault) => {
                self.faults.push(fault);
                None
            }
        }
    }

    /// Takes a member as it is. In a form it may be JSON written as text.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        match self.take(name)? {
            Value::Null => None,
            Value::Array(_) if self.is_form => {
                self.fault(name, GIVEN_TWICE);
                None
            }
            Value::String(text) if self.is_form => match serde_json::from_str(&text) {
                Ok(value) => Some(value),
                Err(_) => {
                    self.fault(name, "must be JSON");
                    None
                }
            },
            value => Some(value),
        }
    }

    /// Keeps the value of a check, or notes its fault.
    pub(crate) fn checked<T>(&mut self, result: Result<T, Invalid>) -> Option<T> {
        result.map_err(|fault| self.faults.push(fault)).ok()
    }

    /// Notes a fault.
    pub(crate) fn fault(&mut self, name: &str, reason: impl Into<String>) {
        self.faults.push(Invalid::new(name, reason));
    }

    /// Notes each member that nobody read: of an edit, it would have been ignored silently.
    pub(crate) fn refuse_rest(&mut self) {
        for (name, _) in std::mem::take(&mut self.members) {
            self.fault(&name, "is unknown here or cannot be changed");
        }
    }

    /// Returns the names of members that nobody read, but those that may be there for others. At most `most`, each
    /// cut to a readable length.
    pub(crate) fn unread(&mut self, for_others: &[&str], most: usize) -> Vec<String> {
        let names = std::mem::take(&mut self.members).into_iter().map(|(name, _)| name);
        let unread = names.filter(|name| !for_others.contains(&name.as_str())).take(most);
        unread.map(|name| name.chars().take(MAX_SHOWN_CHARS).collect()).collect()
    }

    /// Returns what was wrong.
    pub(crate) fn into_faults(self) -> Vec<Invalid> {
        self.faults
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let value = self.members.shift_remove(name)?;
        let is_blank = self.is_form && value.as_str().is_some_and(|text| text.trim().is_empty());
        (!is_blank).then_some(value)
    }
}

/// Checks words: how many there are before anything else is done with them, then each. Empty ones and repetitions go.
pub(crate) fn read_words(
    field: &str,
    given: Vec<String>,
    max_words: usize,
    max_bytes: usize,
) -> Result<Vec<String>, Invalid> {
    if given.len() > max_words {
        return Err(Invalid::new(field, format!("has more than {max_words} entries")));
    }
    let mut seen = HashSet::with_capacity(given.len());
    let mut words = Vec::with_capacity(given.len());
    for word in given.into_iter().filter(|word| !word.is_empty()) {
        if word.len() > max_bytes {
            return Err(Invalid::new(field, format!("an entry is longer than {max_bytes} bytes")));
        }
        prose::check_line(field, &word)?;
        if seen.insert(word.clone()) {
            words.push(word);
        }
    }
    Ok(words)
}

fn split(text: &str) -> Vec<String> {
    text.split(',').map(|word| word.trim().to_owned()).collect()
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind =
            request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
        let kind = kind.trim_start().to_ascii_lowercase();
        let is_form = kind.starts_with("application/x-www-form-urlencoded");
        let is_json = mcp::headers::is_json(request.headers());
        let body = body(request, state).await?;
        if is_form {
            check_charset(&kind)?;
            return Ok(Self { members: read_form(&body)?, is_form, faults: Vec::new() });
        }
        if !is_json {
            let detail = "the body must be application/json or application/x-www-form-urlencoded";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        match serde_json::from_slice(&body) {
            Ok(Value::Object(members)) => {
                unique::check(&body)?;
                Ok(Self { members, is_form, faults: Vec::new() })
            }
            Ok(_) => Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "the body must be a JSON object")),
            Err(error) => {
                Err(Problem::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {error}")))
            }
        }
    }
}

/// Refuses a form in another charset than UTF-8.
fn check_charset(kind: &str) -> Result<(), Problem> {
    let charset = kind.split(';').filter_map(|part| part.trim().strip_prefix("charset=")).next();
    match charset.map(|charset| charset.trim_matches('"')) {
        None | Some("utf-8" | "utf8") => Ok(()),
        Some(_) => Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a form must be UTF-8")),
    }
}

/// Undoes the percent encoding of a whole form, to see what it holds.
fn unescaped(body: &[u8]) -> Vec<u8> {
    let digit = |at: usize| body.get(at).and_then(|b| char::from(*b).to_digit(16));
    let (mut bytes, mut at) = (Vec::with_capacity(body.len()), 0);
    while at < body.len() {
        match (body[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                bytes.extend(u8::try_from(high << 4 | low));
                at += 3;
            }
            (byte, ..) => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    bytes
}

/// Reads a form; a name that comes several times becomes a list.
fn read_form(body: &[u8]) -> Result<Map<String, Value>, Problem> {
    if std::str::from_utf8(&unescaped(body)).is_err() {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "the form is not UTF-8"));
    }
    let mut members = Map::new();
    for (name, text) in url::form_urlencoded::parse(body) {
        let text = Value::String(text.into_owned());
        match members.get_mut(&*name) {
            None => {
                members.insert(name.into_owned(), text);
            }
            Some(Value::Array(texts)) => texts.push(text),
            Some(first) => *first = Value::Array(vec![first.take(), text]),
        }
    }
    Ok(members)
}

//! Checked names: a value of these types has passed its rule, so nobody checks it twice.

use std::fmt;
use std::sync::Arc;

use crate::invalid::Invalid;

/// Longest server path, in bytes.
pub const MAX_PATH_BYTES: usize = 256;
/// Longest version label, in bytes.
pub const MAX_LABEL_BYTES: usize = 64;
/// Longest exposed name, in bytes (MCP 2025-11-25, tool names).
pub const MAX_NAME_BYTES: usize = 128;
/// Names longer than this are refused by several widely used clients, so we warn.
pub const WARN_NAME_BYTES: usize = 64;
/// Longest slug of a virtual server, in bytes; it is one segment of a URL.
pub const MAX_SLUG_BYTES: usize = 128;
/// Longest scope or group name, in bytes.
pub const MAX_SCOPE_BYTES: usize = 256;

/// First segments that belong to the gateway itself.
pub const RESERVED_ROOTS: [&str; 12] = [
    "api",
    "virtual",
    "ui",
    "assets",
    "healthz",
    "readyz",
    "metrics",
    ".well-known",
    "login",
    "logout",
    "v0",
    "register",
];

/// Words that follow a server path in the REST API and so cannot be a later segment of one.
pub const RESERVED_TAILS: [&str; 9] =
    ["versions", "tools", "toggle", "refresh", "split", "rate", "rating", "preview", "mcp"];

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name_type! {
    /// Path of a server: `/` and segments of `[a-z0-9._-]`, for example `/context7` or `/team/github`.
    ServerPath
}
name_type! {
    /// Label of a version: 1 to 64 of `[A-Za-z0-9._+-]`, not `latest`.
    VersionLabel
}
name_type! {
    /// Slug of a virtual server: lower-case letters, digits, single hyphens.
    Slug
}
name_type! {
    /// Name under which a client sees a tool or prompt: 1 to 128 of `[A-Za-z0-9_.-]`.
    ToolName
}

impl ServerPath {
    /// Checks and lower-cases a path. A missing leading slash and a trailing one are forgiven.
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let invalid = |reason: String| Invalid::new(field, reason);
        let lower = text.trim().to_ascii_lowercase();
        let inner = lower.strip_prefix('/').unwrap_or(&lower);
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        if inner.is_empty() {
            return Err(invalid("is required, for example /context7".into()));
        }
        if inner.len() + 1 > MAX_PATH_BYTES {
            return Err(invalid(format!("is longer than {MAX_PATH_BYTES} characters")));
        }
        for (index, segment) in inner.split('/').enumerate() {
            if segment.is_empty() || segment == "." || segment == ".." {
                return Err(invalid(format!("{text:?} has an empty, `.` or `..` segment")));
            }
            if !segment.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-')) {
                let allowed = "use letters, digits, `.`, `_`, `-`";
                return Err(invalid(format!("segment {segment:?} has other characters; {allowed}")));
            }
            if index == 0 && RESERVED_ROOTS.contains(&segment) {
                return Err(invalid(format!("/{segment} belongs to the gateway; choose another path")));
            }
            if index > 0 && RESERVED_TAILS.contains(&segment) {
                return Err(invalid(format!(
                    "the segment {segment:?} has a meaning of its own behind a path"
                )));
            }
        }
        Ok(Self(format!("/{inner}").into()))
    }

    /// Returns the path without its leading slash, the original's `version_group`.
    pub fn group(&self) -> &str {
        &self.0[1..]
    }
}

impl VersionLabel {
    /// The label of a registration that names none.
    pub fn first() -> Self {
        Self("v1.0.0".into())
    }

    /// Checks a label. Outer blanks are ignored, case counts.
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let fits = |b: u8| matches!(b, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'+' | b'-');
        if text.is_empty() || text.len() > MAX_LABEL_BYTES || !text.bytes().all(fits) {
            let rule = format!("must be 1 to {MAX_LABEL_BYTES} of letters, digits, `.`, `_`, `+`, `-`");
            return Err(Invalid::new(field, format!("{text:?} {rule}")));
        }
        if matches!(text, "." | "..") {
            return Err(Invalid::new(field, format!("{text:?} has a meaning of its own in URLs")));
        }
        if text == "latest" {
            return Err(Invalid::new(
                field,
                "`latest` always means the active version and cannot be a label",
            ));
        }
        if text == "default" {
            return Err(Invalid::new(field, "`default` names the switch in the API and cannot be a label"));
        }
        Ok(Self(text.into()))
    }
}

impl Slug {
    /// Checks a slug. Takes `dev-tools` and `/virtual/dev-tools` alike.
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let inner = text.strip_prefix("/virtual/").unwrap_or(text).trim_matches('/');
        let fits = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let hyphens = inner.starts_with('-') || inner.ends_with('-') || inner.contains("--");
        if inner.is_empty() || inner.len() > MAX_SLUG_BYTES || !inner.bytes().all(fits) || hyphens {
            let rule =
                "must be lower-case letters, digits and single hyphens, for example /virtual/dev-tools";
            return Err(Invalid::new(field, format!("{text:?} {rule}")));
        }
        Ok(Self(inner.into()))
    }

    /// Makes the slug of a virtual server that was given only a name: `Dev Tools!` becomes `dev-tools`.
    pub fn from_title(field: &str, title: &str) -> Result<Self, Invalid> {
        let mut slug = String::new();
        for c in title.chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        Self::parse(field, slug.trim_end_matches('-'))
    }

    /// Returns the endpoint's path: `/virtual/dev-tools`.
    pub fn path(&self) -> String {
        format!("/virtual/{}", self.0)
    }
}

impl ToolName {
    /// Checks an exposed name.
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let fits = |b: u8| matches!(b, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-');
        if text.is_empty() || text.len() > MAX_NAME_BYTES || !text.bytes().all(fits) {
            let rule = format!("must be 1 to {MAX_NAME_BYTES} of letters, digits, `_`, `.`, `-`");
            return Err(Invalid::new(field, format!("{text:?} {rule}")));
        }
        Ok(Self(text.into()))
    }
}

#[cfg(test)]
mod tests;

//! Addresses of the REST API. Whatever a person writes becomes one segment of a path, or is refused here, before
//! anything is sent: a label that climbs out of its place would name something else.

use catalog::error::Invalid;
use catalog::name::{ServerPath, Slug, VersionLabel};

use super::failure::Failure;

/// Returns the address of a server.
///
/// **Errors:** what the gateway would say of such a path.
pub(super) fn of_server(path: &str) -> Result<String, Failure> {
    let path = ServerPath::parse("path", path).map_err(wrong)?;
    let segments = path.group().split('/').map(|one| segment("path", one));
    Ok(format!("/api/servers/{}", segments.collect::<Result<Vec<_>, _>>()?.join("/")))
}

/// Returns the address of a version of a server.
pub(super) fn of_version(path: &str, label: &str) -> Result<String, Failure> {
    Ok(format!("{}/versions/{}", of_server(path)?, of_label("label", label)?))
}

/// Returns the address of the comparison of two versions.
pub(super) fn of_diff(path: &str, from: &str, to: &str) -> Result<String, Failure> {
    let (from, to) = (of_label("from", from)?, of_label("to", to)?);
    Ok(format!("{}/versions/{from}/diff/{to}", of_server(path)?))
}

/// Returns the address of a virtual server.
pub(super) fn of_virtual_server(slug: &Slug) -> Result<String, Failure> {
    Ok(format!("/api/virtual-servers/{}", segment("slug", slug.as_str())?))
}

/// Returns the address of a token that was issued.
pub(super) fn of_token(id: &str) -> Result<String, Failure> {
    Ok(format!("/api/tokens/{}", segment("id", id)?))
}

/// Takes `dev-tools`, `virtual/dev-tools` and `/virtual/dev-tools` alike.
pub(super) fn slug(text: &str) -> Result<Slug, Failure> {
    Slug::parse("slug", text.strip_prefix("virtual/").unwrap_or(text)).map_err(wrong)
}

fn of_label(field: &str, label: &str) -> Result<String, Failure> {
    segment(field, VersionLabel::parse(field, label).map_err(wrong)?.as_str())
}

/// Writes a text as one segment, whatever it holds. URLs give `.` and `..` a meaning even where they are
/// escaped, so there is no way to write these, nor nothing at all.
fn segment(field: &str, text: &str) -> Result<String, Failure> {
    if text.is_empty() {
        return Err(wrong(Invalid::new(field, "must not be empty")));
    }
    if matches!(text, "." | "..") {
        return Err(wrong(Invalid::new(field, format!("{text:?} has a meaning of its own in URLs"))));
    }
    Ok(text.bytes().fold(String::new(), |mut url, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'+' => {
                url.push(byte.into())
            }
            _ => url.push_str(&format!("%{byte:02X}")),
        }
        url
    }))
}

fn wrong(invalid: Invalid) -> Failure {
    Failure::usage(invalid.to_string())
}

#[cfg(test)]
mod tests;

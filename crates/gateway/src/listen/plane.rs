//! Which plane answers a request: told by the first segment of its path.

use http::Uri;
use http::uri::PathAndQuery;

/// First segments of the control plane. Everything else is an MCP endpoint or its metadata.
const CONTROL_ROOTS: [&str; 9] =
    ["api", "v0", "healthz", "readyz", "metrics", "ui", "assets", "login", "logout"];

/// Says whether the control plane answers this path, which may begin with the configured prefix or, as some
/// proxies in front take it off themselves, be without it.
pub(super) fn is_control(path: &str, prefix: &str) -> bool {
    let first = below(path, prefix).trim_start_matches('/').split(['/', '?']).next().unwrap_or_default();
    CONTROL_ROOTS.contains(&first)
}

/// Says whether a path is asked by what watches over programs, which names them by addresses of its own.
pub(super) fn is_for_machines(path: &str) -> bool {
    matches!(path.trim_end_matches('/'), "/healthz" | "/readyz" | "/metrics")
}

/// Takes the configured prefix off a URI; `None` where it has none to take off.
pub(super) fn without_prefix(uri: &Uri, prefix: &str) -> Option<Uri> {
    let whole = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let rest = below(whole, prefix);
    if rest.len() == whole.len() {
        return None;
    }
    let rest = if rest.starts_with('/') { rest.parse() } else { format!("/{rest}").parse() };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(rest.ok()?);
    Uri::from_parts(parts).ok()
}

/// Returns what stands below the prefix. `/gateway2` does not lie below `/gateway`.
fn below<'a>(path: &'a str, prefix: &str) -> &'a str {
    let rest = path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    rest.unwrap_or(path)
}

#[cfg(test)]
mod tests;

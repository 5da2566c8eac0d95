//! Server paths in URLs: `/api/servers/team/github/versions/v2` names the server `/team/github`, and routes know
//! only single segments. So the path becomes one segment, `team%2Fgithub`, before routes are matched.

use axum::extract::Request;
use catalog::name::RESERVED_TAILS;
use http::Uri;
use http::uri::PathAndQuery;

/// What stands before the path of a server.
const PREFIX: &str = "/api/servers/";
/// What stands before a server's name in the API of the official registry: `switchyard.local/context7`.
const NAME_PREFIX: &str = "/v0/servers/";

/// Folds the path of the server that a request names into one segment, and drops a trailing slash.
pub(super) fn fold_request(mut request: Request) -> Request {
    if let Some(folded) = fold(request.uri().path()) {
        let uri = with_path(request.uri(), &folded);
        *request.uri_mut() = uri;
    }
    request
}

/// Returns a path as the client wrote it, for messages.
pub(super) fn unfold(path: &str) -> String {
    if path.starts_with(PREFIX) || path.starts_with(NAME_PREFIX) {
        path.replace("%2F", "/")
    } else {
        path.into()
    }
}

fn fold(path: &str) -> Option<String> {
    if let Some(tail) = path.strip_prefix(NAME_PREFIX).filter(|tail| !tail.is_empty()) {
        return Some(fold_name(tail));
    }
    let Some(tail) = path.strip_prefix(PREFIX) else {
        return path.strip_suffix('/').map(Into::into);
    };
    // A client that pastes "/context7" behind "/api/servers/" means the same.
    let tail = tail.trim_start_matches('/');
    let tail = tail.strip_suffix('/').unwrap_or(tail);
    if tail.is_empty() {
        return Some(PREFIX.trim_end_matches('/').into());
    }
    let segments: Vec<&str> = tail.split('/').collect();
    // The first segment always belongs to the path; a later one that is a word of ours ends it.
    let end = segments.iter().skip(1).position(|one| RESERVED_TAILS.contains(one)).map(|at| at + 1);
    let (server, rest) = segments.split_at(end.unwrap_or(segments.len()));
    let mut folded = format!("{PREFIX}{}", server.join("%2F"));
    for segment in rest {
        folded.push('/');
        folded.push_str(segment);
    }
    Some(folded)
}

/// Folds a name, which has one slash; clients send it as it is or encoded.
fn fold_name(tail: &str) -> String {
    let tail = tail.strip_suffix('/').unwrap_or(tail);
    let first = tail.split('/').next().unwrap_or_default();
    if first.to_ascii_lowercase().contains("%2f") {
        return format!("{NAME_PREFIX}{tail}");
    }
    format!("{NAME_PREFIX}{}", tail.replacen('/', "%2F", 1))
}

fn with_path(uri: &Uri, path: &str) -> Uri {
    let text = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    match PathAndQuery::try_from(text) {
        Ok(folded) => parts.path_and_query = Some(folded),
        // Longer than a URI may be; routed as it came, which finds nothing.
        Err(_) => return uri.clone(),
    }
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

#[cfg(test)]
mod tests;

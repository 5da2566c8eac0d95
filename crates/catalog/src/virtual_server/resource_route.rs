//! Where a virtual server asks for resources that no backend lists: by how their URI begins.

use std::collections::{HashMap, HashSet};

use super::Mapping;
use crate::invalid::Invalid;
use crate::name::ServerPath;

/// Most of them at one virtual server. Each read of a resource that is not listed looks through them.
pub const MAX_RESOURCE_ROUTES: usize = 256;

/// Longest prefix, in bytes; far beyond any scheme with a host and a path that tell servers apart.
pub const MAX_PREFIX_BYTES: usize = 256;

/// Resources whose URI begins so are a server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRoute {
    /// How the URI begins, scheme and colon at least: `jira:` or `file:///srv/wiki/`. Case counts.
    pub prefix: String,
    /// A server that is mapped.
    pub server: ServerPath,
}

/// Finds every fault of a virtual server's routes.
pub(super) fn faults(routes: &[ResourceRoute], mappings: &[Mapping]) -> Vec<Invalid> {
    let mapped: HashSet<&ServerPath> = mappings.iter().map(|row| &row.server).collect();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut faults = Vec::new();
    for (index, route) in routes.iter().enumerate() {
        let field = |name: &str| format!("resource_routes[{index}].{name}");
        if let Some(reason) = unfit(&route.prefix) {
            faults.push(Invalid::new(field("prefix"), reason));
        } else if let Some(first) = seen.insert(&route.prefix, index) {
            let reason = format!("{:?} is the prefix of row {first} too", route.prefix);
            faults.push(Invalid::new(field("prefix"), reason));
        }
        if !mapped.contains(&route.server) {
            let reason = format!("no tool of {} is mapped here", route.server);
            faults.push(Invalid::new(field("backend_server_path"), reason));
        }
    }
    faults
}

/// Why a text is no beginning of a URI (RFC 3986, section 3.1). Without the colon, `jira` would take `jira-old:` too.
fn unfit(prefix: &str) -> Option<String> {
    if prefix.is_empty() {
        return Some("is required".into());
    }
    if prefix.len() > MAX_PREFIX_BYTES {
        return Some(format!("is longer than {MAX_PREFIX_BYTES} bytes"));
    }
    if prefix.chars().any(|one| one.is_whitespace() || one.is_control()) {
        return Some("holds blanks or control characters".into());
    }
    let scheme = prefix.split_once(':').map(|(scheme, _)| scheme.as_bytes());
    let is_scheme = scheme.is_some_and(|scheme| {
        let rest = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        scheme.first().is_some_and(u8::is_ascii_alphabetic) && scheme.iter().all(rest)
    });
    (!is_scheme).then(|| format!("{prefix:?} does not begin with a scheme and a colon, for example jira://"))
}

//! The words under which the audit trail tells of each route that writes.

use http::Method;

/// Returns the word for a route; `None` for one that only reads.
pub(super) fn action(method: &Method, route: &str) -> Option<&'static str> {
    ACTIONS.iter().find(|(one, _)| is(one, method, route)).map(|(_, word)| *word)
}

/// What a request does, by its method and route.
const ACTIONS: [(&str, &str); 27] = [
    ("POST /api/servers/register", "server.register"),
    ("PATCH /api/servers/{path}", "server.edit"),
    ("DELETE /api/servers/{path}", "server.delete"),
    ("POST /api/servers/{path}/toggle", "server.toggle"),
    ("POST /api/servers/{path}/refresh", "server.refresh"),
    ("POST /api/servers/{path}/rate", "server.rate"),
    ("PUT /api/servers/{path}/versions/default", "version.activate"),
    ("PATCH /api/servers/{path}/versions/{label}", "version.edit"),
    ("DELETE /api/servers/{path}/versions/{label}", "version.delete"),
    ("POST /api/virtual-servers", "virtual_server.create"),
    ("PUT /api/virtual-servers/{slug}", "virtual_server.replace"),
    ("PATCH /api/virtual-servers/{slug}", "virtual_server.edit"),
    ("DELETE /api/virtual-servers/{slug}", "virtual_server.delete"),
    ("POST /api/virtual-servers/{slug}/toggle", "virtual_server.toggle"),
    ("POST /api/virtual-servers/{slug}/rate", "virtual_server.rate"),
    ("POST /api/groups", "group.create"),
    ("PUT /api/groups/{name}", "group.replace"),
    ("PATCH /api/groups/{name}", "group.edit"),
    ("DELETE /api/groups/{name}", "group.delete"),
    ("POST /api/scopes", "scope.describe"),
    ("POST /api/scopes/import", "scope.import"),
    ("PUT /api/scopes/{name}", "scope.replace"),
    ("DELETE /api/scopes/{name}", "scope.delete"),
    ("POST /api/tokens", "token.issue"),
    ("DELETE /api/tokens/{id}", "token.revoke"),
    ("POST /api/connect", "connection.begin"),
    ("DELETE /api/connections/{id}", "connection.delete"),
];

fn is(one: &str, method: &Method, route: &str) -> bool {
    one.strip_prefix(method.as_str()).and_then(|rest| rest.strip_prefix(' ')) == Some(route)
}

#[cfg(test)]
mod tests;

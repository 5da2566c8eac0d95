//! The OpenAPI document, made from the routes: what the handlers say, and what holds for all of them.

use std::sync::LazyLock;

use utoipa::openapi::path::{Operation, Parameter};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    Components, Content, InfoBuilder, LicenseBuilder, OpenApi, PathItem, Ref, RefOr, ResponseBuilder,
    SecurityRequirement,
};
use utoipa::{PartialSchema, ToSchema};

use crate::api;
use crate::api::error::ProblemDocument;

/// Name of the one security scheme.
const BEARER: &str = "bearer";

/// Sections of the document, in the order people read them.
const TAGS: &[(&str, &str)] = &[
    ("servers", "Backends registered at paths, and their tools"),
    ("versions", "Several deployments of a server behind one path: add, try, switch, go back, retire"),
    ("virtual servers", "Endpoints composed of tools of several servers"),
    ("groups", "Groups and the scopes they grant"),
    ("connections", "What users allowed at backends that act for them"),
    ("tokens", "Tokens of our own: issue and revoke"),
    ("audit", "Who did what to which object, when, from where"),
    ("search", "Finding servers, tools and virtual servers"),
    ("official registry", "Reading as from the official MCP registry"),
    ("health", "What was last seen of each backend"),
    ("documents", "This document"),
];

const ABOUT: &str = "Registers MCP servers, their versions and virtual servers composed of their tools.\n\n\
    Send `Authorization: Bearer <token>` with every request. Errors are problem documents (RFC 9457) whose \
    `detail` says what to do, and `errors` names every bad field at once. Reads give an `ETag` (the member \
    `revision`, in quotes); a write that repeats it in `If-Match` fails with 412 if somebody else wrote \
    meanwhile. Lists page with `limit` and `offset` and give `total_count` and `has_next`. A `{path}` of a \
    server may hold slashes.";

/// Returns the document as pretty JSON with a final newline.
pub fn openapi() -> String {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let text = document().to_pretty_json().expect("a document of our own structs can be written");
        text + "\n"
    });
    TEXT.clone()
}

/// Makes the document.
pub(crate) fn document() -> OpenApi {
    let (_, mut document) = api::documented().split_for_parts();
    document.info = InfoBuilder::new()
        .title("Switchyard")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(ABOUT))
        .license(Some(LicenseBuilder::new().name("Apache-2.0").identifier(Some("Apache-2.0")).build()))
        .build();
    document.security = Some(vec![bearer()]);
    let tag = |(name, text): (&str, &str)| TagBuilder::new().name(name).description(Some(text)).build();
    document.tags = Some(TAGS.iter().copied().map(tag).collect());
    let components = document.components.get_or_insert_with(Components::new);
    let scheme = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some(
            "A token of `POST /api/tokens`, or the administrator's that the first start wrote.",
        ))
        .build();
    components.add_security_scheme(BEARER, SecurityScheme::Http(scheme));
    let mut schemas = vec![(ProblemDocument::name().into_owned(), ProblemDocument::schema())];
    ProblemDocument::schemas(&mut schemas);
    components.schemas.extend(schemas);
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in operations(item) {
            say_how_it_fails(path, method, operation);
            name_whole(path, method, operation);
        }
    }
    document
}

/// Returns the operations of a path with their methods.
fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let all = [
        ("get", &mut item.get),
        ("put", &mut item.put),
        ("post", &mut item.post),
        ("patch", &mut item.patch),
        ("delete", &mut item.delete),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// Makes an operation's name its own: handlers are named within their file, and there are many called `list`.
fn name_whole(path: &str, method: &str, operation: &mut Operation) {
    if let Some(name) = operation.operation_id.as_mut().filter(|name| !name.contains('_')) {
        let words = path.trim_start_matches("/api/").split(['/', '-', '{', '}', '.']);
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        *name = format!("{method}_{}", words.join("_"));
    }
}

/// Adds the answers that are the same everywhere, where the handler says nothing of its own.
fn say_how_it_fails(path: &str, method: &str, operation: &mut Operation) {
    let is_open =
        operation.security.as_ref().is_some_and(|list| list.contains(&SecurityRequirement::default()));
    if is_open {
        return;
    }
    let mut common = vec![("401", "The token is missing, expired, revoked or not ours")];
    if operation.request_body.is_some() {
        common.push(("400", "The body is not JSON"));
        common.push(("422", "Fields are bad; `errors` names all of them"));
    }
    // Everybody may rate and search.
    if method != "get" && !path.ends_with("/rate") && !path.starts_with("/api/search/") {
        common.push(("403", "The caller is not an administrator"));
    }
    if path.contains('{') {
        common.push(("404", "There is nothing of that name"));
    }
    if has_header(operation, "If-Match") {
        common.push(("412", "Somebody else wrote meanwhile; `revision` tells what is there now"));
    }
    common.push(("default", "Any other failure"));
    for (status, text) in common {
        operation.responses.responses.entry(status.into()).or_insert_with(|| RefOr::T(problem(text)));
    }
}

fn has_header(operation: &Operation, name: &str) -> bool {
    let is_it = |one: &RefOr<Parameter>| matches!(one, RefOr::T(one) if one.name == name);
    operation.parameters.iter().flatten().any(is_it)
}

fn problem(text: &str) -> utoipa::openapi::Response {
    let shape = Content::new(Some(Ref::from_schema_name(ProblemDocument::name())));
    ResponseBuilder::new().description(text).content("application/problem+json", shape).build()
}

fn bearer() -> SecurityRequirement {
    SecurityRequirement::new(BEARER, std::iter::empty::<String>())
}

#[cfg(test)]
mod tests;

//! Catalog entries with something in every field, for the suite and the tests.

use std::sync::Arc;

use catalog::VersionKey;
use catalog::access::{Group, Scope};
use catalog::endpoint::{Endpoint, Era, Header, Secret};
use catalog::inventory::{Inventory, Item, Reported};
use catalog::name::{ServerPath, Slug, ToolName, VersionLabel};
use catalog::rights::{Pattern, Place, ScopeDocument, ServerAccess};
use catalog::server::{Server, Status, Version, Visibility};
use catalog::time::Timestamp;
use catalog::token::IssuedToken;
use catalog::virtual_server::resource_route::ResourceRoute;
use catalog::virtual_server::{Mapping, ScopeOverride, VirtualServer};
use url::Url;

/// 2026-01-10T00:00:00.123Z: a time with a fraction, which must not get lost.
pub(crate) const NOW: Timestamp = Timestamp(1_768_003_200_123);

/// A path that is known to be sound.
pub(crate) fn path(text: &str) -> ServerPath {
    ServerPath::parse("path", text).expect("a sound path")
}

/// A label that is known to be sound.
pub(crate) fn label(text: &str) -> VersionLabel {
    VersionLabel::parse("version", text).expect("a sound label")
}

/// A slug that is known to be sound.
pub(crate) fn slug(text: &str) -> Slug {
    Slug::parse("path", text).expect("a sound slug")
}

/// A scope that is known to be sound.
pub(crate) fn scope(text: &str) -> Scope {
    Scope::parse("scope", text).expect("a sound scope")
}

/// The key of a version.
pub(crate) fn key(server: &str, version: &str) -> VersionKey {
    VersionKey::new(&path(server), &label(version))
}

/// A version with every field set.
pub(crate) fn version(name: &str) -> Version {
    let url = format!("https://{name}.mcp.example.com:8443/mcp?tenant=a%20b");
    let header = |name: &str, value: &str| Header { name: name.into(), value: Secret::new(value) };
    Version {
        label: label(name),
        endpoint: Arc::new(Endpoint {
            url: Url::parse(&url).expect("a sound URL"),
            headers: vec![header("authorization", "Bearer s3cret-token"), header("x-team", "Größe \"1\"")],
            pinned_era: Some(Era::Modern),
            authorization: None,
        }),
        description: format!("Up-to-date docs, {name}"),
        status: Status::Deprecated,
        released_on: Some("2025-11-15".into()),
        deprecated_at: Some(NOW.plus_seconds(-60)),
        sunset_on: Some("2026-06-01".into()),
        registered_at: NOW.plus_seconds(-3600),
        updated_at: NOW,
    }
}

/// A version with nothing set that may be left out.
pub(crate) fn bare_version(name: &str) -> Version {
    let endpoint = Endpoint::at(Url::parse("http://127.0.0.1:9000/").expect("a sound URL"));
    Version {
        endpoint: Arc::new(endpoint),
        description: String::new(),
        status: Status::Stable,
        released_on: None,
        deprecated_at: None,
        sunset_on: None,
        ..version(name)
    }
}

/// A server with every field set and two versions, of which `v2.0.0` is active.
pub(crate) fn server(at: &str) -> Server {
    let first = Server::new(path(at), "Context7 \u{1f4da}".into(), version("v1.5.0"), NOW);
    let both = first.add(bare_version("v2.0.0"), NOW).expect("a new label");
    both.activate("v2.0.0", NOW).expect("a known label").written(NOW.plus_seconds(5), |server| {
        server.tags = vec!["documentation".into(), "search".into()];
        server.owner = Some("ada".into());
        server.license = Some("MIT".into());
        server.visibility = Visibility::Groups(vec!["staff".into(), "guests".into()]);
        server.required_scopes = vec![scope("docs-read"), scope("docs/all")];
        server.is_enabled = true;
        server.strict_versions = true;
    })
}

/// A tool as a backend wrote it, with blanks and an order of its own.
pub(crate) fn item(name: &str) -> Item {
    let quoted = serde_json::to_string(name).expect("a text is always JSON");
    let json = format!(
        "{{ \"description\":\"\\u00e9 \\\"\",\n \"name\" : {quoted},\"inputSchema\":{{}}, \"x\":1.50}}"
    );
    Item { name: name.into(), json: json.into() }
}

/// An inventory with something in every list.
pub(crate) fn inventory(tools: &[&str]) -> Inventory {
    Inventory {
        era: Era::Legacy,
        legacy: None,
        protocol_version: "2025-11-25".into(),
        server_info: "{\"name\":\"context7\", \"version\":\"2.14.5\"}".into(),
        capabilities: "{\"tools\":{\"listChanged\":true}}".into(),
        instructions: Some("Ask for\nlibraries first.".into()),
        tools: tools.iter().map(|name| item(name)).collect(),
        prompts: vec![item("explain")],
        resources: vec![Item { name: "docs://a?b=c".into(), json: "{\"uri\":\"docs:\\/\\/a?b=c\"}".into() }],
        templates: vec![Item {
            name: "docs://{id}".into(),
            json: "{\"uriTemplate\":\"docs://{id}\"}".into(),
        }],
        reported: Reported {
            version: Some("2.14.5".into()),
            previous: Some("2.14.4".into()),
            changed_at: Some(NOW),
        },
        read_at: NOW.plus_seconds(1),
        has_event_stream: false,
    }
}

/// An inventory of a backend of both eras, which lists other tools in each and the same of all else.
pub(crate) fn inventory_of_both() -> Inventory {
    let modern = Inventory { era: Era::Modern, ..inventory(&["search", "new"]) };
    Inventory::of_both(modern, inventory(&["search", "old"]))
}

/// An inventory of a backend that offers nothing and says little.
pub(crate) fn bare_inventory() -> Inventory {
    Inventory::empty(Era::Modern, "2026-07-28", NOW)
}

/// A virtual server with every field set.
pub(crate) fn virtual_server(name: &str) -> VirtualServer {
    let plain = Mapping {
        tool: "search".into(),
        server: path("/context7"),
        alias: None,
        pin: None,
        description: None,
    };
    let full = Mapping {
        alias: Some(ToolName::parse("alias", "github_search").expect("a sound name")),
        server: path("/team/github"),
        pin: Some(label("v1.5.0")),
        description: Some("Search GitHub \u{2026}".into()),
        ..plain.clone()
    };
    VirtualServer {
        slug: slug(name),
        name: "Dev Tools".into(),
        description: "Tools for developers".into(),
        tags: vec!["dev".into()],
        mappings: vec![full, plain],
        required_scopes: vec![scope("dev-tools")],
        overrides: vec![ScopeOverride {
            name: "github_search".into(),
            required_scopes: vec![scope("github-read")],
        }],
        instructions: Some("Be kind.".into()),
        exposes_prompts: true,
        exposes_resources: false,
        resource_routes: vec![ResourceRoute { prefix: "git://".into(), server: path("/team/github") }],
        is_enabled: true,
        owner: Some("ada".into()),
        revision: 7,
        created_at: NOW,
        updated_at: NOW.plus_seconds(9),
    }
}

/// A group.
pub(crate) fn group(name: &str, revision: u64) -> Group {
    let scopes = vec![scope("docs-read"), scope("github-write")];
    Group { name: name.into(), description: "Everybody on the payroll".into(), scopes, revision }
}

/// A scope's document with every field set.
pub(crate) fn scope_document() -> ScopeDocument {
    let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(*text)).collect();
    let access = |at: &str, methods: &[&str], tools: &[&str]| ServerAccess {
        at: Place::parse(at),
        methods: patterns(methods),
        tools: patterns(tools),
    };
    ScopeDocument {
        description: "may read\nthe docs".into(),
        access: vec![
            access("context7", &["tools/list", "tools/call"], &["search", "get_*"]),
            access("*", &["ping"], &[]),
        ],
        permissions: [("list_service".into(), patterns(&["all"]))].into(),
    }
}

/// A token's record with every field set.
pub(crate) fn token(id: &str) -> IssuedToken {
    IssuedToken {
        id: id.into(),
        subject: "ci@example.com".into(),
        description: "nightly run".into(),
        groups: vec!["staff".into()],
        scopes: vec![scope("docs-read")],
        is_admin: true,
        resource: Some("/virtual/dev-tools".into()),
        subject_issuer: Some("https://idp.example".into()),
        created_by: "ada".into(),
        made_with: Some("t0".into()),
        created_at: NOW,
        expires_at: NOW.plus_seconds(86_400),
        revoked_at: Some(NOW.plus_seconds(60)),
    }
}

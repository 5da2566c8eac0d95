//! Any entry of the catalog, as far as its types allow.

use std::sync::Arc;

use catalog::Catalog;
use catalog::access::{Group, Scope};
use catalog::endpoint::{Endpoint, Era, Header, Secret};
use catalog::inventory::{Inventory, Item, LegacySide, Reported};
use catalog::name::{ServerPath, Slug, ToolName, VersionLabel};
use catalog::rights::{Pattern, Place, ScopeDocument, ServerAccess};
use catalog::server::{Server, Status, Version, Visibility};
use catalog::time::Timestamp;
use catalog::token::IssuedToken;
use catalog::virtual_server::resource_route::ResourceRoute;
use catalog::virtual_server::{Mapping, ScopeOverride, VirtualServer};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::change::{Change, Edit};

pub(super) fn catalogs() -> impl Strategy<Value = Catalog> {
    let servers = vec((servers(), vec(option::of(inventories()), 4)), 0..4);
    let rest = (vec(virtual_servers(), 0..3), vec(groups(), 0..3), vec(tokens(), 0..3));
    let described = vec((scopes(), documents()), 0..3);
    (servers, rest, described).prop_map(|(servers, (virtual_servers, groups, tokens), scopes)| {
        let mut catalog = Catalog { revision: 1, ..Catalog::default() };
        let mut edits = Vec::new();
        for (server, inventories) in servers {
            // A later server may have the path of an earlier one.
            edits.push(Edit::DeleteServer(server.path.clone()));
            for (version, inventory) in server.versions().zip(inventories) {
                let key = catalog::VersionKey::new(&server.path, &version.label);
                edits.extend(inventory.map(|inventory| Edit::PutInventory(key, Arc::new(inventory))));
            }
            let at = edits.iter().rposition(|edit| matches!(edit, Edit::DeleteServer(_))).unwrap();
            edits.insert(at + 1, Edit::put_server(None, Arc::new(server)));
        }
        edits.extend(virtual_servers.into_iter().map(|one| Edit::PutVirtualServer(Arc::new(one))));
        edits.extend(groups.into_iter().map(|group| Edit::PutGroup(Arc::new(group))));
        edits.extend(tokens.into_iter().map(|token| Edit::PutToken(Arc::new(token))));
        edits.extend(scopes.into_iter().map(|(scope, text)| Edit::PutScope(scope, Arc::new(text))));
        Change::new(edits).apply_to(&mut catalog);
        catalog
    })
}

fn documents() -> impl Strategy<Value = ScopeDocument> {
    let patterns = || vec("[a-z*/]{1,8}".prop_map(Pattern::new), 0..3);
    let at = prop_oneof![Just("*"), Just("context7"), Just("virtual/dev")].prop_map(Place::parse);
    let access = (at, patterns(), patterns());
    let access = access.prop_map(|(at, methods, tools)| ServerAccess { at, methods, tools });
    let permissions = prop::collection::btree_map("[a-z_]{1,8}", patterns(), 0..3);
    (".*", vec(access, 0..3), permissions).prop_map(|(description, access, permissions)| ScopeDocument {
        description,
        access,
        permissions,
    })
}

pub(super) fn servers() -> impl Strategy<Value = Server> {
    let visibility = prop_oneof![
        Just(Visibility::Public),
        Just(Visibility::Private),
        vec(".*", 0..3).prop_map(Visibility::Groups),
    ];
    let texts = (".*", vec(".*", 0..3), option::of(".*"), option::of(".*"));
    let rest = (visibility, vec(scopes(), 0..3), any::<(bool, bool, u64)>(), times(), times());
    (paths(), vec(versions(), 1..5), any::<prop::sample::Index>(), texts, rest).prop_map(
        |(path, versions, active, (name, tags, owner, license), rest)| {
            let (
                visibility,
                required_scopes,
                (is_enabled, strict_versions, revision),
                registered_at,
                updated_at,
            ) = rest;
            let active = versions[active.index(versions.len())].label.clone();
            let mut head = Server::new(path, name, versions[0].clone(), registered_at);
            head.tags = tags;
            head.owner = owner;
            head.license = license;
            head.visibility = visibility;
            head.required_scopes = required_scopes;
            (head.is_enabled, head.strict_versions, head.revision) = (is_enabled, strict_versions, revision);
            head.updated_at = updated_at;
            Server::from_records(head, versions, active).unwrap()
        },
    )
}

fn versions() -> impl Strategy<Value = Version> {
    let url = ("https?", "[a-z]{1,9}(\\.[a-z]{2,5})?", any::<u16>(), "(/[a-zA-Z0-9._~%20-]{0,8}){0,3}")
        .prop_map(|(scheme, host, port, path)| url::Url::parse(&format!("{scheme}://{host}:{port}{path}")))
        .prop_filter_map("a URL", Result::ok);
    let header = ("[a-z-]{1,20}", ".*").prop_map(|(name, value)| Header { name, value: Secret::new(value) });
    let endpoint = (url, vec(header, 0..3), option::of(eras()))
        .prop_map(|(url, headers, pinned_era)| Endpoint { url, headers, pinned_era, authorization: None })
        .prop_map(Arc::new);
    let status = prop::sample::select(vec![Status::Stable, Status::Beta, Status::Deprecated]);
    let dates = (option::of(".*"), option::of(times()), option::of(".*"), times(), times());
    (labels(), endpoint, ".*", status, dates).prop_map(|(label, endpoint, description, status, dates)| {
        let (released_on, deprecated_at, sunset_on, registered_at, updated_at) = dates;
        Version {
            label,
            endpoint,
            description,
            status,
            released_on,
            deprecated_at,
            sunset_on,
            registered_at,
            updated_at,
        }
    })
}

pub(super) fn inventories() -> impl Strategy<Value = Inventory> {
    let lists = (items(), items(), items(), items());
    let said = (eras(), ".*", ".*", ".*", option::of(".*"));
    let older = (option::of(items()), option::of(items()), option::of(items()), option::of(items()));
    let legacy =
        (older, ".*", ".*", ".*", option::of(".*")).prop_map(|(lists, version, info, can, words)| {
            let (tools, prompts, resources, templates) = lists;
            let (server_info, capabilities) = (info.into(), can.into());
            let (protocol_version, instructions) = (version, words);
            let side = LegacySide {
                protocol_version,
                server_info,
                capabilities,
                instructions,
                tools,
                prompts,
                resources,
                templates,
            };
            Box::new(side)
        });
    let reported = (option::of(".*"), option::of(".*"), option::of(times()))
        .prop_map(|(version, previous, changed_at)| Reported { version, previous, changed_at });
    (lists, said, option::of(legacy), reported, times(), any::<bool>()).prop_map(
        |(lists, said, legacy, reported, read_at, has_event_stream)| {
            let (tools, prompts, resources, templates) = lists;
            let (era, protocol_version, server_info, capabilities, instructions) = said;
            Inventory {
                era: if legacy.is_some() { Era::Modern } else { era },
                legacy,
                protocol_version,
                server_info: server_info.into(),
                capabilities: capabilities.into(),
                instructions,
                tools,
                prompts,
                resources,
                templates,
                reported,
                read_at,
                has_event_stream,
            }
        },
    )
}

/// Items whose JSON has blanks and escapes of its own; any text may be their name.
fn items() -> impl Strategy<Value = Vec<Item>> {
    let json = (".*", "[ \n\t]{0,2}", any::<f64>()).prop_map(|(text, blank, number)| {
        let text = serde_json::to_string(&text).unwrap();
        format!("{{{blank}\"name\"{blank}:{text},{text}:[{number:e},\"\\u00e9\"{blank}]}}")
    });
    vec((".*", json).prop_map(|(name, json)| Item { name: name.into(), json: json.into() }), 0..4)
}

pub(super) fn virtual_servers() -> impl Strategy<Value = VirtualServer> {
    let alias = "[A-Za-z0-9_.-]{1,128}".prop_map(|name| ToolName::parse("alias", &name).unwrap());
    let mapping = (".*", paths(), option::of(alias), option::of(labels()), option::of(".*")).prop_map(
        |(tool, server, alias, pin, description)| Mapping { tool, server, alias, pin, description },
    );
    let scope_override = (".*", vec(scopes(), 0..3))
        .prop_map(|(name, required_scopes)| ScopeOverride { name, required_scopes });
    let route = (".*", paths()).prop_map(|(prefix, server)| ResourceRoute { prefix, server });
    let slug = "[a-z0-9]{1,9}(-[a-z0-9]{1,9}){0,3}".prop_map(|slug| Slug::parse("path", &slug).unwrap());
    let texts = (slug, ".*", ".*", vec(".*", 0..3), option::of(".*"), option::of(".*"));
    let rows = (vec(mapping, 0..4), vec(scopes(), 0..3), vec(scope_override, 0..3), vec(route, 0..3));
    (texts, rows, any::<(bool, bool, bool, u64)>(), times(), times()).prop_map(
        |(texts, rows, switches, created_at, updated_at)| {
            let (mappings, required_scopes, overrides, resource_routes) = rows;
            let (slug, name, description, tags, instructions, owner) = texts;
            let (exposes_prompts, exposes_resources, is_enabled, revision) = switches;
            VirtualServer {
                slug,
                name,
                description,
                tags,
                mappings,
                required_scopes,
                overrides,
                instructions,
                exposes_prompts,
                exposes_resources,
                resource_routes,
                is_enabled,
                owner,
                revision,
                created_at,
                updated_at,
            }
        },
    )
}

pub(super) fn groups() -> impl Strategy<Value = Group> {
    (".*", ".*", vec(scopes(), 0..3), any::<u64>()).prop_map(|(name, description, scopes, revision)| Group {
        name,
        description,
        scopes,
        revision,
    })
}

pub(super) fn tokens() -> impl Strategy<Value = IssuedToken> {
    let texts = ("[0-9a-f]{1,32}", ".*", ".*", vec(".*", 0..3), option::of(".*"), ".*");
    let rest = (vec(scopes(), 0..3), any::<bool>(), times(), times(), option::of(times()));
    let makers = (option::of(".*"), option::of("[0-9a-f]{1,32}"));
    (texts, rest, makers).prop_map(
        |((id, subject, description, groups, resource, created_by), rest, makers)| {
            let (scopes, is_admin, created_at, expires_at, revoked_at) = rest;
            let (subject_issuer, made_with) = makers;
            IssuedToken {
                id: id.into(),
                subject,
                subject_issuer,
                description,
                groups,
                scopes,
                is_admin,
                resource,
                created_by,
                made_with: made_with.map(Into::into),
                created_at,
                expires_at,
                revoked_at,
            }
        },
    )
}

fn paths() -> impl Strategy<Value = ServerPath> {
    "(/[a-z0-9._-]{1,9}){1,4}".prop_filter_map("a sound path", |path| ServerPath::parse("path", &path).ok())
}

fn labels() -> impl Strategy<Value = VersionLabel> {
    "[A-Za-z0-9._+-]{1,64}"
        .prop_filter_map("a sound label", |label| VersionLabel::parse("version", &label).ok())
}

fn scopes() -> impl Strategy<Value = Scope> {
    "[!#-\\[\\]-~]{1,40}".prop_filter_map("a sound scope", |scope| Scope::parse("scope", &scope).ok())
}

fn eras() -> impl Strategy<Value = Era> {
    prop::sample::select(vec![Era::Legacy, Era::Modern])
}

/// Mostly times of our days; any other, too.
fn times() -> impl Strategy<Value = Timestamp> {
    prop_oneof![
        4 => (0..4_102_444_800_000_i64).prop_map(Timestamp),
        1 => any::<i64>().prop_map(Timestamp),
    ]
}

//! What of an object was before a change and is after it, for the audit trail: the members that differ, and nothing
//! secret.

use std::collections::BTreeSet;

use catalog::Catalog;
use catalog::access::Scope;
use catalog::connection::ConnectionKey;
use catalog::endpoint::{Endpoint, Era};
use catalog::name::VersionLabel;
use catalog::server::{Server, Version, Visibility};
use serde::Serialize;
use serde_json::{Map, Value, json};
use store::change::Edit;
use store::record::{GroupRecord, ScopeRecord, TokenRecord, VirtualServerRecord};

/// Longest text of the facts of one entry, in bytes.
const MAX_BYTES: usize = 16 * 1024;
/// Longest text of one member where the whole is too long.
const MAX_MEMBER_BYTES: usize = 512;

/// Members that change with every write, and so say nothing.
const NOISE: [&str; 2] = ["revision", "updated_at"];

/// Returns `{"before":…,"after":…}` of the first edit that concerns an object: members that are equal are left out,
/// `null` stands for an object that is not there. `None` for what the gateway notes by itself.
pub(crate) fn of(catalog: &Catalog, edits: &[Edit]) -> Option<Box<str>> {
    let (before, after) = edits.iter().find_map(|edit| sides(catalog, edit))?;
    let (before, after) = differences(before, after);
    let whole = json!({ "before": before, "after": after }).to_string();
    if whole.len() <= MAX_BYTES {
        return Some(whole.into());
    }
    Some(json!({ "before": short(before), "after": short(after) }).to_string().into())
}

fn sides(catalog: &Catalog, edit: &Edit) -> Option<(Value, Value)> {
    match edit {
        Edit::PutServer { server, versions, removed } => {
            let old = catalog.servers.get(&server.path).map(AsRef::as_ref);
            let touched: BTreeSet<_> = versions.iter().chain(removed).collect();
            let before = old.map_or(Value::Null, |old| of_server(old, &touched));
            let mut after = of_server(server, &touched);
            for label in touched {
                let versions =
                    (old.and_then(|old| old.version(label.as_str())), server.version(label.as_str()));
                if let (Some(old), Some(new)) = versions
                    && is_secretly_changed(&old.endpoint, &new.endpoint)
                {
                    after["versions"][label.as_str()]["credentials"] = "changed".into();
                }
            }
            Some((before, after))
        }
        Edit::DeleteServer(path) => {
            let old = catalog.servers.get(path)?;
            let all: Vec<_> = old.versions().map(|version| &version.label).collect();
            Some((of_server(old, &all.into_iter().collect()), Value::Null))
        }
        Edit::PutInventory(..) => None,
        Edit::PutVirtualServer(one) => {
            let old = catalog.virtual_servers.get(&one.slug);
            Some((maybe(old.map(|old| VirtualServerRecord::of(old))), record(VirtualServerRecord::of(one))))
        }
        Edit::DeleteVirtualServer(slug) => {
            Some((record(VirtualServerRecord::of(catalog.virtual_servers.get(slug)?)), Value::Null))
        }
        Edit::PutGroup(group) => {
            let old = catalog.groups.get(&group.name);
            Some((maybe(old.map(|old| GroupRecord::of(old))), record(GroupRecord::of(group))))
        }
        Edit::DeleteGroup(name) => Some((record(GroupRecord::of(catalog.groups.get(name)?)), Value::Null)),
        Edit::PutScope(scope, document) => {
            Some((of_scope(catalog, scope), record(ScopeRecord::of(document))))
        }
        Edit::DeleteScope(scope) => Some((of_scope(catalog, scope), Value::Null)),
        Edit::PutToken(token) => {
            let old = catalog.tokens.get(&token.id);
            Some((maybe(old.map(|old| TokenRecord::of(old))), record(TokenRecord::of(token))))
        }
        Edit::DeleteToken(id) => Some((record(TokenRecord::of(catalog.tokens.get(id)?)), Value::Null)),
        // What it is good for, never what it is made of.
        Edit::PutConnection(one) => Some((of_connection(catalog, &one.key), json!({ "scope": one.scope }))),
        Edit::DeleteConnection(key) => Some((of_connection(catalog, key), Value::Null)),
        Edit::PutRating { rated, user, stars } => {
            let old = catalog.ratings.get(rated).and_then(|ratings| ratings.0.get(user));
            let side = |stars: Option<u8>| stars.map_or(Value::Null, |stars| json!({ "stars": stars }));
            Some((side(old.map(|stars| stars.count())), side(Some(stars.count()))))
        }
    }
}

/// What all versions share, and the touched versions.
fn of_server(server: &Server, touched: &BTreeSet<&VersionLabel>) -> Value {
    let (visibility, groups) = match &server.visibility {
        Visibility::Public => ("public", None),
        Visibility::Private => ("private", None),
        Visibility::Groups(groups) => ("group-restricted", Some(groups)),
    };
    let versions = touched.iter().filter_map(|label| server.version(label.as_str()));
    let versions: Map<_, _> =
        versions.map(|version| (version.label.to_string(), of_version(version))).collect();
    let mut whole = json!({
        "server_name": server.name, "version": server.active().label.as_str(), "tags": server.tags,
        "owner": server.owner, "license": server.license, "visibility": visibility, "allowed_groups": groups,
        "required_scopes": server.required_scopes.iter().map(Scope::as_str).collect::<Vec<_>>(),
        "is_enabled": server.is_enabled, "strict_versions": server.strict_versions,
    });
    if !versions.is_empty() {
        whole["versions"] = versions.into();
    }
    whole
}

fn of_version(version: &Version) -> Value {
    let endpoint = &version.endpoint;
    let names: Vec<_> = endpoint.headers.iter().map(|header| header.name.as_str()).collect();
    json!({
        "description": version.description, "status": version.status.as_str(),
        "proxy_pass_url": without_query(endpoint), "header_names": names,
        "pinned_era": endpoint.pinned_era.map(Era::as_str), "release_date": version.released_on,
        "sunset_date": version.sunset_on,
    })
}

/// What stands behind the question mark may be a key.
fn without_query(endpoint: &Endpoint) -> String {
    let mut url = endpoint.url.clone();
    if url.query().is_some() {
        url.set_query(Some("…"));
    }
    url.to_string()
}

/// Says whether anything differs that is not shown.
fn is_secretly_changed(old: &Endpoint, new: &Endpoint) -> bool {
    let same = Endpoint { url: old.url.clone(), pinned_era: old.pinned_era, ..new.clone() };
    same != *old || old.url.query() != new.url.query()
}

fn of_scope(catalog: &Catalog, scope: &Scope) -> Value {
    maybe(catalog.scopes.get(scope).map(|document| ScopeRecord::of(document)))
}

fn of_connection(catalog: &Catalog, key: &ConnectionKey) -> Value {
    catalog.connections.get(key).map_or(Value::Null, |one| json!({ "scope": one.scope }))
}

fn maybe(kept: Option<impl Serialize>) -> Value {
    kept.map_or(Value::Null, record)
}

fn record(kept: impl Serialize) -> Value {
    let mut value = serde_json::to_value(kept).expect("a record is JSON");
    if let Some(members) = value.as_object_mut() {
        members.retain(|name, _| !NOISE.contains(&name.as_str()));
    }
    value
}

/// Leaves out what is equal on both sides, inside objects too.
fn differences(before: Value, after: Value) -> (Value, Value) {
    let (Value::Object(before), Value::Object(mut after)) = (&before, after.clone()) else {
        return (before, after);
    };
    let (mut old, mut new) = (Map::new(), Map::new());
    for (name, was) in before {
        match after.remove(name) {
            Some(is) if is == *was => {}
            Some(is) => {
                let (was, is) = differences(was.clone(), is);
                old.insert(name.clone(), was);
                new.insert(name.clone(), is);
            }
            None => {
                old.insert(name.clone(), was.clone());
            }
        }
    }
    new.extend(after);
    (old.into(), new.into())
}

/// Says of long members only how long they are.
fn short(side: Value) -> Value {
    let Value::Object(members) = side else { return side };
    let shortened = members.into_iter().map(|(name, value)| {
        let length = value.to_string().len();
        let value = if length > MAX_MEMBER_BYTES { format!("({length} bytes)").into() } else { value };
        (name, value)
    });
    Value::Object(shortened.collect())
}

#[cfg(test)]
mod tests;

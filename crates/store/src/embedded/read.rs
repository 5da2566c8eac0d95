//! Rows to a catalog. A row that cannot be read is logged, named and left out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use catalog::access::Scope;
use catalog::inventory::Inventory;
use catalog::name::{ServerPath, Slug, VersionLabel};
use catalog::rating::Rated;
use catalog::rights::ScopeDocument;
use catalog::server::{Server, Version};
use catalog::unreadable::Place;
use catalog::{Catalog, VersionKey};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row};

use crate::error::Error;
use crate::record::{
    ConnectionRecord, GroupRecord, InventoryLists, InventoryRecord, RatingRecord, ScopeRecord, Sealer,
    ServerRecord, TokenRecord, Unreadable, VersionRecord, VirtualServerRecord,
};

/// Says what a row is the record of.
type Naming<'a> = &'a dyn Fn(&Row<'_>) -> Option<Place>;

/// What could not be read, and why.
type Damaged = BTreeMap<Place, String>;

/// Reads everything, as it was at one moment.
pub(super) fn load(connection: &mut Connection, sealer: &dyn Sealer) -> Result<Catalog, Error> {
    let rows = connection.transaction()?;
    let mut damaged = Damaged::new();
    let servers = servers(&rows, sealer, &mut damaged)?;
    let inventories = inventories(&rows, &servers, &mut damaged)?;
    let mut catalog = Catalog {
        revision: revision(&rows)?,
        servers: Arc::new(servers),
        inventories: Arc::new(inventories),
        ..Catalog::default()
    };
    let virtual_servers = Arc::make_mut(&mut catalog.virtual_servers);
    let at = |row: &Row<'_>| Slug::parse("slug", text(row, 0).ok()?).ok().map(Place::VirtualServer);
    let sql = "SELECT slug, record FROM virtual_servers";
    each(&rows, ("virtual server", &at), sql, [], &mut damaged, |row| {
        let one = serde_json::from_str::<VirtualServerRecord>(text(row, 1)?)?.into_virtual_server()?;
        virtual_servers.insert(one.slug.clone(), Arc::new(one));
        Ok(())
    })?;
    let groups = Arc::make_mut(&mut catalog.groups);
    let at = |row: &Row<'_>| Some(Place::Group(text(row, 0).ok()?.to_owned()));
    each(&rows, ("group", &at), "SELECT name, record FROM groups", [], &mut damaged, |row| {
        let group = serde_json::from_str::<GroupRecord>(text(row, 1)?)?.into_group()?;
        groups.insert(group.name.clone(), Arc::new(group));
        Ok(())
    })?;
    let scopes = Arc::make_mut(&mut catalog.scopes);
    let sql = "SELECT name, description, record FROM scopes";
    each(&rows, ("scope", &|_| None), sql, [], &mut damaged, |row| {
        let scope = Scope::parse("name", text(row, 0)?)?;
        let document = scope_document(row);
        // In its place something that opens nothing: what it guards must not lie open.
        let kept = document.as_ref().map_or_else(|_| ScopeDocument::stand_in(), Clone::clone);
        scopes.insert(scope, Arc::new(kept));
        document.map(drop)
    })?;
    tokens(&rows, &mut catalog, &mut damaged)?;
    ratings(&rows, &mut catalog, &mut damaged)?;
    connections(&rows, &mut catalog, sealer, &mut damaged)?;
    catalog.unreadable = Arc::new(damaged);
    Ok(catalog)
}

/// Reads the catalog's revision.
pub(super) fn revision(connection: &Connection) -> Result<u64, Error> {
    let revision: i64 = connection.query_row("SELECT revision FROM state", [], |row| row.get(0))?;
    Ok(revision.cast_unsigned())
}

/// Reads one server; `None` where it is not there or `load` would leave it out.
pub(super) fn server(
    rows: &Connection,
    path: &ServerPath,
    sealer: &dyn Sealer,
) -> Result<Option<Arc<Server>>, Error> {
    let path = path.as_str();
    let mut damaged = Damaged::new();
    let sql = "SELECT path, label, record FROM versions WHERE path = ?1";
    let versions = versions(rows, sql, [path], sealer, &mut damaged)?;
    let sql = "SELECT path, record FROM servers WHERE path = ?1";
    Ok(assemble(rows, sql, [path], versions, &mut damaged)?.into_values().next())
}

fn servers(
    rows: &Connection,
    sealer: &dyn Sealer,
    damaged: &mut Damaged,
) -> Result<BTreeMap<ServerPath, Arc<Server>>, Error> {
    let versions = versions(rows, "SELECT path, label, record FROM versions", [], sealer, damaged)?;
    assemble(rows, "SELECT path, record FROM servers", [], versions, damaged)
}

fn versions(
    rows: &Connection,
    sql: &str,
    key: impl Params,
    sealer: &dyn Sealer,
    damaged: &mut Damaged,
) -> Result<HashMap<String, Vec<Version>>, Error> {
    let mut found: HashMap<String, Vec<Version>> = HashMap::new();
    let at = |row: &Row<'_>| {
        let path = ServerPath::parse("path", text(row, 0).ok()?).ok()?;
        let label = VersionLabel::parse("label", text(row, 1).ok()?).ok()?;
        Some(Place::Version(VersionKey { path, label }))
    };
    each(rows, ("version", &at), sql, key, damaged, |row| {
        let version = serde_json::from_str::<VersionRecord>(text(row, 2)?)?.into_version(sealer)?;
        let path = text(row, 0)?;
        match found.get_mut(path) {
            Some(versions) => versions.push(version),
            None => drop(found.insert(path.to_owned(), vec![version])),
        }
        Ok(())
    })?;
    Ok(found)
}

fn assemble(
    rows: &Connection,
    sql: &str,
    key: impl Params,
    mut versions: HashMap<String, Vec<Version>>,
    damaged: &mut Damaged,
) -> Result<BTreeMap<ServerPath, Arc<Server>>, Error> {
    let mut servers = BTreeMap::new();
    let at = |row: &Row<'_>| ServerPath::parse("path", text(row, 0).ok()?).ok().map(Place::Server);
    each(rows, ("server", &at), sql, key, damaged, |row| {
        let record: ServerRecord = serde_json::from_str(text(row, 1)?)?;
        let server = record.into_server(versions.remove(text(row, 0)?).unwrap_or_default())?;
        servers.insert(server.path.clone(), Arc::new(server));
        Ok(())
    })?;
    Ok(servers)
}

fn inventories(
    rows: &Connection,
    servers: &BTreeMap<ServerPath, Arc<Server>>,
    damaged: &mut Damaged,
) -> Result<HashMap<VersionKey, Arc<Inventory>>, Error> {
    let mut inventories = HashMap::new();
    let sql = "SELECT path, label, record, tools, prompts, resources, resource_templates FROM inventories";
    each(rows, ("inventory", &|_| None), sql, [], damaged, |row| {
        let owner = servers.get(text(row, 0)?);
        // Of a version that was left out itself: that is reported already.
        let Some((server, version)) = owner.zip(version_of(owner, text(row, 1)?)) else { return Ok(()) };
        let lists = InventoryLists {
            tools: text(row, 3)?,
            prompts: text(row, 4)?,
            resources: text(row, 5)?,
            resource_templates: text(row, 6)?,
        };
        let inventory = serde_json::from_str::<InventoryRecord>(text(row, 2)?)?.into_inventory(lists)?;
        inventories.insert(VersionKey::new(&server.path, version), Arc::new(inventory));
        Ok(())
    })?;
    Ok(inventories)
}

fn connections(
    rows: &Connection,
    catalog: &mut Catalog,
    sealer: &dyn Sealer,
    damaged: &mut Damaged,
) -> Result<(), Error> {
    let connections = Arc::make_mut(&mut catalog.connections);
    let sql = "SELECT path, record FROM connections";
    each(rows, ("connection", &|_| None), sql, [], damaged, |row| {
        // Of a server that was left out itself: that is reported already.
        if !catalog.servers.contains_key(text(row, 0)?) {
            return Ok(());
        }
        let one = serde_json::from_str::<ConnectionRecord>(text(row, 1)?)?.into_connection(sealer)?;
        connections.insert(one.key.clone(), Arc::new(one));
        Ok(())
    })
}

fn ratings(rows: &Connection, catalog: &mut Catalog, damaged: &mut Damaged) -> Result<(), Error> {
    let ratings = Arc::make_mut(&mut catalog.ratings);
    each(rows, ("rating", &|_| None), "SELECT path, user, rating FROM ratings", [], damaged, |row| {
        let stars = row.get(2).map_err(|error| Unreadable(error.to_string()))?;
        let (rated, user, stars) = RatingRecord::new(text(row, 0)?, text(row, 1)?, stars).into_rating()?;
        let is_there = match &rated {
            Rated::Server(path) => catalog.servers.contains_key(path),
            Rated::VirtualServer(slug) => catalog.virtual_servers.contains_key(slug),
        };
        // Of an object that was left out itself: that is reported already.
        if is_there {
            Arc::make_mut(ratings.entry(rated).or_default()).0.insert(user, stars);
        }
        Ok(())
    })
}

fn tokens(rows: &Connection, catalog: &mut Catalog, damaged: &mut Damaged) -> Result<(), Error> {
    let tokens = Arc::make_mut(&mut catalog.tokens);
    let at = |row: &Row<'_>| Some(Place::Token(text(row, 0).ok()?.into()));
    each(rows, ("token", &at), "SELECT id, record FROM tokens", [], damaged, |row| {
        let id = text(row, 0)?;
        let read = || {
            let token = serde_json::from_str::<TokenRecord>(text(row, 1)?)?.into_token()?;
            if *token.id == *id { Ok(token) } else { Err(Unreadable("it is of another token".into())) }
        };
        // Left out, a revoked token would be good again.
        let (token, result) = match read() {
            Ok(token) => (token, Ok(())),
            Err(reason) => (TokenRecord::stand_in(id, &reason), Err(reason)),
        };
        tokens.insert(token.id.clone(), Arc::new(token));
        result
    })
}

fn version_of<'a>(server: Option<&'a Arc<Server>>, label: &str) -> Option<&'a VersionLabel> {
    Some(&server?.version(label)?.label)
}

/// Goes through rows; `read` takes what it can, and what it cannot read is logged and noted under the row's key.
/// `kind` comes with the place that a row is the record of, where it is one that can be named.
fn each(
    rows: &Connection,
    (kind, place): (&str, Naming<'_>),
    sql: &str,
    key: impl Params,
    damaged: &mut Damaged,
    mut read: impl FnMut(&Row<'_>) -> Result<(), Unreadable>,
) -> Result<(), Error> {
    let mut statement = rows.prepare_cached(sql)?;
    let is_version = statement.column_names().any(|name| name == "label");
    let mut found = statement.query(key)?;
    while let Some(row) = found.next()? {
        if let Err(reason) = read(row) {
            let mut name = text(row, 0).unwrap_or("?").to_owned();
            if is_version {
                name.extend([":", text(row, 1).unwrap_or("?")]);
            }
            // What stands in a damaged row may be anything, and must not look like a line of the log.
            let (shown, reason) = (name.escape_debug(), reason.to_string());
            tracing::error!(kind, name = %shown, ?reason, "a stored record cannot be read and is left out");
            let place = place(row).unwrap_or_else(|| Place::Other(format!("{kind} {name}")));
            damaged.insert(place, format!("its stored record cannot be read: {reason}"));
        }
    }
    Ok(())
}

fn scope_document(row: &Row<'_>) -> Result<ScopeDocument, Unreadable> {
    let description = text(row, 1)?.to_owned();
    if matches!(row.get_ref(2), Ok(ValueRef::Null)) {
        return Ok(ScopeDocument::described(description));
    }
    Ok(serde_json::from_str::<ScopeRecord>(text(row, 2)?)?.into_document(description))
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, Unreadable> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes)) => {
            std::str::from_utf8(bytes).map_err(|error| Unreadable(format!("column {column}: {error}")))
        }
        _ => Err(Unreadable(format!("column {column} is no text"))),
    }
}

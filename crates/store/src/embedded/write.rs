//! A change to rows, in one transaction.

use catalog::VersionKey;
use catalog::inventory::Inventory;
use catalog::name::{ServerPath, VersionLabel};
use catalog::rating::{Rated, Stars};
use catalog::server::Server;
use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, TransactionBehavior, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{audit, read};
use crate::change::{Change, Edit, Expect};
use crate::error::Error;
use crate::record::{
    ConnectionRecord, GroupRecord, InventoryLists, InventoryRecord, RatingRecord, ScopeRecord, Sealer,
    ServerRecord, TokenRecord, VersionRecord, VirtualServerRecord,
};

/// Writes a change whole and returns the catalog's new revision.
pub(super) fn apply(connection: &mut Connection, change: &Change, sealer: &dyn Sealer) -> Result<u64, Error> {
    let rows = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for expect in &change.expects {
        check(&rows, expect)?;
    }
    for edit in &change.edits {
        write(&rows, edit, sealer)?;
    }
    if let Some(entry) = &change.entry {
        audit::append(&rows, entry)?;
    }
    let sql = "UPDATE state SET revision = revision + 1 RETURNING revision";
    let revision: i64 = rows.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    rows.commit()?;
    Ok(revision.cast_unsigned())
}

/// Seals anew what was sealed with an older key, and returns how many rows held such. A row that cannot be read stays.
pub(super) fn reseal(connection: &mut Connection, sealer: &dyn Sealer) -> Result<usize, Error> {
    let rows = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let versions = reseal_rows(
        &rows,
        (
            "SELECT path, label, '', record FROM versions",
            "UPDATE versions SET record = ?4 WHERE path = ?1 AND label = ?2 AND ?3 = ''",
        ),
        |record: &mut VersionRecord| record.reseal(sealer),
    )?;
    let connections = reseal_rows(
        &rows,
        (
            "SELECT path, issuer, subject, record FROM connections",
            "UPDATE connections SET record = ?4 WHERE path = ?1 AND issuer = ?2 AND subject = ?3",
        ),
        |record: &mut ConnectionRecord| record.reseal(sealer),
    )?;
    rows.commit()?;
    Ok(versions + connections)
}

fn reseal_rows<Record: Serialize + DeserializeOwned>(
    rows: &Transaction<'_>,
    (find, replace): (&str, &str),
    mut reseal: impl FnMut(&mut Record) -> bool,
) -> Result<usize, Error> {
    let mut statement = rows.prepare(find)?;
    let column = |row: &Row<'_>, index| row.get::<_, String>(index);
    let found = statement
        .query_map([], |row| Ok([column(row, 0)?, column(row, 1)?, column(row, 2)?, column(row, 3)?]))?;
    let mut changed = Vec::new();
    for row in found {
        let Ok([path, second, third, text]) = row else { continue };
        let Ok(mut record) = serde_json::from_str::<Record>(&text) else { continue };
        if reseal(&mut record) {
            changed.push([path, second, third, json(&record)]);
        }
    }
    for row in &changed {
        run(rows, replace, row.each_ref())?;
    }
    Ok(changed.len())
}

fn check(rows: &Transaction<'_>, expect: &Expect) -> Result<(), Error> {
    let (what, current, expected) = match expect {
        Expect::Server(path, expected) => {
            let current = revision_of(rows, "SELECT revision FROM servers WHERE path = ?1", path.as_str())?;
            (format!("server {path}"), current, expected)
        }
        Expect::VirtualServer(slug, expected) => {
            let sql = "SELECT revision FROM virtual_servers WHERE slug = ?1";
            (format!("virtual server {}", slug.path()), revision_of(rows, sql, slug.as_str())?, expected)
        }
        Expect::Group(name, expected) => {
            let sql = "SELECT revision FROM groups WHERE name = ?1";
            (format!("group {name}"), revision_of(rows, sql, name)?, expected)
        }
    };
    if current == *expected { Ok(()) } else { Err(Error::Moved { what, current }) }
}

fn revision_of(rows: &Transaction<'_>, sql: &str, key: &str) -> Result<Option<u64>, Error> {
    let revision: Option<i64> = rows.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
    Ok(revision.map(i64::cast_unsigned))
}

fn write(rows: &Transaction<'_>, edit: &Edit, sealer: &dyn Sealer) -> Result<(), Error> {
    match edit {
        Edit::PutServer { server, versions, removed } => put_server(rows, server, versions, removed, sealer),
        Edit::DeleteServer(path) => delete_server(rows, path),
        Edit::PutInventory(key, inventory) => put_inventory(rows, key, inventory),
        Edit::PutVirtualServer(one) => {
            let record = json(&VirtualServerRecord::of(one));
            let sql = "INSERT OR REPLACE INTO virtual_servers VALUES (?1, ?2, ?3)";
            run(rows, sql, params![one.slug.as_str(), one.revision.cast_signed(), record])
        }
        Edit::DeleteVirtualServer(slug) => {
            run(rows, "DELETE FROM ratings WHERE path = ?1", [slug.path()])?;
            run(rows, "DELETE FROM virtual_servers WHERE slug = ?1", [slug.as_str()])
        }
        Edit::PutGroup(group) => {
            let sql = "INSERT OR REPLACE INTO groups VALUES (?1, ?2, ?3)";
            run(rows, sql, params![group.name, group.revision.cast_signed(), json(&GroupRecord::of(group))])
        }
        Edit::DeleteGroup(name) => run(rows, "DELETE FROM groups WHERE name = ?1", [name]),
        Edit::PutScope(scope, document) => {
            let record = ScopeRecord::of(document).map(|record| json(&record));
            let sql = "INSERT OR REPLACE INTO scopes (name, description, record) VALUES (?1, ?2, ?3)";
            run(rows, sql, params![scope.as_str(), document.description, record])
        }
        Edit::DeleteScope(scope) => run(rows, "DELETE FROM scopes WHERE name = ?1", [scope.as_str()]),
        Edit::PutToken(token) => {
            let record = json(&TokenRecord::of(token));
            run(rows, "INSERT OR REPLACE INTO tokens VALUES (?1, ?2)", [&*token.id, &record])
        }
        Edit::DeleteToken(id) => run(rows, "DELETE FROM tokens WHERE id = ?1", [&**id]),
        Edit::PutConnection(one) => {
            let sql = "INSERT OR REPLACE INTO connections SELECT ?1, ?2, ?3, ?4
                WHERE EXISTS (SELECT 1 FROM servers WHERE path = ?1)";
            let (key, record) = (&one.key, json(&ConnectionRecord::of(one, sealer)));
            run(rows, sql, [key.server.as_str(), &*key.user.issuer, &*key.user.subject, &record])
        }
        Edit::DeleteConnection(key) => {
            let sql = "DELETE FROM connections WHERE path = ?1 AND issuer = ?2 AND subject = ?3";
            run(rows, sql, [key.server.as_str(), &*key.user.issuer, &*key.user.subject])
        }
        Edit::PutRating { rated, user, stars } => put_rating(rows, rated, user, *stars),
    }
}

fn put_server(
    rows: &Transaction<'_>,
    server: &Server,
    versions: &[VersionLabel],
    removed: &[VersionLabel],
    sealer: &dyn Sealer,
) -> Result<(), Error> {
    let path = &server.path;
    if read::server(rows, path, sealer)?.is_none() {
        // What is left of a server that cannot be read must not come back as part of this one.
        delete_server(rows, path)?;
    }
    for label in removed {
        let key = [path.as_str(), label.as_str()];
        run(rows, "DELETE FROM versions WHERE path = ?1 AND label = ?2", key)?;
        run(rows, "DELETE FROM inventories WHERE path = ?1 AND label = ?2", key)?;
    }
    for version in versions.iter().filter_map(|label| server.version(label.as_str())) {
        let record = json(&VersionRecord::of(path, version, sealer));
        let sql = "INSERT OR REPLACE INTO versions VALUES (?1, ?2, ?3)";
        run(rows, sql, [path.as_str(), version.label.as_str(), &record])?;
    }
    let sql = "INSERT OR REPLACE INTO servers VALUES (?1, ?2, ?3)";
    run(rows, sql, params![path.as_str(), server.revision.cast_signed(), json(&ServerRecord::of(server))])
}

fn delete_server(rows: &Transaction<'_>, path: &ServerPath) -> Result<(), Error> {
    for table in ["servers", "versions", "inventories", "ratings", "connections"] {
        run(rows, &format!("DELETE FROM {table} WHERE path = ?1"), [path.as_str()])?;
    }
    Ok(())
}

fn put_inventory(rows: &Transaction<'_>, key: &VersionKey, inventory: &Inventory) -> Result<(), Error> {
    let record = json(&InventoryRecord::of(key, inventory));
    let lists = InventoryLists::of(inventory);
    let sql = "INSERT OR REPLACE INTO inventories SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
        WHERE EXISTS (SELECT 1 FROM versions WHERE path = ?1 AND label = ?2)";
    let values = params![
        key.path.as_str(),
        key.label.as_str(),
        record,
        lists.tools,
        lists.prompts,
        lists.resources,
        lists.resource_templates
    ];
    run(rows, sql, values)
}

fn put_rating(rows: &Transaction<'_>, rated: &Rated, user: &str, stars: Stars) -> Result<(), Error> {
    let (table, key, name) = match rated {
        Rated::Server(path) => ("servers", "path", path.as_str()),
        Rated::VirtualServer(slug) => ("virtual_servers", "slug", slug.as_str()),
    };
    let sql = format!(
        "INSERT OR REPLACE INTO ratings SELECT ?1, ?2, ?3
        WHERE EXISTS (SELECT 1 FROM {table} WHERE {key} = ?4)"
    );
    run(rows, &sql, params![RatingRecord::path_of(rated), user, stars.count(), name])
}

fn run(rows: &Transaction<'_>, sql: &str, values: impl Params) -> Result<(), Error> {
    rows.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

fn json(record: &impl Serialize) -> String {
    serde_json::to_string(record).expect("records hold nothing that JSON cannot")
}

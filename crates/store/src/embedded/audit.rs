//! The audit trail in its table.

use catalog::time::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, Row, named_params, params};

use crate::audit::{Entry, Kept, Outcome, Page, Query, Retention};
use crate::error::Error;

/// Entries dropped under one lock. Takes a few milliseconds.
pub(super) const SWEEP_BATCH: u64 = 1000;

/// What a query lets through.
const MATCHES: &str = "(:actor IS NULL OR actor = :actor)
    AND (:action IS NULL OR action = :action OR substr(action, 1, length(:action) + 1) = :action || '.')
    AND (:object IS NULL OR object = :object) AND (:since IS NULL OR at >= :since)";

/// Adds an entry.
pub(super) fn append(rows: &Connection, entry: &Entry) -> Result<(), Error> {
    let sql = "INSERT INTO audit (at, actor, action, object, outcome, detail, source)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    rows.prepare_cached(sql)?.execute(params![
        entry.at.0,
        &*entry.actor,
        &*entry.action,
        entry.object,
        entry.outcome.as_str(),
        entry.detail,
        entry.source.map(|source| source.to_string()),
    ])?;
    Ok(())
}

/// Returns a page of entries, newest first.
pub(super) fn find(connection: &mut Connection, query: &Query) -> Result<Page, Error> {
    let rows = connection.transaction()?;
    let (actor, action, object) = (&query.actor, &query.action, &query.object);
    let since = query.since.map(|since| since.0);
    let total: i64 = rows.query_row(
        &format!("SELECT count(*) FROM audit WHERE {MATCHES}"),
        named_params! { ":actor": actor, ":action": action, ":object": object, ":since": since },
        |row| row.get(0),
    )?;
    let mut statement = rows.prepare(&format!(
        "SELECT id, at, actor, action, object, outcome, detail, source FROM audit WHERE {MATCHES}
        ORDER BY id DESC LIMIT :limit OFFSET :offset"
    ))?;
    let (limit, offset) = (clamp(query.limit), clamp(query.offset));
    let found = statement.query_map(
        named_params! { ":actor": actor, ":action": action, ":object": object, ":since": since,
        ":limit": limit, ":offset": offset },
        read,
    )?;
    Ok(Page { entries: found.collect::<Result<_, _>>()?, total: total.cast_unsigned() })
}

/// Drops up to [`SWEEP_BATCH`] entries that are past keeping and returns how many.
pub(super) fn sweep_some(connection: &Connection, keep: &Retention) -> Result<u64, Error> {
    // The entry behind the last one that may stay is the first that has to go.
    let sql = "DELETE FROM audit WHERE id IN (
        SELECT id FROM audit WHERE at < :since
            OR id <= (SELECT id FROM audit ORDER BY id DESC LIMIT 1 OFFSET :most)
            OR (outcome = 'refused' AND id <= (
                SELECT id FROM audit WHERE outcome = 'refused' ORDER BY id DESC LIMIT 1 OFFSET :most_refused))
        ORDER BY id LIMIT :batch)";
    let most = i64::try_from(keep.most).unwrap_or(i64::MAX);
    let most_refused = i64::try_from(keep.most_refused).unwrap_or(i64::MAX);
    let dropped = connection.prepare_cached(sql)?.execute(named_params! {
        ":since": keep.since.0, ":most": most, ":most_refused": most_refused, ":batch": SWEEP_BATCH as i64
    })?;
    Ok(dropped as u64)
}

fn clamp(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn read(row: &Row<'_>) -> Result<Kept, rusqlite::Error> {
    let outcome: String = row.get(5)?;
    let unknown =
        || rusqlite::Error::FromSqlConversionFailure(5, Type::Text, "neither ok nor refused".into());
    let source: Option<String> = row.get(7)?;
    let entry = Entry {
        at: Timestamp(row.get(1)?),
        actor: row.get(2)?,
        action: row.get(3)?,
        object: row.get(4)?,
        outcome: Outcome::parse(&outcome).ok_or_else(unknown)?,
        detail: row.get(6)?,
        source: source.and_then(|text| text.parse().ok()),
    };
    Ok(Kept { id: row.get::<_, i64>(0)?.cast_unsigned(), entry })
}

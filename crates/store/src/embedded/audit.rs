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
    AND (:object IS NULL OR object = :object) AND (:outcome IS NULL OR outcome = :outcome)
    AND (:since IS NULL OR at >= :since) AND (:until IS NULL OR at < :until)
    AND (:below IS NULL OR id < :below)";

/// What tells calls from other deeds; the same words as in the index of them.
const IS_CALL: &str = "action >= 'mcp.' AND action < 'mcp/'";

/// Adds an entry.
pub(super) fn append(rows: &Connection, entry: &Entry) -> Result<(), Error> {
    let sql = "INSERT INTO audit (at, actor, action, object, outcome, detail, source, data)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    rows.prepare_cached(sql)?.execute(params![
        entry.at.0,
        &*entry.actor,
        &*entry.action,
        entry.object,
        entry.outcome.as_str(),
        entry.detail,
        entry.source.map(|source| source.to_string()),
        entry.data,
    ])?;
    Ok(())
}

/// Adds entries, all or none.
pub(super) fn append_all(connection: &mut Connection, entries: &[Entry]) -> Result<(), Error> {
    let rows = connection.transaction()?;
    for entry in entries {
        append(&rows, entry)?;
    }
    Ok(rows.commit()?)
}

/// Returns a page of entries, newest first.
pub(super) fn find(connection: &mut Connection, query: &Query) -> Result<Page, Error> {
    let rows = connection.transaction()?;
    let filter = named_params! {
        ":actor": query.actor, ":action": query.action, ":object": query.object,
        ":outcome": query.outcome.map(Outcome::as_str), ":since": query.since.map(|since| since.0),
        ":until": query.until.map(|until| until.0), ":below": query.below.map(u64::cast_signed),
    };
    let total: i64 = match query.below {
        None => {
            rows.query_row(&format!("SELECT count(*) FROM audit WHERE {MATCHES}"), filter, |row| row.get(0))?
        }
        Some(_) => 0,
    };
    let mut statement = rows.prepare(&format!(
        "SELECT id, at, actor, action, object, outcome, detail, source, data FROM audit WHERE {MATCHES}
        ORDER BY id DESC LIMIT :limit OFFSET :offset"
    ))?;
    let (limit, offset) = (clamp(query.limit), clamp(query.offset));
    let page = named_params! { ":limit": limit, ":offset": offset };
    let found = statement.query_map(&[filter, page].concat()[..], read)?;
    Ok(Page { entries: found.collect::<Result<_, _>>()?, total: total.cast_unsigned() })
}

/// Drops up to [`SWEEP_BATCH`] entries that are past keeping and returns how many.
pub(super) fn sweep_some(connection: &Connection, keep: &Retention) -> Result<u64, Error> {
    // The entry behind the last one that may stay is the first that has to go.
    let sql = format!(
        "DELETE FROM audit WHERE id IN (
        SELECT id FROM audit WHERE at < :since
            OR ({IS_CALL} AND id <= (
                SELECT id FROM audit WHERE {IS_CALL} ORDER BY id DESC LIMIT 1 OFFSET :most_calls))
            OR (NOT ({IS_CALL}) AND id <= (
                SELECT id FROM audit WHERE NOT ({IS_CALL}) ORDER BY id DESC LIMIT 1 OFFSET :most))
            OR (NOT ({IS_CALL}) AND outcome = 'refused' AND id <= (
                SELECT id FROM audit WHERE NOT ({IS_CALL}) AND outcome = 'refused'
                ORDER BY id DESC LIMIT 1 OFFSET :most_refused))
        ORDER BY id LIMIT :batch)"
    );
    let most = i64::try_from(keep.most).unwrap_or(i64::MAX);
    let most_calls = i64::try_from(keep.most_calls).unwrap_or(i64::MAX);
    let most_refused = i64::try_from(keep.most_refused).unwrap_or(i64::MAX);
    let dropped = connection.prepare_cached(&sql)?.execute(named_params! {
        ":since": keep.since.0, ":most": most, ":most_calls": most_calls, ":most_refused": most_refused, ":batch": SWEEP_BATCH as i64
    })?;
    Ok(dropped as u64)
}

fn clamp(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn read(row: &Row<'_>) -> Result<Kept, rusqlite::Error> {
    let outcome: String = row.get(5)?;
    let unknown =
        || rusqlite::Error::FromSqlConversionFailure(5, Type::Text, "none of ok, refused, error".into());
    let source: Option<String> = row.get(7)?;
    let entry = Entry {
        at: Timestamp(row.get(1)?),
        actor: row.get(2)?,
        action: row.get(3)?,
        object: row.get(4)?,
        outcome: Outcome::parse(&outcome).ok_or_else(unknown)?,
        detail: row.get(6)?,
        source: source.and_then(|text| text.parse().ok()),
        data: row.get::<_, Option<String>>(8)?.map(Into::into),
    };
    Ok(Kept { id: row.get::<_, i64>(0)?.cast_unsigned(), entry })
}

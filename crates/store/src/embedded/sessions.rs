//! Backend sessions in their own file, where a write need not wait for the disk.

use std::path::{Path, PathBuf};

use catalog::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::database::{self, Kind};
use crate::error::Error;

/// Sessions dropped under one lock. Takes a few milliseconds.
pub(super) const SWEEP_BATCH: u64 = 1000;

/// Opens the sessions. A file that is damaged, or that a newer program wrote, is begun anew: it costs some
/// fresh greetings, and nothing else.
pub(super) fn open(file: &Path) -> Result<Connection, Error> {
    match database::open(file, Kind::Sessions) {
        Err(reason @ (Error::Corrupt(_) | Error::Newer { .. })) => {
            tracing::warn!(%reason, file = %file.display(), "the kept sessions are given up");
            for suffix in ["", "-wal", "-shm"] {
                let mut name = file.as_os_str().to_owned();
                name.push(suffix);
                // What cannot be removed makes the second attempt fail, and that is told.
                let _ = std::fs::remove_file(PathBuf::from(name));
            }
            database::open(file, Kind::Sessions)
        }
        other => other,
    }
}

pub(super) fn keep(
    connection: &Connection,
    key: &str,
    value: &[u8],
    expires_at: Timestamp,
) -> Result<(), Error> {
    let sql = "INSERT INTO sessions VALUES (?1, ?2, ?3)
        ON CONFLICT DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at";
    connection.prepare_cached(sql)?.execute(params![key, value, expires_at.0])?;
    Ok(())
}

pub(super) fn find(connection: &Connection, key: &str, now: Timestamp) -> Result<Option<Vec<u8>>, Error> {
    let sql = "SELECT value FROM sessions WHERE key = ?1 AND expires_at > ?2";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row(params![key, now.0], |row| row.get(0)).optional()?)
}

pub(super) fn forget(connection: &Connection, key: &str) -> Result<(), Error> {
    connection.prepare_cached("DELETE FROM sessions WHERE key = ?1")?.execute([key])?;
    Ok(())
}

/// Drops up to [`SWEEP_BATCH`] expired sessions and returns how many.
pub(super) fn sweep_some(connection: &Connection, now: Timestamp) -> Result<u64, Error> {
    let sql = "DELETE FROM sessions WHERE key IN
        (SELECT key FROM sessions WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.0, SWEEP_BATCH as i64])? as u64)
}

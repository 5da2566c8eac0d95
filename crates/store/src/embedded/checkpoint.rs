//! Carrying the write-ahead log over into the catalog's file, beside the changes and not within one: by itself SQLite
//! has the change that fills the log wait for all of it.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::error::Error;

/// Pages that gather in the log before they are carried over: four megabytes. Small, since the disk that syncs them
/// keeps changes waiting meanwhile.
pub(super) const PAGES: u64 = 256;
/// Pages after which a change carries them over itself, where we do not keep up: sixty-four megabytes.
const MAX_PAGES: u64 = 4096;
/// How often to begin anew for what was written meanwhile. The log starts over only once all of it is carried over.
const ROUNDS: usize = 4;

/// The pages of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Log {
    all: u64,
    carried_over: u64,
}

/// Opens a connection of its own to carry the log over, so that no change waits for that one.
pub(super) fn open(file: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Has the connection that writes leave the log to us.
pub(super) fn leave_to_us(writer: &Connection) -> Result<(), Error> {
    let pages = i64::try_from(MAX_PAGES).expect("a few thousand");
    writer.pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(()))?;
    Ok(())
}

/// Returns how many pages of the log wait to be carried over.
pub(super) fn waiting(connection: &Connection) -> Result<u64, Error> {
    // Does nothing but tell.
    let log = run(connection, "PRAGMA wal_checkpoint(NOOP)")?;
    Ok(log.all - log.carried_over)
}

/// Carries over what is there, while others may read and write. Returns how many pages remain.
pub(super) fn carry_over(connection: &Connection) -> Result<u64, Error> {
    let mut remaining = 0;
    for _ in 0..ROUNDS {
        let log = run(connection, "PRAGMA wal_checkpoint(PASSIVE)")?;
        remaining = log.all - log.carried_over;
        if remaining == 0 {
            break;
        }
    }
    Ok(remaining)
}

fn run(connection: &Connection, sql: &str) -> Result<Log, Error> {
    // Minus one where nothing was ever written.
    let pages = |count: i64| u64::try_from(count).unwrap_or(0);
    let read =
        |row: &rusqlite::Row<'_>| Ok(Log { all: pages(row.get(1)?), carried_over: pages(row.get(2)?) });
    Ok(connection.prepare_cached(sql)?.query_row([], read)?)
}

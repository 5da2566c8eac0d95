//! Opening a database file: its settings, its schema, and what its errors mean.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::directory::{open_private, unavailable};
use crate::error::Error;

/// How long to wait for another tool that holds the database, for example a backup.
const BUSY: Duration = Duration::from_secs(5);

/// Size in bytes to which the write-ahead log is cut back after a large change.
const LOG_BYTES: i64 = 16 * 1024 * 1024;

/// Size in bytes of a page of a new catalog. Inventories are long rows: with pages of the usual 4 KiB, reading
/// 400 MB of them at a start spends twice the time in the kernel.
const CATALOG_PAGE_BYTES: i64 = 16 * 1024;

/// Compiled statements kept; more than there are in the code.
const STATEMENTS: usize = 64;

/// What users allow at backends.
const CONNECTIONS: &str = "
    CREATE TABLE connections (
        path TEXT NOT NULL, issuer TEXT NOT NULL, subject TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY (path, issuer, subject)
    ) STRICT, WITHOUT ROWID;
";

/// Steps from an empty catalog file to today's. A step that was released is never edited.
const CATALOG_STEPS: &[&str] = &["
    CREATE TABLE state (
        one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL
    ) STRICT;
    INSERT INTO state VALUES (1, 0);
    CREATE TABLE servers (
        path TEXT PRIMARY KEY, revision INTEGER NOT NULL, record TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE versions (
        path TEXT NOT NULL, label TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (path, label)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE inventories (
        path TEXT NOT NULL, label TEXT NOT NULL, record TEXT NOT NULL, tools TEXT NOT NULL,
        prompts TEXT NOT NULL, resources TEXT NOT NULL, resource_templates TEXT NOT NULL,
        PRIMARY KEY (path, label)
    ) STRICT;
    CREATE TABLE virtual_servers (
        slug TEXT PRIMARY KEY, revision INTEGER NOT NULL, record TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE groups (
        name TEXT PRIMARY KEY, revision INTEGER NOT NULL, record TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE scopes (name TEXT PRIMARY KEY, description TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE tokens (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
", "
    CREATE TABLE ratings (
        path TEXT NOT NULL, user TEXT NOT NULL, rating INTEGER NOT NULL, PRIMARY KEY (path, user)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE audit (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
        object TEXT, outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'refused')), detail TEXT NOT NULL, source TEXT
    ) STRICT;
", "
    ALTER TABLE scopes ADD COLUMN record TEXT;
", CONNECTIONS, DEEDS];

/// The trail anew: deeds may fail, and tell what was before and after; calls of MCP are found by an index of their own.
const DEEDS: &str = "
    CREATE TABLE deeds (
        id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
        object TEXT, outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'refused', 'error')), detail TEXT NOT NULL,
        source TEXT, data TEXT
    ) STRICT;
    INSERT INTO deeds SELECT id, at, actor, action, object, outcome, detail, source, NULL FROM audit;
    DELETE FROM sqlite_sequence WHERE name = 'deeds';
    INSERT INTO sqlite_sequence (name, seq) SELECT 'deeds', seq FROM sqlite_sequence WHERE name = 'audit';
    DROP TABLE audit;
    ALTER TABLE deeds RENAME TO audit;
    CREATE INDEX audit_calls ON audit (id) WHERE action >= 'mcp.' AND action < 'mcp/';
";

/// As above, for the sessions.
const SESSION_STEPS: &[&str] = &["
    CREATE TABLE sessions (
        key TEXT PRIMARY KEY, value BLOB NOT NULL, expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX sessions_by_expiry ON sessions (expires_at);
"];

/// Which of the two databases a file is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Synced to the disk with every change.
    Catalog,
    /// Synced now and then: the last sessions may be lost with the power, never by a crash of ours.
    Sessions,
}

/// Opens a database for reading and writing, made and brought up to date where needed.
pub(super) fn open(file: &Path, kind: Kind) -> Result<Connection, Error> {
    // Made by us, since SQLite would let everybody read it. Its log takes over the mode.
    open_private(file).map_err(|error| unavailable("cannot open", file, &error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY)?;
    if matches!(kind, Kind::Catalog) {
        // Comes before anything that writes, and is ignored where the file holds something.
        connection.pragma_update(None, "page_size", CATALOG_PAGE_BYTES)?;
    }
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        let name = file.display();
        return Err(Error::Unavailable(format!("{name} lies where SQLite cannot keep a write-ahead log")));
    }
    let (steps, synchronous) = match kind {
        Kind::Catalog => (CATALOG_STEPS, "FULL"),
        Kind::Sessions => (SESSION_STEPS, "NORMAL"),
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    migrate(&mut connection, file, steps)?;
    Ok(connection)
}

/// Opens a database that [`open`] has brought up to date, for reading alone.
pub(super) fn open_to_read(file: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

fn migrate(connection: &mut Connection, file: &Path, steps: &[&str]) -> Result<(), Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = i64::try_from(steps.len()).expect("a handful of steps");
    let done = match usize::try_from(found) {
        Ok(done) if done <= steps.len() => done,
        _ => return Err(Error::Newer { file: file.to_owned(), found, known }),
    };
    for step in &steps[done..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    Ok(transaction.commit()?)
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;

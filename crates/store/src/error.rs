//! Why a store could not do what it was asked for.

use std::path::PathBuf;

/// Why a store failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An expectation of the change does not hold: somebody else wrote meanwhile. Nothing was stored; read
    /// again and decide anew.
    #[error("{what} {}", moved(*.current))]
    Moved {
        /// The object, for example `server /context7`.
        what: String,
        /// The revision it is at, `None` where it does not exist.
        current: Option<u64>,
    },
    /// Another process has the data directory.
    #[error("the data directory {} is in use by another switchyard process", .0.display())]
    InUse(PathBuf),
    /// The data was written by a newer program, whose shapes this one does not know.
    #[error("{} was written by a newer version of switchyard (schema {found}, this one knows {known})", .file.display())]
    Newer {
        /// The database file.
        file: PathBuf,
        /// The schema it has.
        found: i64,
        /// The latest schema known here.
        known: i64,
    },
    /// The database itself is damaged. Only a backup helps.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// The store cannot be reached or cannot write (disk full, no permission); trying again may help.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
}

fn moved(current: Option<u64>) -> String {
    match current {
        Some(revision) => format!("changed meanwhile and is at revision {revision}"),
        None => "does not exist".into(),
    }
}

//! The data directory: made for its owner alone, and taken by one process at a time.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::path::Path;

use crate::error::Error;

/// File whose lock means that the directory is taken. It stays behind, empty, and means nothing unlocked.
const LOCK_FILE: &str = "switchyard.lock";

/// Makes the directory where it is missing and takes it, until the returned file is closed.
pub(super) fn take(directory: &Path) -> Result<File, Error> {
    make(directory).map_err(|error| unavailable("cannot make the data directory", directory, &error))?;
    let path = directory.join(LOCK_FILE);
    let file = open_private(&path).map_err(|error| unavailable("cannot open", &path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse(directory.to_owned())),
        Err(TryLockError::Error(error)) => Err(unavailable("cannot lock", &path, &error)),
    }
}

/// Waits until files made in the directory would survive a loss of power.
pub(super) fn sync(directory: &Path) -> Result<(), Error> {
    let synced = File::open(directory).and_then(|file| file.sync_all());
    synced.map_err(|error| unavailable("cannot sync", directory, &error))
}

/// Opens a file, made readable for its owner alone where it is missing.
pub(super) fn open_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Says what could not be done with a file.
pub(super) fn unavailable(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Unavailable(format!("{what} {}: {error}", path.display()))
}

fn make(directory: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

//! Files that are read whole, up to a bound: a device or a wrong file must not fill the memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Largest file that holds a secret; tokens and keys are a few hundred bytes, a signed one a few thousand.
pub(crate) const MAX_SECRET_BYTES: u64 = 64 << 10;

/// Reads a secret, without the blanks around it.
pub(crate) fn secret(file: &Path) -> io::Result<String> {
    let text = text(File::open(file)?, MAX_SECRET_BYTES)?;
    Ok(text.trim().to_owned())
}

/// Reads a text to its end.
///
/// **Errors:** that it is longer than `most` bytes; no more than these are taken in.
pub(crate) fn text(source: impl Read, most: u64) -> io::Result<String> {
    String::from_utf8(bytes(source, most)?).map_err(|_| io::Error::other("is no text"))
}

/// Reads bytes to their end; fails as [`text`] does.
pub(crate) fn bytes(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("is longer than {most} bytes; is it the right file?")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;

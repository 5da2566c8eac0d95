//! The root key of an installation, its file, and the keys derived from it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::rand;
use zeroize::Zeroizing;

/// Bytes of the root key and of each key derived from it.
pub const KEY_BYTES: usize = 32;

/// The one secret of an installation. Every other key is derived from it by purpose.
#[derive(Clone)]
pub struct RootKey(Zeroizing<[u8; KEY_BYTES]>);

/// Why the root key could not be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The key file could not be read or written.
    #[error("key file {}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The text is not a key.
    #[error("{from} does not hold a key of {KEY_BYTES} bytes in hexadecimal")]
    NotAKey {
        /// The file or setting it came from.
        from: String,
    },
}

impl RootKey {
    /// Reads the key file, or creates it with a fresh key where there is none.
    ///
    /// The file holds 64 hexadecimal digits and a newline, mode 0600. It appears whole or not at all, and
    /// where two processes create it at once both get the same key.
    pub fn load_or_create(file: &Path) -> Result<Self, Error> {
        let failed = |source| Error::File { file: file.to_owned(), source };
        match fs::read_to_string(file) {
            Ok(text) => return Self::from_text(&Zeroizing::new(text), &file.display().to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let mut fresh = Zeroizing::new([0; KEY_BYTES]);
        fill_random(fresh.as_mut());
        match write_new(file, &hex(fresh.as_ref())) {
            Ok(()) => Ok(Self(fresh)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let text = Zeroizing::new(fs::read_to_string(file).map_err(failed)?);
                Self::from_text(&text, &file.display().to_string())
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Takes a key from 64 hexadecimal digits; blanks around them are ignored.
    pub fn from_hex(text: &str) -> Result<Self, Error> {
        Self::from_text(text, "the given text")
    }

    fn from_text(text: &str, from: &str) -> Result<Self, Error> {
        let digits = text.trim().as_bytes();
        let not_a_key = || Error::NotAKey { from: from.to_owned() };
        if digits.len() != 2 * KEY_BYTES {
            return Err(not_a_key());
        }
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
            let (Some(high), Some(low)) = (high, low) else { return Err(not_a_key()) };
            *byte = (high * 16 + low) as u8;
        }
        Ok(Self(key))
    }

    /// Derives the key for one purpose (HKDF-SHA256, RFC 5869). Keys of two purposes tell nothing of each other.
    pub fn derive(&self, purpose: &str) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        Salt::new(HKDF_SHA256, &[])
            .extract(self.0.as_ref())
            .expand(&[purpose.as_bytes()], HKDF_SHA256)
            .and_then(|material| material.fill(&mut key))
            .expect("32 bytes are within what HKDF-SHA256 can give");
        key
    }
}

impl std::fmt::Debug for RootKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RootKey(secret)")
    }
}

/// Fills a buffer from the system's source of randomness.
pub(crate) fn fill_random(bytes: &mut [u8]) {
    rand::fill(bytes).expect("the system's source of randomness works");
}

/// Writes bytes in hexadecimal, lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).expect("four bits are one digit"));
        }
        text
    })
}

/// Creates a file with one line, whole, readable by its owner alone. Fails where the file exists.
fn write_new(file: &Path, line: &str) -> io::Result<()> {
    let mut suffix = [0; 8];
    fill_random(&mut suffix);
    let mut aside = file.as_os_str().to_owned();
    aside.push(format!(".{}.new", hex(&suffix)));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut target = options.open(&aside)?;
    // A hard link, unlike a rename, never replaces a key that another process wrote meanwhile.
    let linked = writeln!(target, "{line}")
        .and_then(|()| target.sync_all())
        .and_then(|()| fs::hard_link(&aside, file));
    fs::remove_file(&aside)?;
    linked
}

#[cfg(test)]
mod tests;

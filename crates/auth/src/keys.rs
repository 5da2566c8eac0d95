//! The root key of an installation, the older ones that are still let open things, their file, and the keys derived from
//! them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::rand;
use zeroize::Zeroizing;

/// Bytes of the root key and of each key derived from it.
pub const KEY_BYTES: usize = 32;

/// Most keys at once. Each more is tried with whatever the ones before do not open.
pub const MAX_KEYS: usize = 8;

/// The secret of an installation. Every other key is derived from it by purpose.
///
/// While it is being replaced there are several: the first makes, all of them open.
#[derive(Clone)]
pub struct RootKey(Vec<Zeroizing<[u8; KEY_BYTES]>>);

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
    /// The text is not one key or several.
    #[error(
        "{from} does not hold keys of {KEY_BYTES} bytes in hexadecimal, one to {MAX_KEYS} of them, each once"
    )]
    NotAKey {
        /// The file or setting it came from.
        from: String,
    },
}

impl RootKey {
    /// Reads the key file, or creates it with a fresh key where there is none.
    ///
    /// The file holds lines of 64 hexadecimal digits, the key in use first, mode 0600. It appears whole or not at all, and
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
            Ok(()) => Ok(Self(vec![fresh])),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let text = Zeroizing::new(fs::read_to_string(file).map_err(failed)?);
                Self::from_text(&text, &file.display().to_string())
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Takes keys of 64 hexadecimal digits with blanks, line ends or commas between, the key in use first.
    pub fn from_hex(text: &str) -> Result<Self, Error> {
        Self::from_text(text, "the given text")
    }

    fn from_text(text: &str, from: &str) -> Result<Self, Error> {
        let not_keys = || Error::NotAKey { from: from.to_owned() };
        let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
        let mut keys: Vec<Zeroizing<[u8; KEY_BYTES]>> = Vec::new();
        for word in words {
            let key = read_key(word).filter(|key| !keys.contains(key)).ok_or_else(not_keys)?;
            keys.push(key);
        }
        if (1..=MAX_KEYS).contains(&keys.len()) { Ok(Self(keys)) } else { Err(not_keys()) }
    }

    /// Returns each key alone, the one in use first.
    pub fn each(&self) -> impl Iterator<Item = Self> {
        self.0.iter().map(|key| Self(vec![key.clone()]))
    }

    /// Returns how many keys there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Puts a fresh key in front of those in a file. What the others made still opens. Fails where there are too many.
    pub fn rotate(file: &Path) -> Result<Self, Error> {
        let mut keys = Self::load(file)?;
        let mut fresh = Zeroizing::new([0; KEY_BYTES]);
        fill_random(fresh.as_mut());
        keys.0.insert(0, fresh);
        if keys.count() > MAX_KEYS {
            return Err(Error::NotAKey { from: file.display().to_string() });
        }
        keys.save(file)?;
        Ok(keys)
    }

    /// Takes all keys but the one in use out of a file. What they made opens no more.
    pub fn retire(file: &Path) -> Result<Self, Error> {
        let mut keys = Self::load(file)?;
        keys.0.truncate(1);
        keys.save(file)?;
        Ok(keys)
    }

    fn load(file: &Path) -> Result<Self, Error> {
        let text =
            fs::read_to_string(file).map_err(|source| Error::File { file: file.to_owned(), source })?;
        Self::from_text(&Zeroizing::new(text), &file.display().to_string())
    }

    /// Replaces the file, whole.
    fn save(&self, file: &Path) -> Result<(), Error> {
        let failed = |source| Error::File { file: file.to_owned(), source };
        let lines: Vec<String> = self.0.iter().map(|key| hex(key.as_ref())).collect();
        let aside = write_aside(file, &Zeroizing::new(lines.join("\n"))).map_err(failed)?;
        fs::rename(&aside, file).map_err(|source| {
            // Not left lying about with keys in it.
            let _ = fs::remove_file(&aside);
            failed(source)
        })
    }

    /// Derives the key for one purpose from the key in use (HKDF-SHA256, RFC 5869). Keys of two purposes tell nothing of
    /// each other.
    pub fn derive(&self, purpose: &str) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        Salt::new(HKDF_SHA256, &[])
            .extract(self.0[0].as_ref())
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
    let aside = write_aside(file, line)?;
    // A hard link, unlike a rename, never replaces a key that another process wrote meanwhile.
    let linked = fs::hard_link(&aside, file);
    fs::remove_file(&aside)?;
    linked
}

/// Writes text and a newline to a new file beside another, readable by its owner alone, and returns its path.
fn write_aside(file: &Path, text: &str) -> io::Result<PathBuf> {
    let mut suffix = [0; 8];
    fill_random(&mut suffix);
    let mut aside = file.as_os_str().to_owned();
    aside.push(format!(".{}.new", hex(&suffix)));
    let aside = PathBuf::from(aside);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut target = options.open(&aside)?;
    writeln!(target, "{text}").and_then(|()| target.sync_all())?;
    Ok(aside)
}

/// Reads 64 hexadecimal digits.
fn read_key(digits: &str) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let digits = digits.as_bytes();
    if digits.len() != 2 * KEY_BYTES {
        return None;
    }
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = (high? * 16 + low?) as u8;
    }
    Some(key)
}

#[cfg(test)]
mod tests;

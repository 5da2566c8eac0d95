//! The file that keeps vectors while the program does not run. It only grows, record by record, and is written
//! anew when most of it is of no use any more.
//!
//! **Layout:** `SYVEC1\n`, the model's name, `\n`, then records of one length: digest (16 bytes), scale (4, little endian), a
//! byte for each number, and 4 bytes of the SHA-256 of all that. What a crash left half written ends the file.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};

use super::{Digest, MAX_VECTORS};
use crate::vector::Vector;

const MAGIC: &str = "SYVEC1\n";
/// Longest line with a model's name.
const MAX_NAME_BYTES: usize = 1024;
/// Longest vector of any model there is.
const MAX_NUMBERS: usize = 8192;
/// Records of no use that are worth no writing.
const MAX_SPARE: usize = 10_000;

/// A file of vectors of one model.
pub struct Keeper {
    path: PathBuf,
    head: Vec<u8>,
    file: File,
    records: usize,
}

impl Keeper {
    /// Opens a file and reads what it holds of this model, of vectors with so many numbers. One of another model
    /// is begun anew.
    pub fn open(path: &Path, model: &str, numbers: usize) -> io::Result<(Self, Vec<(Digest, Vector)>)> {
        if numbers > MAX_NUMBERS || model.len() > MAX_NAME_BYTES || model.contains('\n') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no such model can be kept"));
        }
        let head = format!("{MAGIC}{model}\n").into_bytes();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        private(&mut options);
        let mut file = options.open(path)?;
        let mut found = vec![0; head.len()];
        let is_ours = file.read_exact(&mut found).is_ok() && found == head;
        let mut kept = Vec::new();
        if is_ours {
            let mut record = vec![0; record_bytes(numbers)];
            let mut reader = BufReader::with_capacity(1 << 20, &file);
            while kept.len() < MAX_VECTORS && reader.read_exact(&mut record).is_ok() {
                let Some(one) = read(&record) else { break };
                kept.push(one);
            }
        } else {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&head)?;
        }
        let end = head.len() + kept.len() * record_bytes(numbers);
        file.set_len(end as u64)?;
        file.seek(SeekFrom::Start(end as u64))?;
        let records = kept.len();
        Ok((Self { path: path.to_path_buf(), head, file, records }, kept))
    }

    /// Adds vectors.
    pub fn add<'a>(&mut self, vectors: impl IntoIterator<Item = (Digest, &'a Vector)>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (digest, vector) in vectors {
            write(digest, vector, &mut bytes);
            self.records += 1;
        }
        self.file.write_all(&bytes)
    }

    /// Says whether the file holds so much more than so many vectors that it should be written anew.
    pub fn is_wasteful(&self, in_use: usize) -> bool {
        self.records > in_use * 2 + MAX_SPARE
    }

    /// Writes the file anew, with these vectors only.
    pub fn rewrite<'a>(&mut self, vectors: impl IntoIterator<Item = (Digest, &'a Vector)>) -> io::Result<()> {
        let aside = self.path.with_extension("new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        private(&mut options);
        let mut writer = BufWriter::new(options.open(&aside)?);
        writer.write_all(&self.head)?;
        let (mut bytes, mut seen) = (Vec::new(), HashSet::new());
        for (digest, vector) in vectors {
            if seen.insert(digest) {
                bytes.clear();
                write(digest, vector, &mut bytes);
                writer.write_all(&bytes)?;
            }
        }
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        std::fs::rename(&aside, &self.path)?;
        self.file = file;
        self.records = seen.len();
        Ok(())
    }
}

fn record_bytes(numbers: usize) -> usize {
    16 + 4 + numbers + 4
}

fn write(name: Digest, vector: &Vector, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&name.0);
    out.extend_from_slice(&vector.scale.to_le_bytes());
    out.extend(vector.numbers.iter().map(|number| number.cast_unsigned()));
    let check = digest(&SHA256, &out[start..]);
    out.extend_from_slice(&check.as_ref()[..4]);
}

fn read(record: &[u8]) -> Option<(Digest, Vector)> {
    let (body, check) = record.split_last_chunk::<4>()?;
    if digest(&SHA256, body).as_ref()[..4] != *check {
        return None;
    }
    let (name, rest) = body.split_first_chunk::<16>()?;
    let (scale, numbers) = rest.split_first_chunk::<4>()?;
    let numbers = numbers.iter().map(|byte| byte.cast_signed()).collect();
    Some((Digest(*name), Vector { scale: f32::from_le_bytes(*scale), numbers }))
}

/// Descriptions can be secret, and vectors tell of them.
fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

#[cfg(test)]
mod tests;

//! The default model, all-MiniLM-L6-v2 in eight bits, from where it is published. Whoever serves it, only the very
//! files that are known here are taken.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use backend::fetch::{Fetched, Fetcher, Trust};
use bytes::Bytes;
use http::header::LOCATION;
use url::Url;

/// A file of the model.
pub(super) struct Part {
    /// Its name below the source.
    remote: &'static str,
    /// Its name here.
    local: &'static str,
    sha256: &'static str,
    bytes: usize,
}

/// The vocabulary first: whoever finds the network finds the model whole.
pub(super) const PARTS: [Part; 2] = [
    Part {
        remote: "vocab.txt",
        local: "vocab.txt",
        sha256: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        bytes: 231_508,
    },
    Part {
        remote: "onnx/model_quantized.onnx",
        local: "model.onnx",
        sha256: "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
        bytes: 22_972_370,
    },
];

/// Longest time for a file; 23 megabytes in it is a slow line.
const WITHIN: Duration = Duration::from_secs(600);
/// Most redirects to other hosts, as of large files to where they are kept.
const MAX_REDIRECTS: usize = 5;

/// Why there is no model yet.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("{url}: {source}")]
    Fetch { url: Url, source: backend::Error },
    #[error("{0}")]
    Refused(String),
    #[error("cannot keep {name}: {source}")]
    Keep { name: &'static str, source: std::io::Error },
}

/// Downloads what is missing in a folder.
pub(super) async fn missing(
    fetcher: &Fetcher,
    source: &Url,
    folder: &Path,
    parts: &[Part],
) -> Result<(), Error> {
    for part in parts {
        if !folder.join(part.local).exists() {
            let bytes = fetch(fetcher, source, part).await?;
            keep(folder, part, &bytes).map_err(|source| Error::Keep { name: part.local, source })?;
        }
    }
    Ok(())
}

async fn fetch(fetcher: &Fetcher, source: &Url, part: &Part) -> Result<Bytes, Error> {
    let refused = |reason: String| Error::Refused(reason);
    let mut url =
        source.join(part.remote).map_err(|error| refused(format!("{source}{}: {error}", part.remote)))?;
    let mut trust = Trust::Given;
    for _ in 0..=MAX_REDIRECTS {
        let fetched = fetcher.get_within(&url, trust, part.bytes, WITHIN).await;
        let fetched = fetched.map_err(|source| Error::Fetch { url: url.clone(), source })?;
        if fetched.status.is_success() {
            let found = hex(digest(&SHA256, &fetched.body).as_ref());
            if found != part.sha256 {
                return Err(refused(format!("{url} has the SHA-256 {found}, not {}", part.sha256)));
            }
            return Ok(fetched.body);
        }
        let next = next(&fetched, &url)
            .ok_or_else(|| refused(format!("{url} was answered with {}", fetched.status)))?;
        trust = trust.handed_on(&url, &next);
        url = next;
    }
    Err(refused(format!("{url}: redirected too often")))
}

/// Returns where a redirect leads: to `https` only, or to where the answer came from.
fn next(fetched: &Fetched, from: &Url) -> Option<Url> {
    if !fetched.status.is_redirection() {
        return None;
    }
    let to = from.join(fetched.headers.get(LOCATION)?.to_str().ok()?).ok()?;
    (to.scheme() == "https" || to.origin() == from.origin()).then_some(to)
}

/// Writes a file so that it is there whole or not at all.
fn keep(folder: &Path, part: &Part, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let aside = folder.join(format!("{}.part", part.local));
    let mut file = std::fs::File::create(&aside)?;
    std::io::Write::write_all(&mut file, bytes)?;
    file.sync_all()?;
    std::fs::rename(&aside, folder.join(part.local))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests;

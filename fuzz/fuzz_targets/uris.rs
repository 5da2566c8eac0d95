//! Any bytes looked through for URIs, in pieces and whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp::uris::{MAX_URI_BYTES, Scan};

fn found(bytes: &[u8], size: usize) -> Vec<String> {
    let (mut scan, mut found) = (Scan::default(), Vec::new());
    for piece in bytes.chunks(size) {
        scan.piece(piece, |uri| found.push(uri.to_owned()));
    }
    found
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, bytes) = input;
    let whole = found(bytes, bytes.len().max(1));
    assert_eq!(found(bytes, usize::from(size) + 1), whole);
    assert!(whole.iter().all(|uri| uri.len() <= MAX_URI_BYTES));
    let json = serde_json::json!({ "a": { "uri": String::from_utf8_lossy(bytes) } }).to_string();
    let said = (json.len() <= MAX_URI_BYTES).then(|| String::from_utf8_lossy(bytes).into_owned());
    assert!(said.is_none() || found(json.as_bytes(), usize::from(size) + 1) == Vec::from_iter(said));
});

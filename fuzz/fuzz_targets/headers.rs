//! Any bytes as values of the headers we read, a line each; and any text as a name.
#![no_main]

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use mcp::era::{Revision, negotiate};
use mcp::headers::{SERVER_VERSION, Wanted, accepts, decode_name, encode_name, is_json, wanted_version};

fuzz_target!(|bytes: &[u8]| {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(4) {
        let Ok(value) = HeaderValue::from_bytes(line) else { continue };
        if let Some(name) = decode_name(&value) {
            assert_eq!(decode_name(&encode_name(&name)).as_deref(), Some(&*name));
        }
        for header in [ACCEPT, CONTENT_TYPE, SERVER_VERSION] {
            headers.append(header, value.clone());
        }
    }
    let _ = (accepts(&headers), is_json(&headers));
    if let Wanted::Label(label) = wanted_version(&headers) {
        assert!(!label.is_empty() && label.is_ascii() && label == label.trim_ascii() && !label.contains(','));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    assert_eq!(decode_name(&encode_name(text)).as_deref(), Some(text));
    assert!(negotiate(text) <= Revision::LATEST_LEGACY);
});

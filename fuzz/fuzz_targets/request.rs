//! Any bytes as a client's HTTP/1 request: how they are cut must not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let joined = |pieces: &[&[u8]]| {
        http1::fuzzing::request(pieces).map(|(line, headers, body)| (line, headers, body.concat()))
    };
    let whole = joined(&[bytes]);
    let halves = bytes.split_at(bytes.len() / 2);
    assert_eq!(joined(&[halves.0, halves.1]), whole);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(joined(&single), whole);
});

//! Any bytes as a backend's HTTP/1 answer: how they are cut must not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let joined = |answer: Option<(u16, Vec<bytes::Bytes>)>| answer.map(|(status, body)| (status, body.concat()));
    let whole = joined(http1::fuzzing::answer(&[bytes]));
    let halves = bytes.split_at(bytes.len() / 2);
    assert_eq!(joined(http1::fuzzing::answer(&[halves.0, halves.1])), whole);
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(joined(http1::fuzzing::answer(&single)), whole);
});

//! Any bytes as an event stream, cut in pieces and whole; and as data of an event.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use mcp::sse::{Decoder, Event, TooLong, encode};

/// Decodes a stream cut into pieces of one size.
fn decode(stream: &[u8], size: usize, limit: usize) -> (Vec<Result<Event, TooLong>>, Option<Bytes>) {
    let mut decoder = Decoder::new(limit);
    let mut events = Vec::new();
    for piece in stream.chunks(size) {
        decoder.push(Bytes::copy_from_slice(piece));
        while let Some(event) = decoder.next() {
            events.push(event);
        }
    }
    (events, decoder.finish())
}

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (size, limit, stream) = input;
    let size = usize::from(size) + 1;
    let whole = decode(stream, stream.len().max(1), usize::MAX);
    assert_eq!(decode(stream, size, usize::MAX), whole);
    let mut joined: Vec<u8> = whole.0.iter().flatten().flat_map(|event| event.raw.to_vec()).collect();
    joined.extend_from_slice(whole.1.as_deref().unwrap_or_default());
    assert_eq!(joined, stream);

    let limited = decode(stream, size, usize::from(limit));
    let fitting = limited.0.iter().take_while(|event| event.is_ok()).count();
    assert_eq!(limited.0[..fitting], whole.0[..fitting]);
    assert!(limited.0.len() <= fitting + 1);

    let (events, rest) = decode(&encode(stream, Some("7")), size, usize::MAX);
    let [Ok(event)] = &events[..] else { panic!("one event became {events:?}") };
    let lines = String::from_utf8_lossy(stream).replace("\r\n", "\n").replace('\r', "\n");
    assert_eq!(String::from_utf8_lossy(&event.data), lines);
    assert_eq!((event.id.as_deref(), rest), (Some(&b"7"[..]), None));
});

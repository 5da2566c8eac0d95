//! Streams as tables, and decoding that does not depend on how a stream was cut.

use proptest::prelude::*;

use super::*;

/// Decodes a stream pushed in pieces of the given sizes, the last one taking the rest.
fn decode(stream: &[u8], sizes: &[usize]) -> (Vec<Event>, Option<Bytes>) {
    let mut decoder = Decoder::new(usize::MAX);
    let mut rest = Bytes::copy_from_slice(stream);
    let mut events = Vec::new();
    for size in sizes.iter().copied().chain([usize::MAX]) {
        decoder.push(rest.split_to(size.min(rest.len())));
        while let Some(event) = decoder.next() {
            events.push(event.expect("no limit"));
        }
    }
    (events, decoder.finish())
}

fn shown(part: &Option<Bytes>) -> String {
    part.as_ref().map_or("-".into(), |part| String::from_utf8_lossy(part).into_owned())
}

#[test]
fn reads_fields() {
    let check = |stream: &str, expected: &[[&str; 4]]| {
        let (events, rest) = decode(stream.as_bytes(), &[]);
        let found: Vec<_> = events
            .iter()
            .map(|event| {
                [shown(&Some(event.data.clone())), shown(&event.name), shown(&event.id), shown(&event.retry)]
            })
            .collect();
        assert_eq!(found, expected, "{stream:?}");
        assert_eq!(rest, None, "{stream:?}");
    };
    check("", &[]);
    check("data: {}\n\n", &[["{}", "-", "-", "-"]]);
    check("event: message\r\nid: 1\r\ndata: a\r\n\r\n", &[["a", "message", "1", "-"]]);
    check("data:a\ndata:  b\ndata\n\n", &[["a\n b\n", "-", "-", "-"]]);
    check("id: 1\ndata: \n\n", &[["", "-", "1", "-"]]);
    check("id:\nevent:\nretry: 100\n\n", &[["", "-", "", "100"]]);
    check("retry: 1e3\nid: a\0b\ndata: x\n\n", &[["x", "-", "-", "-"]]);
    check("event: a\nevent: b\nid: 1\nid: 2\ndata\n\n", &[["", "b", "2", "-"]]);
    check("\u{feff}data: a\n\ndata: b\n\n", &[["a", "-", "-", "-"], ["b", "-", "-", "-"]]);
    check("\u{feff}\u{feff}data: a\n\n", &[["", "-", "-", "-"]]);
    check("Data: a\n data: b\nfoo\n\n", &[["", "-", "-", "-"]]);
    check("data: a:b\n\n", &[["a:b", "-", "-", "-"]]);
    check("data: a\r\rdata: b\r\r", &[["a", "-", "-", "-"], ["b", "-", "-", "-"]]);
}

#[test]
fn cuts_blocks() {
    let check = |stream: &str, blocks: &[&str], rest: Option<&str>| {
        for size in 1..=stream.len().max(1) {
            let (events, found) = decode(stream.as_bytes(), &vec![size; stream.len()]);
            assert_eq!(
                events.iter().map(|event| &event.raw).collect::<Vec<_>>(),
                blocks,
                "{stream:?} by {size}"
            );
            assert_eq!(found.as_deref(), rest.map(str::as_bytes), "{stream:?} by {size}");
        }
    };
    check("data: a\n\ndata: b", &["data: a\n\n"], Some("data: b"));
    check("data: a\n", &[], Some("data: a\n"));
    check(": hi\n\n: ho\n\n", &[": hi\n\n", ": ho\n\n"], None);
    check("\n\n\n", &["\n", "\n", "\n"], None);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["data: a\r\n\r\n", "data: b\r\n\r\n"], None);
    check("data: a\n\r\ndata: b\r\n\n", &["data: a\n\r\n", "data: b\r\n\n"], None);
    // After a bare CR the block ends with the second one; the LF that follows opens the next block.
    check("data: a\r\r\ndata: b\r\r", &["data: a\r\r", "\ndata: b\r\r"], None);
    // After an LF a CR waits for the byte that tells what it was.
    check("data: a\n\r", &[], Some("data: a\n\r"));
    check("data: a\n\rdata: b", &["data: a\n\r"], Some("data: b"));
    check("data: a\n\r\r", &["data: a\n\r"], Some("\r"));
}

#[test]
fn tells_comments_from_events() {
    let check = |block: &str, expected: bool| {
        assert_eq!(Event::read(Bytes::copy_from_slice(block.as_bytes())).is_comment, expected, "{block:?}");
    };
    check(": keep-alive\n\n", true);
    check(":\n:\r\n\r\n", true);
    check("\n", true);
    check(":a\nid: 1\n\n", false);
    check("data\n\n", false);
}

#[test]
fn one_data_line_is_not_copied() {
    let chunk = Bytes::from_static(b"data: a\n\ndata: {}\n\n");
    let mut decoder = Decoder::new(64);
    decoder.push(chunk.clone());
    let _ = decoder.next();
    let event = decoder.next().expect("a second event").expect("short");
    assert_eq!(event.data.as_ptr(), chunk[15..].as_ptr());
}

#[test]
fn refuses_long_events() {
    let check = |limit: usize, sizes: &[usize], expected: &[Option<&str>]| {
        let mut decoder = Decoder::new(limit);
        let mut rest = Bytes::from_static(b"data: 1\n\ndata: 22\n\ndata: 3\n\n");
        let mut found = Vec::new();
        for size in sizes.iter().copied().chain([usize::MAX]) {
            decoder.push(rest.split_to(size.min(rest.len())));
            while let Some(event) = decoder.next() {
                found.push(event.ok().map(|event| event.data));
            }
        }
        let found: Vec<_> = found.iter().map(|data| data.as_deref()).collect();
        assert_eq!(
            found,
            expected.iter().map(|data| data.map(str::as_bytes)).collect::<Vec<_>>(),
            "{sizes:?}"
        );
    };
    for sizes in [&[][..], &[1; 30], &[12, 5], &[18]] {
        check(10, sizes, &[Some("1"), Some("22"), Some("3")]);
        check(9, sizes, &[Some("1"), None]);
        check(8, sizes, &[None]);
    }
    let mut decoder = Decoder::new(100);
    decoder.push(Bytes::from(vec![b'x'; 101]));
    assert_eq!(decoder.next(), Some(Err(TooLong { limit: 100 })));
    decoder.push(KEEP_ALIVE.into());
    assert_eq!(decoder.next(), None);
    assert_eq!(decoder.finish(), None);
}

#[test]
fn encodes() {
    let check =
        |data: &str, id: Option<&str>, expected: &str| assert_eq!(encode(data.as_bytes(), id), expected);
    check("{}", None, "event: message\ndata: {}\n\n");
    check("{}", Some("7"), "event: message\nid: 7\ndata: {}\n\n");
    check("", Some(""), "event: message\nid: \ndata: \n\n");
    check("{\r\n}\n", None, "event: message\ndata: {\ndata: }\ndata: \n\n");
    check("[\r1]", Some("a\nb"), "event: message\ndata: [\ndata: 1]\n\n");
}

/// Bytes of which line ends, colons and fields are frequent.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let pieces =
        vec!["\n", "\r", "\r\n", "\n\n", "data", "data: ", "id: ", ":", " ", "x", "\u{feff}", "event: "];
    prop::collection::vec(prop::sample::select(pieces), 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

/// The data of each event, told by the standard's algorithm on the whole stream at once.
fn by_the_standard(stream: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stream).replace("\r\n", "\n").replace('\r', "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let (mut events, mut data) = (Vec::new(), None::<String>);
    let mut lines: Vec<&str> = text.split('\n').collect();
    // What follows the last line end is no line.
    lines.pop();
    for line in lines {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if line.is_empty() {
            events.extend(data.take());
        } else if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            data = Some(data.map_or(value.to_owned(), |data| format!("{data}\n{value}")));
        }
    }
    events
}

proptest! {
    #[test]
    fn cutting_changes_nothing(stream in stream(), sizes in prop::collection::vec(0_usize..7, 0..60)) {
        let (whole, rest) = decode(&stream, &[]);
        prop_assert_eq!(&decode(&stream, &sizes), &(whole.clone(), rest.clone()));
        let mut joined: Vec<u8> = whole.iter().flat_map(|event| event.raw.to_vec()).collect();
        joined.extend_from_slice(&rest.unwrap_or_default());
        prop_assert_eq!(joined, stream);
    }

    #[test]
    fn agrees_with_the_standard(mut stream in stream()) {
        // A last byte that is no line end shows the decoder what a CR before it was.
        stream.push(b'x');
        let (events, _) = decode(&stream, &[]);
        let has_data = |(place, event): &(usize, &Event)| {
            let mark = if *place == 0 { "\u{feff}" } else { "" };
            let block = event.raw.strip_prefix(mark.as_bytes()).unwrap_or(&event.raw);
            let mut lines = block.split(|byte| matches!(byte, b'\n' | b'\r'));
            lines.any(|line| line.starts_with(b"data:") || line == b"data")
        };
        let with_data = events.iter().enumerate().filter(has_data);
        let found: Vec<_> =
            with_data.map(|(_, event)| String::from_utf8_lossy(&event.data).into_owned()).collect();
        prop_assert_eq!(found, by_the_standard(&stream));
    }

    #[test]
    fn decoding_undoes_encoding(data in "[^\r]*", id in "[^\r\n\0]*", sizes in prop::collection::vec(1_usize..9, 0..20)) {
        let (events, rest) = decode(&encode(data.as_bytes(), Some(&id)), &sizes);
        prop_assert_eq!(rest, None);
        prop_assert_eq!(events.len(), 1);
        prop_assert_eq!(&events[0].data, data.as_bytes());
        prop_assert_eq!(events[0].id.as_deref(), Some(id.as_bytes()));
    }

    #[test]
    fn survives_any_bytes(bytes: Vec<u8>, size in 1_usize..20) {
        let (events, rest) = decode(&bytes, &vec![size; bytes.len()]);
        let mut joined: Vec<u8> = events.iter().flat_map(|event| event.raw.to_vec()).collect();
        joined.extend_from_slice(&rest.unwrap_or_default());
        prop_assert_eq!(joined, bytes);
    }
}

#[test]
fn a_compact_decoder_goes_on_and_holds_nothing_it_gave_out() {
    let first = Bytes::from(b"data: one\n\ndata: two\n\ndata: thr".to_vec());
    let mut decoder = Decoder::new(usize::MAX);
    decoder.push(first.clone());
    assert_eq!(decoder.next().unwrap().unwrap().data, "one");
    assert!(!first.is_unique());
    decoder.compact();
    assert!(first.is_unique());
    let mut rest = Vec::new();
    decoder.push(Bytes::from_static(b"ee\n\n"));
    while let Some(event) = decoder.next() {
        rest.push(event.unwrap().data);
        decoder.compact();
    }
    assert_eq!(rest, ["two", "three"]);
}

use proptest::prelude::*;

use super::*;
use crate::fields::MAX_HEADERS;

fn read(text: &[u8]) -> Result<Option<(Head, Vec<u8>)>, &'static str> {
    let mut buffer = BytesMut::from(text);
    let head = Reader::default().read(&mut buffer)?;
    Ok(head.map(|head| (head, buffer.to_vec())))
}

/// Reads a head and checks status, framing and whether the connection stays.
fn check(text: &str, expected: (u16, Framing, bool)) {
    let (head, _) = read(text.as_bytes()).expect(text).expect(text);
    assert_eq!((head.status.as_u16(), head.framing, head.keeps_alive), expected, "{text:?}");
}

#[test]
fn framing_follows_from_status_version_and_headers() {
    let (ten, chunked, close) = (Framing::Length(10), Framing::CHUNKED, Framing::UntilClose);
    let cases = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", (200, ten, true)),
        ("HTTP/1.1 200 OK\ncontent-length:10\n\n", (200, ten, true)),
        ("HTTP/1.1 200\r\ncontent-length: 10\r\n\r\n", (200, ten, true)),
        ("HTTP/1.1 200 \r\ncontent-length: 10, 10\r\ncontent-length: 10\r\n\r\n", (200, ten, true)),
        ("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", (202, Framing::Done, true)),
        ("HTTP/1.1 204 No Content\r\n\r\n", (204, Framing::Done, true)),
        ("HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\n\r\n", (304, Framing::Done, true)),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", (200, chunked, true)),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n", (200, chunked, true)),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", (200, close, false)),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 10\r\n\r\n",
            (200, chunked, false),
        ),
        ("HTTP/1.1 200 OK\r\n\r\n", (200, close, false)),
        ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: x, Close\r\n\r\n", (200, ten, false)),
        ("HTTP/1.0 200 OK\r\ncontent-length: 10\r\n\r\n", (200, ten, false)),
        ("HTTP/1.0 200 OK\r\ncontent-length: 10\r\nconnection: keep-alive\r\n\r\n", (200, ten, true)),
        (
            "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n",
            (200, chunked, false),
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\na: b\r\n\r\nHTTP/1.1 404 x\r\ncontent-length: 10\r\n\r\n",
            (404, ten, true),
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn what_is_no_proper_head_is_refused() {
    let cases = [
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "http/1.1 200 OK\r\n\r\n",
        "<html>\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nname : x\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: x\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: x\0y\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: x\ry\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1, 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
    ];
    for text in cases {
        assert!(read(text.as_bytes()).is_err(), "{text:?}");
    }
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(MAX_HEADERS + 1));
    assert_eq!(read(many.as_bytes()).unwrap_err(), "the head has too many headers");
    let long = format!("HTTP/1.1 200 OK\r\na: {}", "x".repeat(MAX_BYTES));
    assert_eq!(read(long.as_bytes()).unwrap_err(), "the head is too long");
}

#[test]
fn headers_keep_their_values_and_their_order() {
    let text = "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nX-Odd: \t caf\u{e9} \t\r\nset-cookie:b\r\nempty:\r\ncontent-length: 1\r\n\r\nrest";
    let (head, rest) = read(text.as_bytes()).unwrap().unwrap();
    let all: Vec<_> = head.headers.get_all("set-cookie").iter().collect();
    assert_eq!(all, ["a", "b"]);
    assert_eq!(head.headers["x-odd"].as_bytes(), "caf\u{e9}".as_bytes());
    assert_eq!(head.headers["empty"], "");
    assert_eq!(rest, b"rest");
}

#[test]
fn a_head_is_the_same_however_it_comes() {
    let text = b"HTTP/1.1 100 x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: 4\r\n\r\n";
    for step in 1..text.len() {
        let (mut buffer, mut reader) = (BytesMut::new(), Reader::default());
        let mut head = None;
        for piece in text.chunks(step) {
            assert!(head.is_none());
            buffer.extend_from_slice(piece);
            head = reader.read(&mut buffer).unwrap();
        }
        let head = head.unwrap();
        assert_eq!((head.status.as_u16(), head.headers.len(), head.framing), (200, 2, Framing::Length(4)));
    }
}

#[test]
fn interim_answers_are_bounded() {
    let last = "HTTP/1.1 200 OK\r\n\r\n";
    let interim = |count: usize, filler: usize| {
        let one = format!("HTTP/1.1 103 Early Hints\r\nlink: {}\r\n\r\n", "x".repeat(filler));
        one.repeat(count) + last
    };
    assert!(read(interim(MAX_INTERIM, 10).as_bytes()).unwrap().is_some());
    for text in [interim(MAX_INTERIM + 1, 10), interim(3, 30_000)] {
        assert_eq!(read(text.as_bytes()).unwrap_err(), "too many interim answers");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), is_dressed in any::<bool>()) {
        let mut text = if is_dressed { b"HTTP/1.1 200 OK\r\n".to_vec() } else { Vec::new() };
        text.extend_from_slice(&bytes);
        text.extend_from_slice(b"\r\n\r\n");
        let _ = read(&text);
    }
}

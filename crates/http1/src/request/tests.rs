use proptest::prelude::*;

use super::*;

fn read(text: &[u8]) -> Result<Option<(Head, Vec<u8>)>, Refused> {
    let mut buffer = BytesMut::from(text);
    let head = Reader::default().read(&mut buffer)?;
    Ok(head.map(|head| (head, buffer.to_vec())))
}

#[test]
fn framing_follows_from_version_and_headers() {
    let (ten, chunked, none) = (Framing::Length(10), Framing::CHUNKED, Framing::Done);
    let cases = [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", none, true, false),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n", ten, true, false),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10, 10\r\nContent-Length:10\r\n\r\n",
            ten,
            true,
            false,
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n",
            none,
            true,
            false,
        ),
        ("POST / HTTP/1.1\r\nHost:\r\nTransfer-Encoding: Chunked\r\n\r\n", chunked, true, false),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nConnection: te, CLOSE\r\nContent-Length: 10\r\n\r\n",
            ten,
            false,
            false,
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 10\r\n\r\n", ten, true, true),
        ("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n", ten, false, false),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", none, true, false),
        ("\r\n\r\nGET http://a:1/b?c HTTP/1.1\r\nhost: a:1\r\n\r\n", none, true, false),
        ("OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", none, true, false),
        ("CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n", none, true, false),
    ];
    for (text, framing, keeps_alive, expects_continue) in cases {
        let (head, rest) = read(text.as_bytes()).expect(text).expect(text);
        assert_eq!(
            (head.framing, head.keeps_alive, head.expects_continue),
            (framing, keeps_alive, expects_continue),
            "{text:?}"
        );
        assert!(rest.is_empty());
    }
}

#[test]
fn what_others_might_read_otherwise_is_refused() {
    let cases = [
        (400, "GET / HTTP/1.1\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
        (400, "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\n\n"),
        (400, "GET / HTTP/1.1\rXHost: a\r\n\r\n"),
        (505, "GET / HTTP/1.0\rX\r\nHost: a\r\n\r\n"),
        (400, "GET /\r\n\r\n"),
        (400, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
        (400, "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
        (400, " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        (400, "GET / http/1.1\r\nHost: a\r\n\r\n"),
        (400, "GE\tT / HTTP/1.1\r\nHost: a\r\n\r\n"),
        (400, "GET \x01 HTTP/1.1\r\nHost: a\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\nx\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\nx: \0\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\nx: a\rb: c\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a\r\nx: a\r\r\n\r\n"),
        (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
        (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n"),
        (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \x0b1\r\n\r\n"),
        (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        (400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n"),
        (400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n"),
        (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
        (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n"),
        (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\"chunked\r\n\r\n"),
        (501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n"),
        (417, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: wonders\r\n\r\n"),
        (505, "GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
        (505, "GET / HTTP/3\r\nHost: a\r\n\r\n"),
    ];
    for (status, text) in cases {
        let refused = read(text.as_bytes()).expect_err(text);
        assert_eq!(refused.0.as_u16(), status, "{text:?}: {}", refused.1);
    }
    let long = format!("GET / HTTP/1.1\r\nHost: a\r\nx: {}", "y".repeat(MAX_BYTES));
    assert_eq!(read(long.as_bytes()).unwrap_err().0.as_u16(), 431);
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "x: y\r\n".repeat(128));
    assert_eq!(read(many.as_bytes()).unwrap_err().0.as_u16(), 431);
}

#[test]
fn a_head_is_the_same_however_it_comes() {
    let text =
        b"\r\nPOST /a?b HTTP/1.1\r\nHost: c\r\nX-Odd: \t caf\xc3\xa9 \t\r\nx-odd:\r\nContent-Length: 4\r\n\r\nbody";
    for step in 1..text.len() {
        let (mut buffer, mut reader) = (BytesMut::new(), Reader::default());
        let mut head = None;
        for piece in text.chunks(step) {
            buffer.extend_from_slice(piece);
            if head.is_none() {
                head = reader.read(&mut buffer).unwrap();
            }
        }
        let Head { parts, framing, .. } = head.unwrap();
        assert_eq!((parts.method, parts.uri.to_string()), (Method::POST, "/a?b".to_owned()));
        let odd: Vec<&[u8]> = parts.headers.get_all("x-odd").iter().map(|value| value.as_bytes()).collect();
        assert_eq!(odd, ["café".as_bytes(), b""]);
        assert_eq!((framing, &buffer[..]), (Framing::Length(4), b"body".as_slice()));
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), is_dressed: bool) {
        let mut text = if is_dressed { b"GET / HTTP/1.1\r\nHost: a\r\n".to_vec() } else { Vec::new() };
        text.extend_from_slice(&bytes);
        text.extend_from_slice(b"\r\n\r\n");
        let _ = read(&text);
    }
}

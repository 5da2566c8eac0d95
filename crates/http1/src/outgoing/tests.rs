use http::Response;
use proptest::prelude::*;

use super::*;

/// Takes a few bytes at a time, as a full socket does.
struct Slow {
    taken: Vec<u8>,
    step: usize,
}

impl AsyncWrite for Slow {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let count = bytes.len().min(this.step);
        this.taken.extend_from_slice(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        let count = all.len().min(this.step);
        this.taken.extend_from_slice(&all[..count]);
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Writes an answer and returns its text, the date left out, and whether the connection stays.
fn written(
    response: Response<()>,
    pieces: &[&'static [u8]],
    length: Option<u64>,
    asked: &Asked<'_>,
) -> (String, bool) {
    let mut outgoing = Outgoing::default();
    let (mut delimited, keeps_alive) = outgoing.head(&response.into_parts().0, length, asked);
    let mut slow = Slow { taken: Vec::new(), step: 7 };
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for piece in pieces {
        assert!(outgoing.piece(Bytes::from_static(piece), &mut delimited));
        if !outgoing.has_room() {
            assert!(outgoing.poll_write(&mut cx, &mut slow).is_ready());
        }
    }
    assert!(outgoing.end(delimited));
    assert!(matches!(outgoing.poll_write(&mut cx, &mut slow), Poll::Ready(Ok(()))));
    let text = String::from_utf8(slow.taken).unwrap();
    let (before, dated) = text.split_once("date: ").unwrap();
    let (date, after) = dated.split_once("\r\n").unwrap();
    assert!(httpdate::parse_http_date(date).is_ok());
    (format!("{before}{after}"), keeps_alive)
}

fn asked(method: &Method, version: Version) -> Asked<'_> {
    Asked { method, version, keeps_alive: true }
}

fn response(status: u16, headers: &[(&'static str, &'static str)]) -> Response<()> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(()).unwrap()
}

#[test]
fn an_answer_is_framed_as_its_client_understands() {
    let (get, head) = (&Method::GET, &Method::HEAD);
    let (new, old) = (Version::HTTP_11, Version::HTTP_10);
    let plain = || response(200, &[("x", "y"), ("content-length", "99"), ("connection", "upgrade")]);
    let cases = [
        (plain(), Some(3), asked(get, new), "HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 3\r\n\r\nabc", true),
        (
            plain(),
            None,
            asked(get, new),
            "HTTP/1.1 200 OK\r\nx: y\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            true,
        ),
        (plain(), None, asked(get, old), "HTTP/1.1 200 OK\r\nx: y\r\nconnection: close\r\n\r\nabc", false),
        (
            plain(),
            Some(3),
            asked(get, old),
            "HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 3\r\nconnection: keep-alive\r\n\r\nabc",
            true,
        ),
        // How long the answer to GET would be, not how long this one is.
        (plain(), Some(0), asked(head, new), "HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 99\r\n\r\n", true),
        (response(204, &[]), None, asked(get, new), "HTTP/1.1 204 No Content\r\n\r\n", true),
        (
            response(202, &[]),
            Some(0),
            asked(get, new),
            "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
            true,
        ),
        (
            response(200, &[("connection", "Close")]),
            Some(0),
            asked(get, new),
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            false,
        ),
        (
            response(599, &[]),
            Some(0),
            Asked { keeps_alive: false, ..asked(get, new) },
            "HTTP/1.1 599 \r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            false,
        ),
    ];
    for (response, length, asked, text, keeps_alive) in cases {
        let pieces: &[&[u8]] = if text.contains("abc") { &[b"abc"] } else { &[] };
        assert_eq!(written(response, pieces, length, &asked), (text.to_owned(), keeps_alive));
    }
}

#[test]
fn a_body_of_another_length_is_noticed() {
    let mut outgoing = Outgoing::default();
    let mut delimited = Delimited::Length(3);
    assert!(outgoing.piece("ab".into(), &mut delimited));
    assert!(!outgoing.end(delimited));
    assert!(!outgoing.piece("cd".into(), &mut delimited));
}

proptest! {
    #[test]
    fn pieces_of_any_size_arrive(sizes in proptest::collection::vec(0_usize..9000, 0..6), step in 1_usize..5000) {
        let mut outgoing = Outgoing::default();
        let mut slow = Slow { taken: Vec::new(), step };
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut expected = Vec::new();
        for (index, size) in sizes.iter().enumerate() {
            let piece = vec![b'a' + u8::try_from(index).unwrap(); *size];
            expected.extend_from_slice(&piece);
            prop_assert!(outgoing.piece(piece.into(), &mut Delimited::Chunked));
            while !outgoing.has_room() {
                prop_assert!(outgoing.poll_write(&mut cx, &mut slow).is_ready());
            }
        }
        prop_assert!(outgoing.end(Delimited::Chunked));
        prop_assert!(outgoing.poll_write(&mut cx, &mut slow).is_ready());
        let (mut framing, mut body) = (crate::framing::Framing::CHUNKED, Vec::new());
        let mut buffer = bytes::BytesMut::from(slow.taken.as_slice());
        while let Some(piece) = framing.take(&mut buffer).unwrap() {
            body.extend_from_slice(&piece);
        }
        prop_assert!(framing.is_done() && buffer.is_empty());
        prop_assert_eq!(body, expected);
    }
}

use proptest::prelude::*;

use super::*;

/// Reads a body that comes in pieces and then closes. Returns it, and what is left behind it.
fn read(mut framing: Framing, pieces: &[&[u8]]) -> Result<(Vec<u8>, Vec<u8>), &'static str> {
    let (mut buffer, mut body) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        while let Some(taken) = framing.take(&mut buffer)? {
            assert!(!taken.is_empty());
            body.extend_from_slice(&taken);
        }
    }
    framing.close()?;
    Ok((body, buffer.to_vec()))
}

#[test]
fn bodies_end_where_they_should() {
    let cases = [
        (Framing::of_length(3), "abcdef", "abc", "def"),
        (Framing::Done, "abc", "", "abc"),
        (Framing::UntilClose, "abc", "abc", ""),
        (Framing::CHUNKED, "3\r\nabc\r\n0\r\n\r\nrest", "abc", "rest"),
        (Framing::CHUNKED, "0\r\n\r\n", "", ""),
        (
            Framing::CHUNKED,
            "A;x=\"y\"\r\n0123456789\r\n1 \r\nx\r\n000\r\ntrailer: a\r\nb: c\r\n\r\n",
            "0123456789x",
            "",
        ),
    ];
    for (framing, text, body, rest) in cases {
        for step in 1..=text.len() {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(step).collect();
            let (read, left) = read(framing, &pieces).expect(text);
            assert_eq!(
                (read.as_slice(), left.as_slice()),
                (body.as_bytes(), rest.as_bytes()),
                "{text:?} by {step}"
            );
        }
    }
}

#[test]
fn the_end_is_known_with_the_last_piece() {
    for (mut framing, text) in [(Framing::of_length(3), "abc"), (Framing::CHUNKED, "3\r\nabc\r\n0\r\n\r\n")] {
        let mut buffer = BytesMut::from(text);
        assert_eq!(framing.take(&mut buffer).unwrap().unwrap(), "abc");
        assert!(framing.is_done() && framing.left() == Some(0));
    }
}

#[test]
fn bodies_that_are_cut_or_wrong_are_refused() {
    let cases = [
        (Framing::of_length(3), "ab"),
        (Framing::CHUNKED, ""),
        (Framing::CHUNKED, "3\r\nabc\r\n"),
        (Framing::CHUNKED, "3\r\nabc\r\n0\r\n"),
        (Framing::CHUNKED, "3\r\nabcd\r\n0\r\n\r\n"),
        (Framing::CHUNKED, "3\r\nabc0\r\n\r\n"),
        (Framing::CHUNKED, "\r\nabc"),
        (Framing::CHUNKED, "-1\r\nabc"),
        (Framing::CHUNKED, "0x3\r\nabc\r\n0\r\n\r\n"),
        (Framing::CHUNKED, "fffffffffffffffff\r\n"),
        (Framing::CHUNKED, "3 3\r\nabc"),
        (Framing::CHUNKED, " 3\r\nabc\r\n0\r\n\r\n"),
        (Framing::CHUNKED, "3;\rx\r\nabc\r\n0\r\n\r\n"),
        (Framing::CHUNKED, "3;\0\r\nabc\r\n0\r\n\r\n"),
        (Framing::CHUNKED, "3\r\nabc\r\n0\r\na: b\r\r\n\r\n"),
        (Framing::CHUNKED, "3\nabc\r\n0\r\n\r\n"),
        (Framing::CHUNKED, "3\r\nabc\n0\r\n\r\n"),
        (Framing::CHUNKED, "3\r\nabc\r\n0\n\r\n"),
        (Framing::CHUNKED, "3;x\n\r\nabc\r\n0\r\n\r\n"),
    ];
    for (framing, text) in cases {
        assert!(read(framing, &[text.as_bytes()]).is_err(), "{text:?}");
    }
    let long = [b"3;".as_slice(), &[b'x'; MAX_SIZE_LINE_BYTES]];
    assert!(read(Framing::CHUNKED, &long).is_err());
    let trailers = format!("0\r\n{}\r\n", "a: b\r\n".repeat(MAX_TRAILER_BYTES / 6 + 1));
    assert!(read(Framing::CHUNKED, &[trailers.as_bytes()]).is_err());
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100), step in 1_usize..10) {
        let pieces: Vec<&[u8]> = bytes.chunks(step).collect();
        let _ = read(Framing::CHUNKED, &pieces);
    }

    #[test]
    fn chunks_of_any_size_make_the_body(chunks in proptest::collection::vec("[a-z]{1,40}", 0..8), step in 1_usize..50) {
        let mut text = String::new();
        for chunk in &chunks {
            text.push_str(&format!("{:x}\r\n{chunk}\r\n", chunk.len()));
        }
        text.push_str("0\r\n\r\n");
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(step).collect();
        prop_assert_eq!(read(Framing::CHUNKED, &pieces), Ok((chunks.concat().into_bytes(), Vec::new())));
    }
}

//! What the fuzz targets feed: the bytes of a backend's HTTP/1 answer, in pieces of any size.

use bytes::{Bytes, BytesMut};

use crate::answer::Reader;

/// Reads an answer from pieces. Returns its status and body; `None` where the bytes are no whole answer.
pub fn answer(pieces: &[&[u8]]) -> Option<(u16, Vec<Bytes>)> {
    let mut pieces = pieces.iter();
    let mut buffer = BytesMut::new();
    let mut reader = Reader::default();
    let head = loop {
        if let Some(head) = reader.read(&mut buffer).ok()? {
            break head;
        }
        buffer.extend_from_slice(pieces.next()?);
    };
    let (mut framing, mut body) = (head.framing, Vec::new());
    loop {
        match framing.take(&mut buffer).ok()? {
            Some(piece) => body.push(piece),
            None if framing.is_done() => return Some((head.status.as_u16(), body)),
            None => match pieces.next() {
                Some(piece) => buffer.extend_from_slice(piece),
                None => {
                    framing.close().ok()?;
                    return Some((head.status.as_u16(), body));
                }
            },
        }
    }
}

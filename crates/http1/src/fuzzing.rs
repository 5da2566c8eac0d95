//! What the fuzz targets feed: the bytes of an HTTP/1 message, in pieces of any size.

use bytes::{Bytes, BytesMut};

use crate::framing::Framing;
use crate::{answer, request};

/// Reads an answer from pieces. Returns its status and body; `None` where the bytes are no whole answer.
pub fn answer(pieces: &[&[u8]]) -> Option<(u16, Vec<Bytes>)> {
    let mut reader = answer::Reader::default();
    let (head, rest) = head(pieces, |buffer| reader.read(buffer).ok())?;
    Some((head.status.as_u16(), body(head.framing, rest)?))
}

/// Reads a request from pieces. Returns its first line's parts, its headers and its body; `None` where the bytes are
/// no whole request.
pub fn request(pieces: &[&[u8]]) -> Option<(String, http::HeaderMap, Vec<Bytes>)> {
    let mut reader = request::Reader::default();
    let (head, rest) = head(pieces, |buffer| reader.read(buffer).ok())?;
    let line = format!("{} {} {:?}", head.parts.method, head.parts.uri, head.parts.version);
    Some((line, head.parts.headers, body(head.framing, rest)?))
}

/// What is left behind a head: what was read already, and the pieces that were not.
type Rest<'a> = (BytesMut, std::slice::Iter<'a, &'a [u8]>);

fn head<'a, H>(
    pieces: &'a [&'a [u8]],
    mut read: impl FnMut(&mut BytesMut) -> Option<Option<H>>,
) -> Option<(H, Rest<'a>)> {
    let (mut pieces, mut buffer) = (pieces.iter(), BytesMut::new());
    loop {
        if let Some(head) = read(&mut buffer)? {
            return Some((head, (buffer, pieces)));
        }
        buffer.extend_from_slice(pieces.next()?);
    }
}

fn body(mut framing: Framing, (mut buffer, mut pieces): Rest<'_>) -> Option<Vec<Bytes>> {
    let mut body = Vec::new();
    loop {
        match framing.take(&mut buffer).ok()? {
            Some(piece) => body.push(piece),
            None if framing.is_done() => return Some(body),
            None => match pieces.next() {
                Some(piece) => buffer.extend_from_slice(piece),
                None => {
                    framing.close().ok()?;
                    return Some(body);
                }
            },
        }
    }
}

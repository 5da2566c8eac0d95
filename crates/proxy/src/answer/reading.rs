//! Reading a backend's JSON: whole where it is short, its beginning where it is long, and whether it is an answer.

use backend::Reply;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use mcp::message::{Kind, Outline, member};

/// A JSON answer up to this size is read whole and sent with its head in one write; a larger one streams.
pub(super) const MAX_WHOLE_BYTES: usize = 64 * 1024;

/// How far a body was read.
pub(super) enum Whole {
    Read(Bytes),
    Begun(Bytes, Reply),
}

/// Reads a body whole where it is short: a JSON answer is of no use before its end anyway, and head and body
/// then leave in one write. No more than `limit` is held.
pub(super) async fn whole(mut reply: Reply, limit: usize) -> Result<Whole, backend::Error> {
    if reply.size_hint().lower() > limit as u64 {
        return Ok(Whole::Begun(Bytes::new(), reply));
    }
    let mut first = Bytes::new();
    let mut more = BytesMut::new();
    while let Some(frame) = reply.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if first.is_empty() {
            first = data;
            continue;
        }
        if more.is_empty() {
            more.extend_from_slice(&first);
        }
        more.extend_from_slice(&data);
        if more.len() > limit {
            return Ok(Whole::Begun(more.freeze(), reply));
        }
    }
    Ok(Whole::Read(if more.is_empty() { first } else { more.freeze() }))
}

/// Reads a body's beginning until there is enough of it, or as much as is ever read for that.
pub(super) async fn beginning(
    reply: &mut Reply,
    begun: Bytes,
    is_enough: impl Fn(&[u8]) -> bool,
) -> Result<Bytes, backend::Error> {
    let (mut read, mut look_at) = (BytesMut::from(begun), 0);
    while read.len() < MAX_WHOLE_BYTES {
        // Seldom, as what was looked at is looked at again.
        if read.len() > look_at {
            if is_enough(&read) {
                break;
            }
            look_at = read.len() * 2;
        }
        let Some(frame) = reply.frame().await else { break };
        if let Ok(data) = frame?.into_data() {
            read.extend_from_slice(&data);
        }
    }
    Ok(read.freeze())
}

/// Says whether a body is an answer; longer ones that begin and end as one are taken for it. Errors often come
/// without an id.
pub(super) fn is_answer(body: &[u8]) -> bool {
    if body.len() > MAX_WHOLE_BYTES {
        return true;
    }
    match Outline::read(body) {
        Ok(outline) => outline.kind == Kind::Response,
        Err(_) => member(body, "error").is_some_and(|error| error.of(body).first() == Some(&b'{')),
    }
}

/// Says whether a body begins and ends as JSON messages do; enough to notice one that was cut off.
pub(super) fn looks_whole(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    matches!((body.first(), body.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')))
}

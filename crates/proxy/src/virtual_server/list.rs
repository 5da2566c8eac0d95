//! Lists, answered from the table: what the caller may see, under exposed names, in mapping order.

use std::borrow::Cow;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use bytes::{BufMut, Bytes, BytesMut};
use http::{Response, StatusCode};
use mcp::list::ListKind;
use mcp::message::text;
use routing::face::Face;
use routing::target::VirtualTarget;

use crate::admit;
use crate::error::Error;
use crate::outbound::Body;
use crate::plane::{Call, Front};
use crate::reply;

/// Items on a page of ours. Far more than clients use, and it keeps an answer within some megabytes.
const PAGE: usize = 1000;

/// Answers a list request.
pub(super) fn answer(call: &Call, target: &VirtualTarget, kind: ListKind) -> Result<Response<Body>, Error> {
    let face = target.face(call.front.era());
    let listing = face.list(kind);
    let id = call.id().expect("a list is asked for by a request");
    let is_whole = !hides_any(call, target, face, kind);
    let hints = match call.front {
        Front::Legacy => String::new(),
        Front::Modern => format!(r#","resultType":"complete",{}"#, hints(call, target)),
    };
    let is_clean = kind != ListKind::Tools || !target.has_tools_of_other_era(call.front.era());
    if is_whole && is_clean && listing.items.len() <= PAGE && call.outline.cursor.is_none() {
        return Ok(reply::json(
            StatusCode::OK,
            page(id, kind, std::slice::from_ref(&listing.all), None, &hints),
        ));
    }
    let mut visible: Vec<Bytes> =
        if is_whole { listing.items.clone() } else { visible_items(call, target, face, kind) };
    if !is_clean {
        visible = visible.iter().filter_map(|tool| for_front(tool, call.front)).collect();
    }
    let fingerprint = fingerprint(&visible);
    let offset = offset(call, target, fingerprint)?;
    let rest = visible.get(offset..).unwrap_or_default();
    let shown = &rest[..rest.len().min(PAGE)];
    let next = (rest.len() > PAGE)
        .then(|| call.plane.shared.opaque.cursor(offset + PAGE, fingerprint, &target.path, &call.principal));
    Ok(reply::json(StatusCode::OK, page(id, kind, shown, next.as_deref(), &hints)))
}

/// How long a modern client may keep a list: short, since we have no way to tell one that does not listen.
const TTL_MS: u32 = 1_000;

/// Members that tell a modern client how long it may keep an answer, and whether others may use it.
pub(super) fn hints(call: &Call, target: &VirtualTarget) -> String {
    let has_guarded_tools = target.face(call.front.era()).has_guarded_tools();
    let is_private = has_guarded_tools || !target.required_scopes.is_empty() || !call.principal.is_nameless();
    let scope = if is_private { "private" } else { "public" };
    format!(r#""ttlMs":{TTL_MS},"cacheScope":"{scope}""#)
}

/// A tool as a client of this era takes it; `None` hides it.
fn for_front(tool: &Bytes, front: Front) -> Option<Bytes> {
    let text = std::str::from_utf8(tool).ok()?;
    let cleaned = match front {
        Front::Legacy => mcp::bridge::tool_for_legacy(text)?,
        Front::Modern => mcp::bridge::tool_for_modern(text)?,
    };
    Some(match cleaned {
        Cow::Borrowed(_) => tool.clone(),
        Cow::Owned(changed) => changed.into(),
    })
}

fn hides_any(call: &Call, target: &VirtualTarget, face: &Face, kind: ListKind) -> bool {
    match kind {
        ListKind::Tools => face.tools.iter().any(|tool| !admit::sees_tool(call, target, tool)),
        _ => target.backends.iter().any(|backend| !admit::reaches(call, target, backend, method(kind))),
    }
}

fn visible_items(call: &Call, target: &VirtualTarget, face: &Face, kind: ListKind) -> Vec<Bytes> {
    if kind == ListKind::Tools {
        let seen = face.tools.iter().filter(|tool| admit::sees_tool(call, target, tool));
        return seen.filter_map(|tool| tool.json.clone()).collect();
    }
    let listing = face.list(kind);
    let owned = listing.items.iter().zip(&listing.owners);
    let reached =
        |owner: u16| admit::reaches(call, target, &target.backends[usize::from(owner)], method(kind));
    owned.filter(|(_, owner)| reached(**owner)).map(|(item, _)| item.clone()).collect()
}

/// The method that lists, as scope documents name it.
fn method(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools => "tools/list",
        ListKind::Prompts => "prompts/list",
        ListKind::Resources => "resources/list",
        ListKind::Templates => "resources/templates/list",
    }
}

fn offset(call: &Call, target: &VirtualTarget, fingerprint: u64) -> Result<usize, Error> {
    let Some(cursor) = call.outline.cursor else { return Ok(0) };
    let cursor = text(cursor.of(&call.body)).unwrap_or_default();
    let offset = call.plane.shared.opaque.offset(&cursor, fingerprint, &target.path, &call.principal);
    offset.ok_or_else(|| {
        Error::InvalidParams("the cursor is not one of this list as it is now; list from the start".into())
    })
}

/// A cursor is good for the very list it was made for, on any node that has the same.
fn fingerprint(items: &[Bytes]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(items)
}

/// Writes a whole answer in one buffer: `{"jsonrpc":"2.0","id":…,"result":{"tools":[…],"nextCursor":…}}`.
fn page(id: &[u8], kind: ListKind, items: &[Bytes], next: Option<&str>, hints: &str) -> Bytes {
    let size: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut body = BytesMut::with_capacity(size + id.len() + next.map_or(0, str::len) + hints.len() + 96);
    body.put_slice(br#"{"jsonrpc":"2.0","id":"#);
    body.put_slice(id);
    body.put_slice(br#","result":{""#);
    body.put_slice(kind.member().as_bytes());
    body.put_slice(br#"":["#);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            body.put_u8(b',');
        }
        body.put_slice(item);
    }
    body.put_u8(b']');
    if let Some(next) = next {
        body.put_slice(br#","nextCursor":""#);
        body.put_slice(next.as_bytes());
        body.put_u8(b'"');
    }
    body.put_slice(hints.as_bytes());
    body.put_slice(b"}}");
    body.freeze()
}

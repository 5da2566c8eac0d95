//! A modern backend that finds fault with the headers of a request. Those of a legacy client's call are the gateway's own
//! fault, so the client hears of it only where it cannot be mended; those of a modern client's call at a virtual server
//! follow a definition that the gateway gave it, and are mended once.

use std::time::Duration;

use bytes::Bytes;
use catalog::inventory::Item;
use http::{HeaderMap, Response, StatusCode};
use mcp::error::code;
use mcp::message::{Outline, member};
use mcp::method::Method;
use mcp::param::Mark;
use routing::version::VersionTarget;

use crate::answer;
use crate::error::Error;
use crate::forward::{self, Back};
use crate::outbound::Body;
use crate::plane::Call;

/// Longest wait for the backend's tools. The client waits meanwhile for the answer to its call.
const READ_TIME: Duration = Duration::from_secs(10);

/// A request as it was sent.
pub(crate) struct Sent<'a> {
    pub(crate) call: &'a Call,
    pub(crate) version: &'a std::sync::Arc<VersionTarget>,
    /// The name the backend knows.
    pub(crate) name: Option<&'a str>,
    pub(crate) body: &'a Bytes,
}

/// Passes an answer on, unless it says that headers are wrong. A tool may have got other marks since it was read:
/// then it is read again and the call repeated once, which is safe since a refused request did not run.
pub(crate) async fn repaired(
    sent: Sent<'_>,
    headers: &mut HeaderMap,
    answer: Response<Back>,
) -> Result<Response<Back>, Error> {
    let (answer, fault) = read(sent.version, answer).await?;
    let Some(fault) = fault else { return Ok(answer) };
    let Sent { call, version, name, body } = sent;
    let misdressed = || Error::Misdressed { server: version.key.path.to_string() };
    note(call, version);
    if fault == code::UNSUPPORTED_VERSION {
        return Err(misdressed());
    }
    let name = name.filter(|_| call.outline.method == Method::ToolsCall).ok_or_else(misdressed)?;
    let tools = read_again(call, version).await.ok_or_else(misdressed)?;
    let Some(marks) = marks(&tools, name) else {
        return Err(Error::UnknownName { kind: "tool", name: name.to_owned() });
    };
    redress(headers, call, &marks);
    let again =
        forward::send(&call.plane.backends, version, forward::post(headers.clone(), body.clone())).await?;
    match read(version, again).await? {
        (_, Some(_)) => Err(misdressed()),
        (answer, None) => Ok(answer),
    }
}

/// Looks whether a modern backend refused a call of a tool, `original` by its own name, since the headers a modern client
/// gave are those of a definition that is no more. Where the tool can be read again, returns the call as it must be for
/// that; otherwise the refusal, which has the client read its list again.
pub(crate) async fn as_read_again(
    call: &Call,
    version: &VersionTarget,
    original: &str,
    refusal: Response<Body>,
) -> Result<Call, Response<Body>> {
    let (head, body) = refusal.into_parts();
    // What cannot be read to its end is too long for such a refusal, or broken.
    let whole = match body.whole() {
        Ok(whole) if fault(&whole) == Some(code::HEADER_MISMATCH) => whole,
        Ok(whole) => return Err(Response::from_parts(head, Body::full(whole))),
        Err(body) => return Err(Response::from_parts(head, body)),
    };
    note(call, version);
    let marks = read_again(call, version).await.and_then(|tools| marks(&tools, original));
    let Some(marks) = marks else { return Err(Response::from_parts(head, Body::full(whole))) };
    let mut again = call.clone();
    redress(&mut again.headers, call, &marks);
    Ok(again)
}

/// Counts a refusal, and has the inventory of the version read.
fn note(call: &Call, version: &VersionTarget) {
    metrics::counter!("switchyard_header_mismatches_total").increment(1);
    (call.plane.shared.hint)(version.key.clone());
}

/// Reads the tools as the backend has them now.
async fn read_again(call: &Call, version: &VersionTarget) -> Option<Vec<Item>> {
    let read_again = call.plane.backends.tools(&version.endpoint);
    tokio::time::timeout(READ_TIME, read_again).await.ok()?.ok()
}

/// Finds the marks of a tool; `None` where it is gone, or nobody can follow them.
fn marks(tools: &[Item], name: &str) -> Option<Vec<Mark>> {
    let tool = tools.iter().find(|tool| &*tool.name == name)?;
    mcp::param::marks(schema(tool)).ok()
}

/// Replaces the headers that repeat arguments.
fn redress(headers: &mut HeaderMap, call: &Call, marks: &[Mark]) {
    let old: Vec<_> =
        headers.keys().filter(|name| name.as_str().starts_with(mcp::param::PREFIX)).cloned().collect();
    old.iter().for_each(|name| drop(headers.remove(name)));
    for (header, value) in mcp::param::headers(marks, call.param("arguments")) {
        headers.insert(header, value);
    }
}

/// Reads an answer that may find fault with what only the gateway decides, and tells the code of that.
async fn read(
    version: &VersionTarget,
    answer: Response<Back>,
) -> Result<(Response<Back>, Option<i32>), Error> {
    if answer.status() != StatusCode::BAD_REQUEST || !answer::is_json(answer.headers()) {
        return Ok((answer, None));
    }
    let (head, back) = answer.into_parts();
    let whole = match back {
        Back::Read(whole) => whole,
        Back::Coming(reply) => forward::read_refusal(reply)
            .await
            .map_err(|error| Error::of_backend(version.key.path.as_str(), &error))?,
    };
    let fault = fault(&whole);
    Ok((Response::from_parts(head, Back::Read(whole)), fault))
}

fn fault(answer: &[u8]) -> Option<i32> {
    let error = Outline::read(answer).ok()?.error?.of(answer);
    let found = member(error, "code")?.of(error);
    [code::HEADER_MISMATCH, code::UNSUPPORTED_VERSION]
        .into_iter()
        .find(|known| found == known.to_string().as_bytes())
}

fn schema(tool: &Item) -> &[u8] {
    let json = tool.json.as_bytes();
    member(json, "inputSchema").map_or(&[], |span| span.of(json))
}

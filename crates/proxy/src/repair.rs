//! A modern backend that finds fault with the headers of a request the gateway dressed for a legacy client: the
//! gateway's own fault, so the client hears of it only where it cannot be mended.

use std::time::Duration;

use bytes::Bytes;
use catalog::inventory::Item;
use http::{HeaderMap, Response, StatusCode};
use mcp::error::code;
use mcp::message::{Outline, member};
use mcp::method::Method;
use routing::version::VersionTarget;

use crate::answer;
use crate::error::Error;
use crate::forward::{self, Back};
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
    let (answer, is_refused) = read(sent.version, answer).await?;
    if !is_refused {
        return Ok(answer);
    }
    let Sent { call, version, name, body } = sent;
    let misdressed = || Error::Misdressed { server: version.key.path.to_string() };
    metrics::counter!("switchyard_header_mismatches_total").increment(1);
    (call.plane.shared.hint)(version.key.clone());
    let name = name.filter(|_| call.outline.method == Method::ToolsCall).ok_or_else(misdressed)?;
    let read_again = call.plane.backends.tools(&version.endpoint);
    let Ok(Ok(tools)) = tokio::time::timeout(READ_TIME, read_again).await else { return Err(misdressed()) };
    let marks = tools.iter().find(|tool| &*tool.name == name).map(|tool| mcp::param::marks(schema(tool)));
    let Some(Ok(marks)) = marks else {
        return Err(Error::UnknownName { kind: "tool", name: name.to_owned() });
    };
    let old: Vec<_> =
        headers.keys().filter(|name| name.as_str().starts_with(mcp::param::PREFIX)).cloned().collect();
    old.iter().for_each(|name| drop(headers.remove(name)));
    for (header, value) in mcp::param::headers(&marks, call.param("arguments")) {
        headers.insert(header, value);
    }
    let again =
        forward::send(&call.plane.backends, version, forward::post(headers.clone(), body.clone())).await?;
    match read(version, again).await? {
        (_, true) => Err(misdressed()),
        (answer, false) => Ok(answer),
    }
}

/// Reads an answer that may be such a refusal, and says whether it is one.
async fn read(version: &VersionTarget, answer: Response<Back>) -> Result<(Response<Back>, bool), Error> {
    if answer.status() != StatusCode::BAD_REQUEST || !answer::is_json(answer.headers()) {
        return Ok((answer, false));
    }
    let (head, back) = answer.into_parts();
    let whole = match back {
        Back::Read(whole) => whole,
        Back::Coming(reply) => forward::read_refusal(reply)
            .await
            .map_err(|error| Error::of_backend(version.key.path.as_str(), &error))?,
    };
    let is_refused = says_mismatch(&whole);
    Ok((Response::from_parts(head, Back::Read(whole)), is_refused))
}

fn says_mismatch(answer: &[u8]) -> bool {
    let Ok(Outline { error: Some(error), .. }) = Outline::read(answer) else { return false };
    let error = error.of(answer);
    member(error, "code").is_some_and(|span| span.of(error) == code::HEADER_MISMATCH.to_string().as_bytes())
}

fn schema(tool: &Item) -> &[u8] {
    let json = tool.json.as_bytes();
    member(json, "inputSchema").map_or(&[], |span| span.of(json))
}

//! Headers of tool calls that repeat arguments (`Mcp-Param-*` of 2026-07-28): checked where the backend cannot,
//! made where the client does not know them.

use http::HeaderMap;
use mcp::message::text;
use mcp::method::Method;
use mcp::param::{self, Mark};
use routing::version::VersionTarget;

use crate::error::Error;
use crate::plane::Call;

/// Compares the headers of a modern client's call with its arguments.
pub(crate) fn check(call: &Call, marks: &[Mark]) -> Result<(), Error> {
    let checked = param::check(marks, call.param("arguments"), &call.headers);
    checked.map_err(|mismatch| Error::HeaderMismatch(mismatch.to_string()))
}

/// Does so for a call of a tool of a version, under the name the backend knows.
pub(crate) fn check_for(call: &Call, version: &VersionTarget) -> Result<(), Error> {
    let Some(params) = &version.params else { return Ok(()) };
    let name = call.outline.name.filter(|_| call.outline.method == Method::ToolsCall);
    let name = name.and_then(|span| text(span.of(&call.body)));
    name.and_then(|name| params.marks(&name)).map_or(Ok(()), |marks| check(call, marks))
}

/// Adds the headers of a legacy client's call to a modern backend's tool. A tool for which nobody can make them is
/// unknown.
pub(crate) fn add(
    headers: &mut HeaderMap,
    call: &Call,
    version: &VersionTarget,
    name: Option<&str>,
) -> Result<(), Error> {
    let Some(params) = &version.params else { return Ok(()) };
    let Some(name) = name.filter(|_| call.outline.method == Method::ToolsCall) else { return Ok(()) };
    if params.unfit(name).is_some() {
        return Err(Error::UnknownName { kind: "tool", name: name.to_owned() });
    }
    let marks = params.marks(name).map_or(&[][..], |marks| marks);
    for (header, value) in param::headers(marks, call.param("arguments")) {
        headers.insert(header, value);
    }
    Ok(())
}

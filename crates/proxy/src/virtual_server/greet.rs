//! `initialize`, answered from the table: no backend is asked before it is used.

use auth::Issuer;
use http::{HeaderValue, Response};
use mcp::era::{Revision, negotiate};
use mcp::headers::SESSION_ID;
use mcp::message::text;
use routing::target::VirtualTarget;

use super::local;
use crate::error::Error;
use crate::opaque::{VirtualSession, carried};
use crate::outbound::Body;
use crate::plane::Call;

/// Opens a client session.
pub(super) fn initialize(call: &Call, target: &VirtualTarget) -> Result<Response<Body>, Error> {
    let asked = call.param("protocolVersion").and_then(text);
    let asked = asked.ok_or_else(|| Error::InvalidParams("params.protocolVersion is missing".into()))?;
    let revision = negotiate(&asked);
    let object = |name| {
        call.param(name).filter(|raw| raw.starts_with(b"{")).and_then(|raw| std::str::from_utf8(raw).ok())
    };
    let capabilities = object("capabilities").unwrap_or("{}");
    let client_info = object("clientInfo").unwrap_or(r#"{"name":"unknown","version":"0"}"#);
    let sealed = VirtualSession {
        id: Issuer::new_id().to_string(),
        revision,
        capabilities: carried(capabilities, &["roots", "sampling", "elicitation"], "{}"),
        client_info: carried(
            client_info,
            &["name", "version", "title"],
            r#"{"name":"unknown","version":"0"}"#,
        ),
    };
    let token = call.plane.shared.opaque.mint_virtual(&sealed, &target.path, &call.principal);
    call.plane.shared.sessions.enter(&token, sealed, &target.path, &call.principal);
    let mut response = local(call, result(target, revision).as_bytes());
    let value = HeaderValue::from_str(&token).expect("base64url is printable");
    response.headers_mut().insert(SESSION_ID, value);
    Ok(response)
}

fn result(target: &VirtualTarget, revision: Revision) -> String {
    let VirtualTarget { capabilities, server_info, .. } = target;
    let instructions =
        target.instructions.as_ref().map_or(String::new(), |text| format!(r#","instructions":{text}"#));
    format!(
        r#"{{"protocolVersion":"{}","capabilities":{capabilities},"serverInfo":{server_info}{instructions}}}"#,
        revision.as_str()
    )
}

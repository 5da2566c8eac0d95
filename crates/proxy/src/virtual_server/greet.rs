//! `initialize`, answered from the table: no backend is asked before it is used.

use catalog::endpoint::Era;
use http::{HeaderValue, Response};
use mcp::era::Revision;
use mcp::headers::SESSION_ID;
use routing::target::VirtualTarget;

use super::list;
use crate::error::Error;
use crate::outbound::Body;
use crate::plane::Call;
use crate::reply;

/// Opens a client session.
pub(super) fn initialize(call: &Call, target: &VirtualTarget) -> Result<Response<Body>, Error> {
    let sealed = call.client_session()?;
    let revision = sealed.revision;
    let token = call.plane.shared.opaque.mint_virtual(&sealed, &target.binding, &call.principal);
    call.plane.shared.sessions.enter(&token, sealed, &target.binding, &call.principal);
    let mut response = reply::result(call, result(target, revision).as_bytes());
    let value = HeaderValue::from_str(&token).expect("base64url is printable");
    response.headers_mut().insert(SESSION_ID, value);
    Ok(response)
}

/// `server/discover`, answered from the table.
pub(super) fn discover(call: &Call, target: &VirtualTarget) -> Response<Body> {
    let (face, server_info) = (target.face(Era::Modern), &target.server_info);
    let capabilities = target.capabilities_for(Era::Modern);
    let instructions =
        face.instructions.as_ref().map_or(String::new(), |text| format!(r#","instructions":{text}"#));
    let (version, caching) = (Revision::MODERN.as_str(), list::hints(call, target));
    let result = format!(
        r#"{{"resultType":"complete","supportedVersions":["{version}"],"capabilities":{capabilities}{instructions},{caching},"_meta":{{"io.modelcontextprotocol/serverInfo":{server_info}}}}}"#
    );
    reply::result(call, result.as_bytes())
}

fn result(target: &VirtualTarget, revision: Revision) -> String {
    let (face, server_info) = (target.face(Era::Legacy), &target.server_info);
    let capabilities = target.capabilities_for(Era::Legacy);
    let instructions =
        face.instructions.as_ref().map_or(String::new(), |text| format!(r#","instructions":{text}"#));
    format!(
        r#"{{"protocolVersion":"{}","capabilities":{capabilities},"serverInfo":{server_info}{instructions}}}"#,
        revision.as_str()
    )
}

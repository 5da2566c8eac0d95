//! JSON-RPC codes, and the bodies we write ourselves.

use bytes::Bytes;

/// Codes of errors. Those from -32020 to -32099 are only ever used as the specification defines them.
pub mod code {
    /// Not JSON.
    pub const PARSE: i32 = -32700;
    /// JSON, but no valid message.
    pub const INVALID_REQUEST: i32 = -32600;
    /// A method that is unknown, or not offered here.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// Parameters the method cannot use: an unknown tool, prompt or cursor, a bad state.
    pub const INVALID_PARAMS: i32 = -32602;
    /// A fault of ours.
    pub const INTERNAL: i32 = -32603;
    /// No resource of that URI, towards legacy clients.
    pub const RESOURCE_NOT_FOUND: i32 = -32002;
    /// The backend could not be reached.
    pub const UNREACHABLE: i32 = -32000;
    /// No session of that id.
    pub const SESSION_NOT_FOUND: i32 = -32001;
    /// The backend did not answer in time.
    pub const TIMED_OUT: i32 = -31002;
    /// The backend answered with something that is not MCP.
    pub const UNUSABLE_ANSWER: i32 = -31003;
    /// Too much is going on; `data.retryAfterMs` says when to come back.
    pub const OVERLOADED: i32 = -31004;
    /// Refused by policy, not by scope.
    pub const POLICY: i32 = -31005;
    /// The server has no version of that label.
    pub const NO_SUCH_VERSION: i32 = -31006;
    /// The caller asks too often; `data.retryAfterMs` says when to come back.
    pub const RATE_LIMITED: i32 = -31007;
    /// The caller lacks a scope.
    pub const MISSING_SCOPE: i32 = -31008;
    /// The user has to open a URL first (2025-11-25, client/elicitation); `data.elicitations` names it.
    pub const URL_NEEDED: i32 = -32042;
    /// A header is missing, malformed or unlike the body.
    pub const HEADER_MISMATCH: i32 = -32020;
    /// The client did not declare a capability the request needs.
    pub const MISSING_CAPABILITY: i32 = -32021;
    /// A revision we do not speak.
    pub const UNSUPPORTED_VERSION: i32 = -32022;
}

/// Writes an error response.
///
/// Shape: `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"…","data":{…}}}`; `id` and `data` are raw
/// JSON, an absent id is `null`.
pub fn error_body(id: Option<&[u8]>, code: i32, message: &str, data: Option<&str>) -> Bytes {
    let message = serde_json::to_string(message).expect("text always has a JSON spelling");
    let code = code.to_string();
    let data_key: &[u8] = if data.is_some() { br#","data":"# } else { b"" };
    let parts: [&[u8]; 9] = [
        br#"{"jsonrpc":"2.0","id":"#,
        id.unwrap_or(b"null"),
        br#","error":{"code":"#,
        code.as_bytes(),
        br#","message":"#,
        message.as_bytes(),
        data_key,
        data.unwrap_or_default().as_bytes(),
        b"}}",
    ];
    parts.concat().into()
}

/// Writes a response; `id` and `result` are raw JSON.
pub fn result_body(id: &[u8], result: &[u8]) -> Bytes {
    let parts: [&[u8]; 5] = [br#"{"jsonrpc":"2.0","id":"#, id, br#","result":"#, result, b"}"];
    parts.concat().into()
}

#[cfg(test)]
mod tests;

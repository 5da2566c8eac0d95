//! Where a version's backend is and how it is spoken to, as a body says it.

use catalog::endpoint::{Endpoint, Transport};
use catalog::error::Invalid;
use url::Url;

use super::{MAX_TEXT_BYTES, MAX_WORD_BYTES, MAX_WORDS};
use crate::Parts;
use crate::api::fields::Fields;

/// Members by which a body would bring a command of its own.
const COMMANDS: [&str; 5] = ["command", "args", "env", "cwd", "pass_env"];

/// Reads the URL, and checks that what is said of the transport fits it.
pub(super) fn read(fields: &mut Fields, parts: &Parts) -> Option<Url> {
    for name in COMMANDS {
        if fields.value(name).is_some() {
            let reason = "commands are configured where the gateway runs, under [stdio.commands]; name one as \
                          proxy_pass_url, like stdio:files";
            fields.fault(name, reason);
        }
    }
    let text = fields.text("proxy_pass_url", MAX_TEXT_BYTES);
    let rule = parts.settings.address_rule;
    let url = text.and_then(|text| fields.checked(Endpoint::parse_url("proxy_pass_url", &text, rule)));
    let endpoint = url.map(Endpoint::at);
    if let Some(name) = endpoint.as_ref().and_then(Endpoint::command) {
        let stdio = &parts.backends.settings().stdio;
        if !stdio.has(name) {
            let known: Vec<_> = stdio.names().collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            let reason =
                format!("no command {name:?} is configured under [stdio.commands]; there are: {known}");
            fields.fault("proxy_pass_url", reason);
        }
    }
    check_transport(fields, endpoint.as_ref().map(Endpoint::transport));
    endpoint.map(|endpoint| endpoint.url)
}

/// Refuses headers where nothing carries them.
pub(super) fn check(endpoint: &Endpoint) -> Result<(), Invalid> {
    if endpoint.command().is_some() && !(endpoint.headers.is_empty() && endpoint.authorization.is_none()) {
        let reason = "a command gets no headers; give it credentials by env under [stdio.commands]";
        return Err(Invalid::new("headers", reason));
    }
    Ok(())
}

/// Refuses transports that do not lead to the backend; where its URL is not given, those that lead nowhere.
fn check_transport(fields: &mut Fields, transport: Option<Transport>) {
    let is_http = |word: &str| matches!(word, "streamable-http" | "streamable_http" | "http");
    let leads = |word: &str| match transport {
        _ if word == "auto" => true,
        // Which of the two it is, is found out.
        Some(Transport::StreamableHttp | Transport::HttpSse) => is_http(word) || word == "sse",
        Some(Transport::Stdio) => word == "stdio",
        None => is_http(word) || matches!(word, "sse" | "stdio"),
    };
    for name in ["supported_transports", "transport"] {
        let Some(words) = fields.words(name, MAX_WORDS, MAX_WORD_BYTES) else { continue };
        if !words.is_empty() && !words.iter().any(|word| leads(word)) {
            let better = transport.unwrap_or(Transport::StreamableHttp).as_str();
            fields.fault(name, format!("{} does not lead to this backend; use {better}", words.join(", ")));
        }
    }
}

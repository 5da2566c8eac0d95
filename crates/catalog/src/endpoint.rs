//! Where a version lives: its URL, how it is spoken to, and the credentials it wants.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use url::{Host, Url};

use crate::authorization::Authorization;
use crate::invalid::Invalid;
pub use crate::secret::Secret;

/// Most headers a version may add to each of its requests.
pub const MAX_HEADERS: usize = 32;

/// Scheme of the URL of a backend that is a command of the gateway's configuration: `stdio:<name>`.
const COMMAND_SCHEME: &str = "stdio";

/// Marks the URL of a backend that was found to speak over HTTP+SSE. It is in no URL that is given to us, since those
/// have no fragment, and fragments are never sent.
const EVENT_STREAM_MARK: &str = "http+sse";

/// Longest name of a command, in bytes.
const MAX_COMMAND_NAME_BYTES: usize = 64;

/// Where a version lives and what every request to it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `http` or `https`, with a host, never link-local; or `stdio:` and the name of a configured command. Where it
    /// is spoken to over HTTP+SSE it has a fragment that says so.
    pub url: Url,
    /// Headers the operator set, credentials among them.
    pub headers: Vec<Header>,
    /// The era an operator pinned; learnt from the backend where absent.
    pub pinned_era: Option<Era>,
    /// How requests get a token, where an authorization server gives it.
    pub authorization: Option<Arc<Authorization>>,
}

/// A header that each request to a backend carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Lower-case name.
    pub name: String,
    /// Value; treated as a secret.
    pub value: Secret,
}

/// The two families of MCP revisions: with sessions, and without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: a handshake, then a session.
    Legacy,
    /// 2026-07-28: each request stands by itself.
    Modern,
}

/// The eras a backend speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Eras {
    /// The older revisions only.
    Legacy,
    /// The revision without sessions only.
    Modern,
    /// Both, at one address; each client is answered in its own.
    Both,
}

/// How messages travel to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// HTTP, each answer a body or an event stream.
    StreamableHttp,
    /// One event stream for all answers, and posts to the URL it names (2024-11-05).
    HttpSse,
    /// Lines on the standard input and output of a process that the gateway starts.
    Stdio,
}

/// Which addresses backend URLs may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRule {
    /// Whether loopback and private addresses are allowed.
    pub allow_private: bool,
}

impl Era {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    /// Reads the word for it.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Legacy, Self::Modern].into_iter().find(|era| era.as_str() == text)
    }
}

impl Eras {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
            Self::Both => "both",
        }
    }

    /// Says whether an era is among them.
    pub fn hold(self, era: Era) -> bool {
        self.toward(era) == era
    }

    /// Returns the era in which a client of `era` is answered: its own where the backend speaks it.
    pub fn toward(self, era: Era) -> Era {
        match self {
            Self::Legacy => Era::Legacy,
            Self::Modern => Era::Modern,
            Self::Both => era,
        }
    }
}

impl From<Era> for Eras {
    fn from(era: Era) -> Self {
        match era {
            Era::Legacy => Self::Legacy,
            Era::Modern => Self::Modern,
        }
    }
}

impl Transport {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StreamableHttp => "streamable-http",
            Self::HttpSse => "sse",
            Self::Stdio => "stdio",
        }
    }
}

impl Endpoint {
    /// An endpoint of which no more is set than where it is.
    pub fn at(url: Url) -> Self {
        Self { url, headers: Vec::new(), pinned_era: None, authorization: None }
    }

    /// Returns the name of the command that is the backend; `None` for one that is reached over HTTP.
    pub fn command(&self) -> Option<&str> {
        (self.url.scheme() == COMMAND_SCHEME).then(|| self.url.path())
    }

    /// Returns how messages travel to it.
    pub fn transport(&self) -> Transport {
        match self.command() {
            Some(_) => Transport::Stdio,
            None if self.has_event_stream() => Transport::HttpSse,
            None => Transport::StreamableHttp,
        }
    }

    /// Says whether it is spoken to over HTTP+SSE.
    pub fn has_event_stream(&self) -> bool {
        self.url.fragment() == Some(EVENT_STREAM_MARK)
    }

    /// Returns the same endpoint, spoken to over HTTP+SSE.
    pub fn over_event_stream(&self) -> Self {
        let mut marked = self.clone();
        marked.url.set_fragment(Some(EVENT_STREAM_MARK));
        marked
    }

    /// Returns the endpoint that this one names by a reference, relative or absolute, with the same headers; `None`
    /// where it is no URL of the same origin.
    pub fn beside(&self, reference: &str) -> Option<Self> {
        let mut url = self.url.join(reference.trim()).ok()?;
        url.set_fragment(None);
        let is_ours =
            url.origin() == self.url.origin() && url.username().is_empty() && url.password().is_none();
        is_ours.then(|| Self { url, ..self.clone() })
    }

    /// Checks a backend URL: `http` or `https`, a host, no user or password, and no address that `rule`
    /// forbids. Link-local and cloud metadata addresses are always refused. Or `stdio:` and a name; whether a command
    /// of that name is configured is not known here.
    pub fn parse_url(field: &str, text: &str, rule: AddressRule) -> Result<Url, Invalid> {
        let invalid = |reason: &str| Err(Invalid::new(field, format!("{text:?} {reason}")));
        let url = match Url::parse(text.trim()) {
            Ok(url) => url,
            Err(error) => {
                return invalid(&format!("is not a URL ({error}); give one like http://127.0.0.1:9000/mcp"));
            }
        };
        if url.scheme() == COMMAND_SCHEME {
            let is_name = url.cannot_be_a_base() && url.query().is_none() && url.fragment().is_none();
            if !is_name || !is_command_name(url.path()) {
                return invalid("must be stdio: and the name of a configured command, like stdio:files");
            }
            return Ok(url);
        }
        if !matches!(url.scheme(), "http" | "https") {
            return invalid(
                "must begin with http:// or https://, or be stdio: and the name of a configured command",
            );
        }
        if !url.username().is_empty() || url.password().is_some() {
            return invalid("must not hold a user or password; use auth_scheme and auth_credential");
        }
        if url.fragment().is_some() {
            return invalid("must not have a fragment (#…)");
        }
        match url.host() {
            None => return invalid("names no host"),
            Some(Host::Ipv4(address)) if is_forbidden(address.into()) => {
                return invalid("is a link-local, metadata or reserved address, which is never allowed");
            }
            Some(Host::Ipv6(address)) if is_forbidden(address.into()) => {
                return invalid("is a link-local, metadata or reserved address, which is never allowed");
            }
            Some(Host::Domain(name)) if is_metadata_name(name) => {
                return invalid("is a cloud metadata host, which is never allowed");
            }
            Some(host) if !rule.allow_private && is_private_host(&host) => {
                return invalid("is a loopback or private address, which the configuration denies");
            }
            Some(_) => {}
        }
        Ok(url)
    }
}

/// Says whether a text can name a command: 1 to 64 of `[A-Za-z0-9._-]`.
pub fn is_command_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_COMMAND_NAME_BYTES).contains(&name.len()) && name.bytes().all(fits)
}

/// Says whether an address must never be connected to: link-local, cloud metadata, unspecified, multicast, reserved;
/// also where an IPv6 address leads to such a one.
pub fn is_forbidden(address: std::net::IpAddr) -> bool {
    use std::net::IpAddr;
    match address {
        IpAddr::V4(v4) => {
            let [first, ..] = v4.octets();
            // "This network" (RFC 791) and what is kept for later, with broadcast (RFC 1112).
            v4.is_link_local() || v4.is_multicast() || first == 0 || first >= 240
                // Metadata services that are not link-local: of Alibaba, Oracle and Azure.
                || matches!(v4.octets(), [100, 100, 100, 200] | [192, 0, 0, 192] | [168, 63, 129, 16])
        }
        IpAddr::V6(v6) => {
            embedded_v4(v6).into_iter().flatten().any(|v4| is_forbidden(v4.into()))
                || v6.is_unicast_link_local() || v6.is_unspecified() || v6.is_multicast()
                // Metadata service of AWS over IPv6.
                || v6.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]
        }
    }
}

/// Says whether an address is loopback or private, which the configuration may deny.
pub fn is_private(address: std::net::IpAddr) -> bool {
    use std::net::IpAddr;
    match address {
        IpAddr::V4(v4) => {
            let [first, second, third, _] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                // Between providers and their customers (RFC 6598), and for measurements inside a network (RFC 2544).
                || (first == 100 && second & 0xc0 == 64)
                || (first == 198 && second & 0xfe == 18)
                // For protocols between neighbours (RFC 6890).
                || (first, second, third) == (192, 0, 0)
        }
        IpAddr::V6(v6) => {
            let leads_there = embedded_v4(v6).into_iter().flatten().any(|v4| is_private(v4.into()));
            // The last are what unique local addresses replaced (RFC 3879).
            leads_there || v6.is_loopback() || v6.is_unique_local() || v6.segments()[0] & 0xffc0 == 0xfec0
        }
    }
}

/// Returns the IPv4 addresses that an IPv6 one may lead to: mapped or compatible (RFC 4291), through 6to4 (RFC 3056),
/// through Teredo (RFC 4380), or through a translator (RFC 6052, RFC 8215). Of a translator's local prefix nobody knows where it keeps the
/// address, so both places count.
fn embedded_v4(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let join = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        // Unspecified and loopback are addresses of their own.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => [None, None],
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => [Some(join(high, low)), None],
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => [Some(join(high, low)), None],
        [0x64, 0xff9b, 1, early, middle, late, high, low] => {
            let parted = join(early, (middle & 0xff) << 8 | late >> 8);
            // What holds nothing is not where the address is kept.
            [parted, join(high, low)].map(|one| Some(one).filter(|one| !one.is_unspecified()))
        }
        // Server and client, the client's turned over.
        [0x2001, 0, high, low, _, _, far, near] => [Some(join(high, low)), Some(join(!far, !near))],
        [0x2002, high, low, ..] => [Some(join(high, low)), None],
        _ => [None, None],
    }
}

fn is_private_host(host: &Host<&str>) -> bool {
    match host {
        Host::Ipv4(address) => is_private((*address).into()),
        Host::Ipv6(address) => is_private((*address).into()),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

fn is_metadata_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    matches!(name.as_str(), "metadata" | "metadata.google.internal" | "metadata.goog" | "instance-data")
}

#[cfg(test)]
mod tests;

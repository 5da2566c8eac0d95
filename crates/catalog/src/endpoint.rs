//! Where a version lives: its URL, how it is spoken to, and the credentials it wants.

use std::fmt;

use url::{Host, Url};
use zeroize::Zeroizing;

use crate::invalid::Invalid;

/// Most headers a version may add to each of its requests.
pub const MAX_HEADERS: usize = 32;

/// Where a version lives and what every request to it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `http` or `https`, with a host, never link-local.
    pub url: Url,
    /// Headers the operator set, credentials among them.
    pub headers: Vec<Header>,
    /// The era an operator pinned; learnt from the backend where absent.
    pub pinned_era: Option<Era>,
}

/// A header that each request to a backend carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Lower-case name.
    pub name: String,
    /// Value; treated as a secret.
    pub value: Secret,
}

/// Text that no log and no answer shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

/// The two families of MCP revisions: with sessions, and without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: a handshake, then a session.
    Legacy,
    /// 2026-07-28: each request stands by itself.
    Modern,
}

/// Which addresses backend URLs may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRule {
    /// Whether loopback and private addresses are allowed.
    pub allow_private: bool,
}

impl Secret {
    /// Takes a secret in.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// Gives the secret out, to the code that sends or seals it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl Endpoint {
    /// Checks a backend URL: `http` or `https`, a host, no user or password, and no address that `rule`
    /// forbids. Link-local and cloud metadata addresses are always refused.
    pub fn parse_url(field: &str, text: &str, rule: AddressRule) -> Result<Url, Invalid> {
        let invalid = |reason: &str| Err(Invalid::new(field, format!("{text:?} {reason}")));
        let url = match Url::parse(text.trim()) {
            Ok(url) => url,
            Err(error) => {
                return invalid(&format!("is not a URL ({error}); give one like http://127.0.0.1:9000/mcp"));
            }
        };
        if !matches!(url.scheme(), "http" | "https") {
            return invalid("must begin with http:// or https://");
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
                return invalid("is a link-local, metadata or unspecified address, which is never allowed");
            }
            Some(Host::Ipv6(address)) if is_forbidden(address.into()) => {
                return invalid("is a link-local, metadata or unspecified address, which is never allowed");
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

/// Says whether an address must never be connected to: link-local, cloud metadata, unspecified, multicast.
pub fn is_forbidden(address: std::net::IpAddr) -> bool {
    use std::net::IpAddr;
    match address {
        IpAddr::V4(v4) => {
            v4.is_link_local() || v4.is_unspecified() || v4.is_broadcast() || v4.is_multicast()
                // Metadata service of Alibaba Cloud; the others are link-local.
                || v4.octets() == [100, 100, 100, 200]
        }
        IpAddr::V6(v6) => {
            if let Some(v4) = embedded_v4(v6) {
                return is_forbidden(v4.into());
            }
            v6.is_unicast_link_local() || v6.is_unspecified() || v6.is_multicast()
                // Metadata service of AWS over IPv6.
                || v6.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]
        }
    }
}

/// Says whether an address is loopback or private, which the configuration may deny.
pub fn is_private(address: std::net::IpAddr) -> bool {
    use std::net::IpAddr;
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private(),
        IpAddr::V6(v6) => match embedded_v4(v6) {
            Some(v4) => is_private(v4.into()),
            None => v6.is_loopback() || v6.is_unique_local(),
        },
    }
}

/// Returns the IPv4 address that an IPv6 one leads to: mapped, or through a translator (RFC 6052, `64:ff9b::/96`).
fn embedded_v4(address: std::net::Ipv6Addr) -> Option<std::net::Ipv4Addr> {
    let translated = match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((u32::from(high) << 16 | u32::from(low)).into()),
        _ => None,
    };
    address.to_ipv4_mapped().or(translated)
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

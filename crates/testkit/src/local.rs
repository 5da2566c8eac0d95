//! Protection against DNS rebinding: a backend on loopback serves only who knows it by a name of loopback.

use http::StatusCode;

use crate::record::Seen;
use crate::wire::{Answer, status};

/// Refuses a request whose `Host` or `Origin` is not of this machine.
pub(crate) fn refuse_strangers(seen: &Seen) -> Option<Answer> {
    let origin = seen.header("origin");
    let origin = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    let is_stranger = |authority: &str| !authority.is_empty() && !is_local(authority);
    (is_stranger(seen.header("host")) || is_stranger(origin)).then(|| Ok(status(StatusCode::FORBIDDEN)))
}

fn is_local(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    host.is_some_and(|host| ["localhost", "127.0.0.1", "::1"].contains(&host))
}

//! How often callers may ask: each message that means work is counted, where anything is limited at all.

use std::time::Instant;

use catalog::access::Principal;
use mcp::message::{Kind, Outline};
use mcp::method::Method;

use crate::error::Error;
use crate::shared::Shared;

/// Counts a message at an endpoint, or refuses it. What lets others go on or ends what runs is never refused: a client's
/// answers and its cancellations.
pub(crate) fn message(
    shared: &Shared,
    principal: &Principal,
    path: &str,
    outline: &Outline,
) -> Result<(), Error> {
    if shared.limiter.is_none() || outline.kind == Kind::Response || outline.method == Method::Cancelled {
        return Ok(());
    }
    count(shared, principal, path, outline.kind == Kind::Request)
}

/// Counts the opening of a stream, or refuses it.
pub(crate) fn opening(shared: &Shared, principal: &Principal, path: &str) -> Result<(), Error> {
    count(shared, principal, path, false)
}

fn count(shared: &Shared, principal: &Principal, path: &str, is_answered: bool) -> Result<(), Error> {
    let Some(limiter) = &shared.limiter else { return Ok(()) };
    let counted = limiter.at_endpoint(principal, path, Instant::now());
    counted.map_err(|exceeded| Error::RateLimited { exceeded, is_answered })
}

//! Tokens that callers who are no administrators make for themselves, and what they may do with them.

use std::collections::HashSet;
use std::sync::Arc;

use catalog::Catalog;
use catalog::access::Principal;
use catalog::error::{Invalid, Refusal};
use catalog::time::Timestamp;
use catalog::token::{IssuedToken, TokenId};
use http::StatusCode;

use super::{Body, DEFAULT_LIFE_SECONDS};
use crate::api::error::Problem;
use crate::api::extract::Caller;

/// Most live tokens that a caller may have who makes them alone; scripts that forget theirs stop there.
const MAX_LIVE: usize = 100;

/// Fills in what the caller's own token decides, and refuses what it does not allow.
pub(super) fn narrow(body: &mut Body, caller: &Caller, now: Timestamp) -> Result<(), Problem> {
    let subject = &caller.principal.subject;
    let named = body.subject.as_ref().or(body.username.as_ref()).or(body.name.as_ref());
    if named.is_some_and(|named| named.trim() != &**subject) {
        return Err(refused(format!(
            "{subject} is not an administrator and may make tokens for themselves only"
        )));
    }
    if body.admin {
        return Err(refused(format!(
            "{subject} is not an administrator and may make no administrator's token"
        )));
    }
    body.subject = Some(subject.to_string());
    if let Some(end) = caller.principal.expires_at {
        let left = end.as_seconds() - now.as_seconds();
        if body.expires_in.is_some_and(|life| life > left) {
            let reason =
                format!("the token you call with ends in {left} s, and this one must not outlive it");
            return Err(Problem::bad_field("expires_in", reason));
        }
        body.expires_in = Some(body.expires_in.unwrap_or(DEFAULT_LIFE_SECONDS).min(left));
    }
    Ok(())
}

/// Refuses a token that allows more than the caller may at this moment, and notes whose it is.
pub(super) fn check(record: &mut IssuedToken, caller: &Caller) -> Result<(), Problem> {
    let Caller { principal, grants, .. } = caller;
    let foreign: Vec<_> =
        record.groups.iter().filter(|name| !principal.groups.contains(name)).map(String::as_str).collect();
    if !foreign.is_empty() {
        return Err(refused(format!("{} is not in these groups: {}", principal.subject, foreign.join(", "))));
    }
    let lacks = |scope: &&_| grants.missing(std::slice::from_ref(*scope)).is_some();
    let lacking: Vec<_> = record.scopes.iter().filter(lacks).map(ToString::to_string).collect();
    if !lacking.is_empty() {
        return Err(refused(format!(
            "{} does not hold these scopes: {}",
            principal.subject,
            lacking.join(", ")
        )));
    }
    record.subject_issuer = Some(principal.issuer.to_string()).filter(|issuer| !issuer.is_empty());
    let session = caller.session.as_ref().map(|session| session.id.clone());
    record.made_with = session.or_else(|| principal.token.clone());
    Ok(())
}

/// Refuses one token more than a caller may have.
pub(super) fn count(catalog: &Catalog, principal: &Principal, now: Timestamp) -> Result<(), Refusal> {
    let live =
        catalog.tokens.values().filter(|token| principal.is_named_by(token) && token.is_live(now)).count();
    if live < MAX_LIVE {
        return Ok(());
    }
    let reason = format!("{} has {live} live tokens already; revoke some first", principal.subject);
    Err(Refusal::Invalid(vec![Invalid::new("subject", reason)]))
}

/// Says whether a caller may see and revoke a token.
pub(super) fn may_see(token: &IssuedToken, caller: &Caller) -> bool {
    caller.principal.is_admin || caller.principal.is_named_by(token)
}

/// Returns a token and those that were made with it, and with those, as far as they are not revoked.
pub(crate) fn with_those_made_with<'a>(
    catalog: &'a Catalog,
    token: &'a Arc<IssuedToken>,
) -> Vec<&'a Arc<IssuedToken>> {
    let mut ended: HashSet<&TokenId> = HashSet::from([&token.id]);
    loop {
        let made = |one: &&Arc<IssuedToken>| one.made_with.as_ref().is_some_and(|by| ended.contains(by));
        let more: Vec<_> = catalog
            .tokens
            .values()
            .filter(made)
            .map(|one| &one.id)
            .filter(|id| !ended.contains(id))
            .collect();
        if more.is_empty() {
            break;
        }
        ended.extend(more);
    }
    let all = catalog.tokens.values().filter(|one| ended.contains(&one.id));
    all.filter(|one| one.revoked_at.is_none()).collect()
}

fn refused(detail: String) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, detail)
}

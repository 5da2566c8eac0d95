//! What a provider says of a caller, read by the operator's rules.

use std::sync::Arc;

use catalog::access::{LastUse, Principal, Scope};
use catalog::time::Timestamp;
use serde_json::Value;

use super::claim_name::{ClaimName, Claims};
use super::settings::ProviderSettings;
use crate::refused::Refused;

/// Most groups, and most scopes, that are taken from a token. A token that fits a header holds hardly more.
const MAX_LISTED: usize = 1000;
/// Longest subject that is taken, in bytes.
const MAX_SUBJECT_BYTES: usize = 1024;
/// Least and greatest `exp` and the like that are taken for a time, in seconds.
const TIMES: std::ops::RangeInclusive<f64> = 0.0..=1e11;

/// Makes the caller of which these claims are. Issuer, signature and such are checked before.
pub(super) fn principal(
    claims: &Claims,
    settings: &ProviderSettings,
    expires_at: Timestamp,
) -> Result<Principal, Refused> {
    let rules = &settings.claims;
    let subject = rules.subject.of(claims).and_then(Value::as_str).map(str::trim);
    let subject = subject.filter(|text| !text.is_empty() && text.len() <= MAX_SUBJECT_BYTES);
    let subject = subject.ok_or(Refused::MissingClaim("sub"))?;
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let scopes = listed(claims, &rules.scopes, words).into_iter();
    let whole = |text: &str| vec![text.trim().to_owned()];
    let mut groups = listed(claims, &rules.groups, whole);
    groups.iter_mut().for_each(|group| group.insert_str(0, &rules.group_prefix));
    Ok(Principal {
        subject: subject.into(),
        issuer: settings.issuer.as_str().into(),
        is_admin: groups.iter().any(|group| rules.admin_groups.contains(group)),
        groups,
        // What is no scope of ours is no right here.
        scopes: scopes.filter_map(|word| Scope::parse("scope", &word).ok()).collect(),
        token: None,
        resource: None,
        audiences: audiences(claims, settings)?,
        expires_at: Some(expires_at),
        last_use: LastUse::default(),
    })
}

fn listed(claims: &Claims, names: &[ClaimName], split: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for value in names.iter().filter_map(|name| name.of(claims)) {
        let texts: Vec<String> = match value {
            Value::String(text) => split(text),
            Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => continue,
        };
        for text in texts.into_iter().filter(|text| !text.is_empty()) {
            if all.len() < MAX_LISTED && !all.contains(&text) {
                all.push(text);
            }
        }
    }
    all
}

/// Returns the audiences that bind the caller to endpoints; `None` where one is good for all of them.
fn audiences(claims: &Claims, settings: &ProviderSettings) -> Result<Option<Arc<[Box<str>]>>, Refused> {
    let all: Vec<&str> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if all.is_empty() {
        return Err(Refused::MissingClaim("aud"));
    }
    if all.iter().any(|one| settings.audiences.iter().any(|known| known == one)) {
        return Ok(None);
    }
    Ok(Some(all.into_iter().take(MAX_LISTED).map(Box::from).collect()))
}

/// Reads a claim that is a time. Fails where it is there and none.
pub(super) fn time(claims: &Claims, name: &'static str) -> Result<Option<Timestamp>, Refused> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_f64().filter(|seconds| TIMES.contains(seconds));
    let seconds = seconds.ok_or(Refused::MissingClaim(name))?;
    Ok(Some(Timestamp((seconds * 1000.0) as i64)))
}

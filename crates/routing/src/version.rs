//! One version of a server as the data plane needs it: endpoint, era, and ready header values.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use catalog::VersionKey;
use catalog::authorization::Flow;
use catalog::endpoint::{Endpoint, Era, Eras};
use catalog::inventory::{Inventory, Side};
use catalog::server::{Status, Version};
use http::HeaderValue;

use crate::params::Params;

/// One version of a server.
#[derive(Debug)]
pub struct VersionTarget {
    /// Its server and label.
    pub key: VersionKey,
    /// Where it lives.
    pub endpoint: Arc<Endpoint>,
    /// The eras it speaks: the one that is pinned, else as learnt, else unknown.
    pub eras: Option<Eras>,
    /// Its label as a header value.
    pub label_header: HeaderValue,
    /// `Deprecation` (RFC 9745), where it is deprecated.
    pub deprecation: Option<HeaderValue>,
    /// `Sunset` (RFC 8594), where it is deprecated and has a date.
    pub sunset: Option<HeaderValue>,
    /// Tells it from an earlier or later version of the same label, and from itself at another address: what
    /// its backend made (session ids) is good for no other. The same in every process.
    pub identity: u64,
    /// Whether it may have tasks, also where it was never read.
    pub has_tasks: bool,
    /// What it was last seen to offer.
    pub inventory: Option<Arc<Inventory>>,
    /// What its tools say of headers; `None` where they say nothing.
    pub params: Option<Box<Params>>,
    pub(crate) source: Arc<Version>,
}

impl VersionTarget {
    pub(crate) fn new(key: VersionKey, version: &Arc<Version>, inventory: Option<Arc<Inventory>>) -> Self {
        let is_deprecated = version.status == Status::Deprecated;
        let since = version.deprecated_at.unwrap_or(version.updated_at).as_seconds();
        let sunset = version.sunset_on.as_deref().and_then(http_date);
        Self {
            label_header: HeaderValue::from_str(key.label.as_str()).expect("labels are printable ASCII"),
            endpoint: match &inventory {
                Some(read) if read.has_event_stream => Arc::new(version.endpoint.over_event_stream()),
                _ => version.endpoint.clone(),
            },
            eras: version.endpoint.pinned_era.map(Eras::from).or(inventory.as_ref().map(|i| i.eras())),
            deprecation: is_deprecated.then(|| HeaderValue::from_str(&format!("@{since}")).expect("digits")),
            sunset: sunset.filter(|_| is_deprecated),
            identity: identity(version),
            has_tasks: inventory.as_ref().is_none_or(|inventory| has_tasks(inventory)),
            params: inventory.as_deref().and_then(Params::of),
            inventory,
            source: version.clone(),
            key,
        }
    }

    /// Returns the era in which a client of `front` is answered: its own where the backend speaks it, and where the
    /// backend was never reached.
    pub fn era_toward(&self, front: Era) -> Era {
        self.eras.map_or(front, |eras| eras.toward(front))
    }

    /// Returns what it was last seen to offer to a client of `front`.
    pub fn side(&self, front: Era) -> Option<Side<'_>> {
        Some(self.inventory.as_ref()?.side(self.era_toward(front)))
    }

    /// Says whether clients of both eras are told the same of it, and see the same lists.
    pub(crate) fn is_alike(&self) -> bool {
        let inventory = self.inventory.as_deref().filter(|_| self.eras == Some(Eras::Both));
        let Some((inventory, side)) = inventory.and_then(|one| Some((one, one.legacy.as_deref()?))) else {
            return true;
        };
        let lists = [&side.tools, &side.prompts, &side.resources, &side.templates];
        lists.into_iter().all(Option::is_none)
            && side.capabilities == inventory.capabilities
            && side.instructions == inventory.instructions
    }

    /// Says whether its backend announced tasks to clients of `front`. They are of its own era only: those of one are
    /// not those of the other.
    pub fn offers_tasks(&self, front: Era) -> bool {
        let inventory = self.inventory.as_ref().filter(|_| self.era_toward(front) == front);
        inventory.is_some_and(|inventory| announces_tasks(inventory, front))
    }

    /// Says whether its backend lists tasks to legacy clients.
    pub fn lists_tasks(&self) -> bool {
        self.offers_of_tasks(&["list"])
    }

    /// Says whether its backend announced to legacy clients what stands under these keys, each in the one before, in its
    /// capability `tasks`.
    pub(crate) fn offers_of_tasks(&self, keys: &[&str]) -> bool {
        if !self.offers_tasks(Era::Legacy) {
            return false;
        }
        let mut object = self.capability(Era::Legacy, "tasks");
        for key in keys {
            object =
                object.and_then(|object| mcp::message::member(object, key).map(|value| value.of(object)));
        }
        object.is_some()
    }

    /// Says whether its backend wants a token of the caller, not of the gateway.
    pub fn wants_caller(&self) -> bool {
        self.endpoint.authorization.as_ref().is_some_and(|one| one.flow != Flow::Service)
    }

    /// Says whether its backend announced a capability to clients of `front`.
    pub fn offers(&self, front: Era, capability: &str) -> bool {
        self.capability(front, capability).is_some()
    }

    /// Says whether its backend announced to clients of `front` a capability with a switch in it turned on, as
    /// `resources.subscribe`.
    pub fn offers_switch(&self, front: Era, capability: &str, switch: &str) -> bool {
        let Some(object) = self.capability(front, capability) else { return false };
        mcp::message::member(object, switch).is_some_and(|value| value.of(object) == b"true")
    }

    fn capability(&self, front: Era, name: &str) -> Option<&[u8]> {
        let capabilities = self.side(front)?.capabilities.as_bytes();
        mcp::message::member(capabilities, name).map(|span| span.of(capabilities))
    }
}

/// Says whether a backend announced tasks to clients of any era: those of 2025-11-25, or the extension of 2026-07-28.
fn has_tasks(inventory: &Inventory) -> bool {
    [Era::Legacy, Era::Modern].into_iter().any(|era| announces_tasks(inventory, era))
}

fn announces_tasks(inventory: &Inventory, era: Era) -> bool {
    let capabilities = inventory.side(era).capabilities.as_bytes();
    let inside = |object: &[u8], name: &str| mcp::message::member(object, name).is_some();
    let extensions = mcp::message::member(capabilities, "extensions").map(|at| at.of(capabilities));
    match era {
        Era::Legacy => inside(capabilities, "tasks"),
        Era::Modern => extensions.is_some_and(|known| inside(known, mcp::task::EXTENSION)),
    }
}

/// Hashes when a version was registered and where it lives (FNV-1a, 64 bits: short, and the same everywhere).
fn identity(version: &Version) -> u64 {
    let registered = version.registered_at.0.to_le_bytes();
    let bytes = registered.iter().chain(version.endpoint.url.as_str().as_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Turns a day `YYYY-MM-DD` into an HTTP date at its beginning.
fn http_date(day: &str) -> Option<HeaderValue> {
    let mut parts = day.get(..10)?.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970 of a civil date, counting years from March so that the leap day comes last.
    let (shifted_year, shifted_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = shifted_year / 4 - shifted_year / 100 + shifted_year / 400;
    let days = 365 * shifted_year + leap_days + (153 * shifted_month + 2) / 5 + day - 1 - 719_468;
    let moment = UNIX_EPOCH + Duration::from_secs(u64::try_from(days).ok()? * 86_400);
    HeaderValue::from_str(&httpdate::fmt_http_date(moment)).ok()
}

#[cfg(test)]
mod tests {
    use super::http_date;

    #[test]
    fn days_become_http_dates() {
        let check = |day: &str, expected: Option<&str>| {
            assert_eq!(http_date(day).as_ref().map(|v| v.to_str().expect("ascii")), expected, "{day}");
        };
        check("2031-06-01", Some("Sun, 01 Jun 2031 00:00:00 GMT"));
        check("1970-01-01", Some("Thu, 01 Jan 1970 00:00:00 GMT"));
        check("2024-02-29", Some("Thu, 29 Feb 2024 00:00:00 GMT"));
        check("2000-12-31", Some("Sun, 31 Dec 2000 00:00:00 GMT"));
        check("2031-13-01", None);
        check("soon", None);
    }
}

//! Points in time as rows show them: `2026-01-14T00:00:00Z`, to the millisecond.

use std::fmt;

use catalog::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A time in a record: an RFC 3339 text, or milliseconds as a number where the calendar ends (year 9999).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment(pub(super) Timestamp);

impl Moment {
    /// Dresses an optional time.
    pub(super) fn maybe(time: Option<Timestamp>) -> Option<Self> {
        time.map(Self)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match jiff::Timestamp::from_millisecond(self.0.0) {
            Ok(time) => serializer.collect_str(&time),
            Err(_) => serializer.serialize_i64(self.0.0),
        }
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MomentVisitor)
    }
}

struct MomentVisitor;

impl de::Visitor<'_> for MomentVisitor {
    type Value = Moment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time like 2026-01-14T00:00:00Z, or milliseconds since 1970")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Moment, E> {
        let time: jiff::Timestamp = text.parse().map_err(E::custom)?;
        Ok(Moment(Timestamp(time.as_millisecond())))
    }

    fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Moment, E> {
        Ok(Moment(Timestamp(millis)))
    }

    fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Moment, E> {
        i64::try_from(millis).map(|millis| Moment(Timestamp(millis))).map_err(E::custom)
    }
}

//! Members that a JSON text has twice: which of the two is meant nobody knows, so neither is taken.

use std::collections::HashSet;
use std::fmt;

use http::StatusCode;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::json;

use super::error::Problem;
use super::place;

/// Refuses JSON in which an object, at any depth, has a member twice. For text that is known to be JSON.
pub(super) fn check(body: &[u8]) -> Result<(), Problem> {
    let Err((field, reason)) = place::read::<Unique>(body) else { return Ok(()) };
    let problem = match &field {
        Some(field) => Problem::new(StatusCode::BAD_REQUEST, format!("{field}: {reason}")),
        None => Problem::new(StatusCode::BAD_REQUEST, reason.clone()),
    };
    Err(match field {
        Some(field) => problem.with("errors", json!([{ "field": field, "reason": reason }])),
        None => problem,
    })
}

/// Any JSON without repetitions.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk)
    }
}

struct Walk;

impl<'de> Visitor<'de> for Walk {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Unique, A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if seen.contains(&name) {
                return Err(A::Error::custom(format!("the member {name:?} is there twice")));
            }
            seen.insert(name);
            members.next_value::<Unique>()?;
        }
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        while items.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }
}

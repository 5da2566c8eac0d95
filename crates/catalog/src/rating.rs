//! What users think of servers and virtual servers: one to five stars, one rating a user.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::invalid::Invalid;
use crate::name::{ServerPath, Slug};

/// Most ratings of one object. Each further one copies those that are there, and all are shown at once.
pub const MAX_RATINGS: usize = 10_000;

/// One to five stars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stars(u8);

/// What can be rated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rated {
    /// A server, with all its versions.
    Server(ServerPath),
    /// A virtual server.
    VirtualServer(Slug),
}

/// The ratings of one object: the stars that each user gave, by the user's subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ratings(pub BTreeMap<Arc<str>, Stars>);

impl Stars {
    /// Checks a number of stars.
    pub fn parse(field: &str, number: i64) -> Result<Self, Invalid> {
        match u8::try_from(number) {
            Ok(stars @ 1..=5) => Ok(Self(stars)),
            _ => Err(Invalid::new(field, format!("{number} must be a whole number from 1 to 5"))),
        }
    }

    /// Returns the number.
    pub fn count(self) -> u8 {
        self.0
    }
}

impl Ratings {
    /// Returns the average; 0 without ratings.
    pub fn average(&self) -> f64 {
        let sum: f64 = self.0.values().map(|stars| f64::from(stars.0)).sum();
        if self.0.is_empty() { 0.0 } else { sum / self.0.len() as f64 }
    }

    /// Says whether this user may add a rating or replace theirs.
    pub fn has_room_for(&self, user: &str) -> bool {
        self.0.len() < MAX_RATINGS || self.0.contains_key(user)
    }
}

#[cfg(test)]
mod tests;

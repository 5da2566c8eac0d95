//! Ratings as they are stored: one row for each user and object.

use std::sync::Arc;

use catalog::name::{ServerPath, Slug};
use catalog::rating::{Rated, Stars};
use serde::{Deserialize, Serialize};

use super::Unreadable;

/// What one user thinks of one object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RatingRecord {
    /// `/context7`, or `/virtual/dev-tools`.
    path: String,
    user: String,
    rating: u8,
}

impl RatingRecord {
    /// Takes down a rating.
    pub fn of(rated: &Rated, user: &str, stars: Stars) -> Self {
        Self { path: Self::path_of(rated), user: user.to_owned(), rating: stars.count() }
    }

    /// Joins what a row holds.
    pub fn new(path: &str, user: &str, rating: u8) -> Self {
        Self { path: path.to_owned(), user: user.to_owned(), rating }
    }

    /// Returns the path under which an object's ratings are kept. No server's path begins with `/virtual/`.
    pub fn path_of(rated: &Rated) -> String {
        match rated {
            Rated::Server(path) => path.to_string(),
            Rated::VirtualServer(slug) => slug.path(),
        }
    }

    /// Reads it back.
    pub fn into_rating(self) -> Result<(Rated, Arc<str>, Stars), Unreadable> {
        let rated = if self.path.starts_with("/virtual/") {
            Rated::VirtualServer(Slug::parse("path", &self.path)?)
        } else {
            Rated::Server(ServerPath::parse("path", &self.path)?)
        };
        Ok((rated, self.user.into(), Stars::parse("rating", i64::from(self.rating))?))
    }
}

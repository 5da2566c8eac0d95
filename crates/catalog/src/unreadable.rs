//! Stored records that cannot be read: they are kept, named, and in nobody's way but their own.

use std::fmt;

use crate::error::Refusal;
use crate::name::{ServerPath, Slug};
use crate::token::TokenId;
use crate::{Catalog, VersionKey};

/// What a record that cannot be read is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A server, or a version without which it cannot be read.
    Server(ServerPath),
    /// A version that its server does without.
    Version(VersionKey),
    /// A virtual server.
    VirtualServer(Slug),
    /// A group.
    Group(String),
    /// A token, which counts as revoked.
    Token(TokenId),
    /// Anything else, in words.
    Other(String),
}

impl Place {
    /// Says how the record is removed.
    fn remedy(&self) -> String {
        match self {
            Self::Server(path) => format!("DELETE /api/servers{path} removes it"),
            Self::Version(VersionKey { path, label }) => {
                format!("DELETE /api/servers{path}/versions/{label} removes it")
            }
            Self::VirtualServer(slug) => format!("DELETE /api/virtual-servers/{slug} removes it"),
            Self::Group(name) => format!("DELETE /api/groups/{name} removes it"),
            Self::Token(_) | Self::Other(_) => "it goes on standing there".into(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(path) => write!(f, "{path}"),
            Self::Version(VersionKey { path, label }) => write!(f, "version {label} of {path}"),
            Self::VirtualServer(slug) => f.write_str(&slug.path()),
            Self::Group(name) => write!(f, "group {name}"),
            Self::Token(id) => write!(f, "token {id}"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

impl Catalog {
    /// Refuses to write where a record stands that cannot be read: nobody knows what would be lost.
    pub fn check_readable(&self, place: &Place) -> Result<(), Refusal> {
        match self.unreadable.get(place) {
            None => Ok(()),
            Some(reason) => Err(Refusal::Unreadable {
                name: place.to_string(),
                reason: reason.clone(),
                remedy: place.remedy(),
            }),
        }
    }
}

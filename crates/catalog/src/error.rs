//! Why the catalog refuses something: bad fields, all of them at once, or a rule that would be broken.

pub use crate::invalid::Invalid;
use crate::name::Slug;

/// Why an edit of the catalog was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Fields of the request are bad. Lists every one of them.
    #[error("{}", joined(.0))]
    Invalid(Vec<Invalid>),
    /// Names something that is not there; tells what is.
    #[error("no such {kind}: {name}{}", known_list(.known))]
    NoSuch {
        /// `server`, `version`, `virtual server`, `group`, `token`.
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names there are, where a person can choose among them.
        known: Vec<String>,
    },
    /// Something of that name is there already.
    #[error("{kind} {name} exists already")]
    Exists {
        /// As in `NoSuch`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A record is there that cannot be read, so nothing is written over it.
    #[error("there is a record of {name} that cannot be read ({reason}); {remedy}")]
    Unreadable {
        /// What the record is of.
        name: String,
        /// Why it cannot be read.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// The active version cannot be removed.
    #[error("version {label} is the active version of {path}; make another version active first")]
    Active {
        /// The server.
        path: String,
        /// The version.
        label: String,
    },
    /// Virtual servers hold on to this version.
    #[error("version {label} of {path} is pinned by the virtual servers {}; change them, or force the removal", slugs(.by))]
    Pinned {
        /// The server.
        path: String,
        /// The version.
        label: String,
        /// The virtual servers that pin it.
        by: Vec<Slug>,
    },
    /// Somebody else wrote since the caller read.
    #[error(
        "{name} changed meanwhile: it is at revision {current}, not {expected}; read it again and repeat the edit"
    )]
    Moved {
        /// The object.
        name: String,
        /// Its revision now.
        current: u64,
        /// The revision the caller read.
        expected: u64,
    },
}

fn joined(faults: &[Invalid]) -> String {
    faults.iter().map(Invalid::to_string).collect::<Vec<_>>().join("; ")
}

fn known_list(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there are: {}", known.join(", ")) }
}

fn slugs(by: &[Slug]) -> String {
    by.iter().map(Slug::as_str).collect::<Vec<_>>().join(", ")
}

//! The protocol's revisions, and which of them a handshake agrees on.

/// A revision of the protocol that we speak, in the order of their dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Revision {
    /// All of them, the oldest first.
    pub const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];

    /// The newest revision that has sessions.
    pub const LATEST_LEGACY: Revision = Revision::V2025_11_25;

    /// The revision without sessions.
    pub const MODERN: Revision = Revision::V2026_07_28;

    /// Finds a revision by its date.
    pub fn parse(text: &str) -> Option<Revision> {
        Revision::ALL.into_iter().find(|revision| revision.as_str() == text)
    }

    /// Returns its date, as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// Tells whether each request of this revision stands by itself, without a session.
    pub fn is_modern(self) -> bool {
        self >= Revision::MODERN
    }
}

/// Returns the revision to answer an `initialize` with: the one asked for where it is a legacy one we know,
/// else the latest legacy one.
///
/// Source: MCP 2025-11-25, basic/lifecycle, version negotiation.
pub fn negotiate(asked: &str) -> Revision {
    Revision::parse(asked).filter(|revision| !revision.is_modern()).unwrap_or(Revision::LATEST_LEGACY)
}

#[cfg(test)]
mod tests;

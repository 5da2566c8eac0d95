//! Aliases to offer for rows whose exposed name clients would refuse, or that share theirs with another row.

use std::collections::HashSet;

use super::Mapping;
use crate::name::{ToolName, WARN_NAME_BYTES};

/// An alias that would do for a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// Index of the row.
    pub row: usize,
    /// A name of its own that every client takes.
    pub alias: ToolName,
}

/// Offers an alias for each row that needs one, in the order of the rows.
///
/// The same row is offered the same alias whatever other rows there are, unless one of them has that very name. An
/// alias is at most `WARN_NAME_BYTES` long; what was cut off or changed is made up for by a hash of server, version
/// and tool.
pub fn aliases(rows: &[Mapping]) -> Vec<Suggestion> {
    let mut taken: HashSet<String> = HashSet::new();
    let needs: Vec<_> = rows
        .iter()
        .map(|row| {
            let name = row.exposed();
            let is_fit = name.len() <= WARN_NAME_BYTES && ToolName::parse("", name).is_ok();
            match (is_fit, taken.contains(name)) {
                (true, false) => {
                    taken.insert(name.into());
                    None
                }
                (true, true) => Some(format!("{}_{name}", row.server.group())),
                (false, _) => Some(name.into()),
            }
        })
        .collect();
    let wishes = needs.iter().enumerate().filter_map(|(index, wish)| Some((index, wish.as_deref()?)));
    let offered = wishes.map(|(index, wish)| {
        let tries = (0_u32..).map(|turn| fitted(&rows[index], wish, turn));
        let free =
            tries.flatten().find(|name| !taken.contains(name)).expect("there are more hashes than rows");
        let alias = ToolName::parse("", &free).expect("of allowed characters, and short");
        taken.insert(free);
        Suggestion { row: index, alias }
    });
    offered.collect()
}

/// Makes a fit name of a wish: at turn 0 as it is, as far as it can stay so, then with a hash.
fn fitted(row: &Mapping, wish: &str, turn: u32) -> Option<String> {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' };
    let plain: String = wish.chars().map(allowed).collect();
    let separators = ['_', '.', '-'];
    if turn == 0 {
        let says_enough = plain.len() <= WARN_NAME_BYTES && plain.contains(|c| !separators.contains(&c));
        return says_enough.then_some(plain);
    }
    let hash = format!("{:08x}", hash(row, turn));
    let room = WARN_NAME_BYTES - hash.len() - 1;
    let head = plain.get(..room).unwrap_or(&plain).trim_matches(separators);
    Some(if head.is_empty() { format!("tool_{hash}") } else { format!("{head}_{hash}") })
}

/// Hashes what tells one row from another (FNV-1a, folded to 32 bits: the same in every process).
fn hash(row: &Mapping, turn: u32) -> u32 {
    let pin = row.pin.as_ref().map_or("", |pin| pin.as_str());
    let parts = [row.server.as_str(), "\0", pin, "\0", &row.tool].map(str::as_bytes).concat();
    let bytes = parts.iter().copied().chain(turn.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests;

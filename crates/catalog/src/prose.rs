//! Texts for people: what they may hold, so that no log, terminal or page is misled by one.

use crate::invalid::Invalid;

/// Longest description, in bytes; descriptions are held in memory and searched.
pub const MAX_PROSE_BYTES: usize = 16 * 1024;

/// Checks a text of one line, a name or a tag: no control characters.
pub fn check_line(field: &str, text: &str) -> Result<(), Invalid> {
    match text.chars().find(|c| c.is_control()) {
        None => Ok(()),
        Some(c) => Err(Invalid::new(field, format!("must not hold control characters ({c:?})"))),
    }
}

/// Checks a description: at most [`MAX_PROSE_BYTES`], no control characters but tabs and line ends.
pub fn check_prose(field: &str, text: &str) -> Result<(), Invalid> {
    if text.len() > MAX_PROSE_BYTES {
        return Err(Invalid::new(field, format!("is longer than {MAX_PROSE_BYTES} bytes")));
    }
    // Forms end their lines with CR LF.
    let text = text.replace("\r\n", "\n");
    match text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        None => Ok(()),
        Some(c) => {
            let reason = format!("must not hold control characters but tabs and line ends ({c:?})");
            Err(Invalid::new(field, reason))
        }
    }
}

#[cfg(test)]
mod tests;

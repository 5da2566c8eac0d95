//! Texts of others, written so that they can only be read: a terminal obeys what it is sent.

/// Writes characters that steer a terminal, end a line or turn the direction of writing as what they are: a
/// bell becomes `\u{7}`, a line's end `\n`.
pub(super) fn visible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if is_steering(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        shown
    })
}

/// Writes each line of a text as [`visible`] does.
pub(super) fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

fn is_steering(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests;

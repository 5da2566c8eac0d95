//! What texts for people may hold.

use super::*;

#[test]
fn control_characters_are_named() {
    for bad in ["a\nb", "a\tb", "\u{1b}[2K", "\u{7f}", "\u{9b}x", "\0"] {
        let fault = check_line("tags", bad).expect_err(bad);
        assert_eq!(fault.field, "tags");
        assert!(!fault.reason.chars().any(char::is_control), "{}", fault.reason);
    }
    check_line("name", "Größe “1” 🚀").expect("letters of any script");
}

#[test]
fn descriptions_may_have_lines_and_a_length() {
    check_prose("description", "one\r\ntwo\n\tthree").expect("lines and tabs");
    for bad in ["a\rb", "\u{1b}[2K", "\0"] {
        check_prose("description", bad).expect_err(bad);
    }
    check_prose("description", &"a".repeat(MAX_PROSE_BYTES)).expect("as long as may be");
    check_prose("description", &"a".repeat(MAX_PROSE_BYTES + 1)).expect_err("too long");
}

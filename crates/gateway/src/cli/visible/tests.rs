//! What steers a terminal, made visible.

use super::*;

#[test]
fn nothing_steers_a_terminal() {
    for (text, expected) in [
        ("größe 工具 👩‍💻 a\\b", "größe 工具 👩‍💻 a\\b"),
        ("\u{1b}[31mred", "\\u{1b}[31mred"),
        ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
        ("a\r\nb\tc\0", "a\\r\\nb\\tc\\u{0}"),
        ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
        ("a\u{202e}b\u{2066}c\u{2028}d", "a\\u{202e}b\\u{2066}c\\u{2028}d"),
    ] {
        assert_eq!(visible(text), expected);
    }
    assert_eq!(visible_lines("a\u{7}\n  b\r"), "a\\u{7}\n  b\\r");
}

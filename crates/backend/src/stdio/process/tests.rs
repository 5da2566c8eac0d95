//! Messages as lines.

use super::*;

#[test]
fn a_message_is_one_line() {
    for (message, expected) in [("{}", "{}\n"), ("{\n  \"a\": 1\r\n}\n", "{   \"a\": 1  } \n"), ("", "\n")] {
        assert_eq!(&line(message.as_bytes())[..], expected.as_bytes(), "{message:?}");
    }
}

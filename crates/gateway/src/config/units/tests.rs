//! Durations and sizes as people write them.

use super::*;

#[test]
fn durations_are_read_in_the_usual_units() {
    let cases = [
        ("500ms", Some(500)),
        ("30s", Some(30_000)),
        ("30", Some(30_000)),
        (" 5 m ", Some(300_000)),
        ("1h", Some(3_600_000)),
        ("2d", Some(172_800_000)),
        ("", None),
        ("s", None),
        ("-1s", None),
        ("1.5s", None),
        ("3 weeks", None),
        ("99999999999999999999s", None),
        ("18446744073709551615h", None),
    ];
    for (text, expected) in cases {
        assert_eq!(Span::parse(text).map(|span| span.0.as_millis()), expected, "{text:?}");
    }
}

#[test]
fn sizes_are_read_in_the_usual_units() {
    let cases = [
        ("65536", Some(65536)),
        ("64KiB", Some(65536)),
        ("64k", Some(65536)),
        ("16 MiB", Some(16 << 20)),
        ("16MB", Some(16_000_000)),
        ("1gib", Some(1 << 30)),
        ("", None),
        ("16 parsecs", None),
        ("18446744073709551615GiB", None),
    ];
    for (text, expected) in cases {
        assert_eq!(Size::parse(text).map(|size| size.0), expected, "{text:?}");
    }
}

#[test]
fn spans_read_back_as_they_print() {
    for span in [Span::seconds(0), Span::seconds(90), Span(Duration::from_millis(1_500))] {
        assert_eq!(Span::parse(&span.to_string()), Some(span));
    }
}

use super::*;

#[test]
fn rates() {
    let second = 1_000_000_000;
    for (text, expected) in [
        ("1/s", Some((second, 0))),
        ("10/s", Some((second / 10, second / 10 * 9))),
        ("60/m", Some((second, 59 * second))),
        ("60/min burst 1", Some((second, 0))),
        (" 3600/h  burst 3 ", Some((second, 2 * second))),
        ("100000/s", Some((10_000, 999_990_000))),
        ("0/s", None),
        ("", None),
        ("10", None),
        ("10/d", None),
        ("-1/s", None),
        ("10/s burst", None),
        ("10/s burst 0", None),
        ("10/s burst 5 6", None),
        ("10/s 5", None),
        ("9999999999999999999/s", None),
        ("2000000000/s", None),
        ("100001/s", None),
    ] {
        assert_eq!(Rate::parse(text), expected.map(|(each, ahead)| Rate { each, ahead }), "{text:?}");
    }
}

//! Limits as the kernel writes them.

use super::*;

#[test]
fn the_soft_limit_is_read() {
    let cases = [
        (
            "Limit  Soft  Hard  Units\nMax open files            1024                 524288               files \n",
            Some(1024),
        ),
        ("Max open files            unlimited            unlimited            files", None),
        ("Max processes             1                    2                    processes", None),
        ("", None),
    ];
    for (limits, expected) in cases {
        assert_eq!(soft_limit(limits), expected, "{limits}");
    }
}

#[test]
fn no_more_is_taken_than_wanted() {
    assert_eq!(afford(1), 1);
}

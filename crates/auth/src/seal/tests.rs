//! What opens, and everything that must not.

use proptest::prelude::*;

use super::*;

fn seal(purpose: &'static str) -> Seal {
    Seal::new(&RootKey::from_hex(&"0f".repeat(32)).unwrap(), purpose)
}

#[test]
fn the_same_bytes_are_sealed_differently_each_time() {
    let seal = seal("session");
    let [one, two] = [(), ()].map(|()| seal.seal(b"plain", b""));
    assert_ne!(one, two);
    assert_eq!(seal.open(&one, b"").unwrap(), b"plain");
    assert_eq!(seal.open(&two, b"").unwrap(), b"plain");
}

#[test]
fn what_is_bound_elsewhere_or_sealed_for_another_purpose_stays_closed() {
    let sealed = seal("session").seal(b"plain", b"/github");
    assert_eq!(seal("session").open(&sealed, b"/github").unwrap(), b"plain");
    assert_eq!(seal("session").open(&sealed, b"/jira"), None);
    assert_eq!(seal("cursor").open(&sealed, b"/github"), None);
    let other = Seal::new(&RootKey::from_hex(&"0e".repeat(32)).unwrap(), "session");
    assert_eq!(other.open(&sealed, b"/github"), None);
}

#[test]
fn older_keys_open_and_only_the_one_in_use_seals() {
    let key = |keys: &str| RootKey::from_hex(keys).unwrap();
    let (old, new) = ("0f".repeat(32), "0e".repeat(32));
    let before = Seal::new(&key(&old), "session");
    let both = Seal::new(&key(&format!("{new},{old}")), "session");
    let after = Seal::new(&key(&new), "session");
    let sealed = before.seal(b"plain", b"a");
    assert_eq!(both.open(&sealed, b"a").unwrap(), b"plain");
    assert!(!both.is_current(&sealed, b"a") && !both.is_current("", b"a"));
    let anew = both.seal(b"plain", b"a");
    assert!(both.is_current(&anew, b"a") && !both.is_current(&anew, b"b"));
    assert_eq!(after.open(&anew, b"a").unwrap(), b"plain");
    assert_eq!((before.open(&anew, b"a"), after.open(&sealed, b"a")), (None, None));
}

#[test]
fn only_one_spelling_opens() {
    let seal = seal("session");
    // 29 bytes leave two unused bits in the last digit: four spellings of which one is ours.
    let sealed = seal.seal(b"p", b"");
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (start, last) = sealed.split_at(sealed.len() - 1);
    for digit in digits.chars().filter(|digit| !last.contains(*digit)) {
        assert_eq!(seal.open(&format!("{start}{digit}"), b""), None, "last digit {digit} for {last}");
    }
    for altered in [format!("{sealed}="), format!(" {sealed}"), format!("{sealed}\n"), format!("{sealed}A")] {
        assert_eq!(seal.open(&altered, b""), None, "{altered:?}");
    }
    for broken in ["", "AA", "AAAAAAAAAAAAAAAA", "é", &sealed[4..]] {
        assert_eq!(seal.open(broken, b""), None, "{broken:?}");
    }
}

proptest! {
    #[test]
    fn what_was_sealed_opens_and_one_changed_digit_closes_it(plain: Vec<u8>, bound: Vec<u8>, at: prop::sample::Index) {
        let seal = seal("session");
        let sealed = seal.seal(&plain, &bound);
        prop_assert_eq!(seal.open(&sealed, &bound), Some(plain));
        let at = at.index(sealed.len());
        let other = if &sealed[at..=at] == "A" { "B" } else { "A" };
        prop_assert_eq!(seal.open(&format!("{}{other}{}", &sealed[..at], &sealed[at + 1..]), &bound), None);
    }

    #[test]
    fn no_text_makes_it_panic(text: String) {
        prop_assert_eq!(seal("session").open(&text, b""), None);
    }
}

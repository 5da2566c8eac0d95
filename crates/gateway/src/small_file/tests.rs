//! Files up to their bound and beyond it.

use super::*;

#[test]
fn a_text_is_read_up_to_its_bound() {
    assert_eq!(text(&b"abc"[..], 3).expect("a text"), "abc");
    for (source, expected) in [(&b"abcd"[..], "longer than 3 bytes"), (&b"\xff"[..], "is no text")] {
        let error = text(source, 3).expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn what_never_ends_is_given_up() {
    let error = bytes(io::repeat(7), MAX_SECRET_BYTES).expect_err("a bound");
    assert!(error.to_string().contains("longer than 65536 bytes"), "{error}");
}

#[test]
fn a_secret_comes_without_its_blanks() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("secret");
    std::fs::write(&file, " s3cret\n").expect("a file");
    assert_eq!(secret(&file).expect("a secret"), "s3cret");
    std::fs::write(&file, "a".repeat(65_537)).expect("a file");
    assert!(secret(&file).is_err());
}

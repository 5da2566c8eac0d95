//! The key file's life, and what is derived.

use super::*;

#[test]
fn a_missing_key_file_is_created_once_and_then_read() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("root.key");
    let first = RootKey::load_or_create(&file).unwrap();
    let second = RootKey::load_or_create(&file).unwrap();
    assert_eq!(first.derive("a"), second.derive("a"));
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.trim().len(), 64);
    assert_eq!(RootKey::from_hex(&text).unwrap().derive("a"), first.derive("a"));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside the key");
}

#[cfg(unix)]
#[test]
fn the_key_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("root.key");
    RootKey::load_or_create(&file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn processes_that_start_together_agree_on_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("root.key");
    let load = || RootKey::load_or_create(&file).unwrap().derive("a");
    let keys: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(load)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]));
}

#[test]
fn what_is_not_a_key_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("root.key");
    for text in ["", "abc", &"g".repeat(64), &"a".repeat(63), &"a".repeat(66), &"é".repeat(32)] {
        fs::write(&file, text).unwrap();
        let refused = RootKey::load_or_create(&file).unwrap_err();
        assert!(refused.to_string().contains("root.key"), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn each_purpose_has_its_own_key() {
    let root = RootKey::from_hex(&"0f".repeat(32)).unwrap();
    assert_eq!(root.derive("a"), root.derive("a"));
    assert_ne!(root.derive("a"), root.derive("b"));
    assert_ne!(root.derive("a"), RootKey::from_hex(&"0e".repeat(32)).unwrap().derive("a"));
    assert_eq!(format!("{root:?}"), "RootKey(secret)");
}

#[test]
fn a_rotated_key_makes_what_is_new_and_the_older_one_opens_until_it_is_retired() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("root.key");
    let first = RootKey::load_or_create(&file).unwrap();
    let both = RootKey::rotate(&file).unwrap();
    assert_ne!(both.derive("a"), first.derive("a"));
    let each: Vec<_> = RootKey::load_or_create(&file).unwrap().each().map(|key| key.derive("a")).collect();
    assert_eq!(each, [both.derive("a"), first.derive("a")]);
    let retired = RootKey::retire(&file).unwrap();
    assert_eq!((retired.count(), retired.derive("a")), (1, both.derive("a")));
    assert_eq!(RootKey::load_or_create(&file).unwrap().count(), 1);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside the key");
    for _ in 1..MAX_KEYS {
        RootKey::rotate(&file).unwrap();
    }
    assert!(RootKey::rotate(&file).is_err(), "too many");
    assert_eq!(RootKey::load_or_create(&file).unwrap().count(), MAX_KEYS);
    assert!(RootKey::rotate(&directory.path().join("none")).is_err(), "a key that is not there is not made");
}

#[test]
fn several_keys_are_given_as_text_and_none_twice() {
    let [one, two] = ["0f", "0e"].map(|pair| pair.repeat(32));
    for text in [format!("{one},{two}"), format!(" {one}\n{two}\n"), format!("{one} , {two}")] {
        assert_eq!(RootKey::from_hex(&text).unwrap().count(), 2, "{text:?}");
    }
    for text in [format!("{one},{one}"), format!("{one}{two}"), format!("{one};{two}")] {
        assert!(RootKey::from_hex(&text).is_err(), "{text:?}");
    }
}

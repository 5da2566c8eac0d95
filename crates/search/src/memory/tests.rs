//! What is held on to, and what is let go.

use super::*;

#[test]
fn vectors_in_use_are_kept_and_idle_ones_let_go_when_many() {
    let vector = || Vector::of(&[1.0, 2.0]).unwrap();
    let mut memory = Memory::default();
    let used = Digest::of("used");
    memory.learn(used, Some(vector()));
    let held = memory.get(used).unwrap();
    for number in 0..MAX_IDLE {
        memory.learn(Digest::of(&number.to_string()), Some(vector()));
    }
    memory.forget();
    assert_eq!(memory.known.len(), MAX_IDLE + 1);
    memory.learn(Digest::of("one"), Some(vector()));
    memory.learn(Digest::of("two"), Some(vector()));
    memory.forget();
    assert_eq!(memory.known.len(), 1);
    assert_eq!(memory.get(used), Some(held));
}

#[test]
fn hopeless_texts_are_not_wanted_again() {
    let mut memory = Memory::default();
    let digest = Digest::of("text");
    assert!(memory.is_wanted(digest));
    memory.learn(digest, None);
    assert!(!memory.is_wanted(digest));
    assert_eq!(memory.get(digest), None);
}

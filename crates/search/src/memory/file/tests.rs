//! What is kept is there again, and what is damaged is not.

use super::*;

fn vector(first: f32) -> Vector {
    Vector::of(&[first, 0.5, -1.0]).unwrap()
}

fn reopened(path: &Path) -> Vec<(Digest, Vector)> {
    Keeper::open(path, "m", 3).unwrap().1
}

#[test]
fn vectors_survive_and_half_a_record_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    let (mut keeper, kept) = Keeper::open(&path, "m", 3).unwrap();
    assert_eq!(kept, []);
    let (one, two) = (Digest::of("one"), Digest::of("two"));
    keeper.add([(one, &vector(0.1)), (two, &vector(0.2))]).unwrap();
    drop(keeper);
    assert_eq!(reopened(&path), [(one, vector(0.1)), (two, vector(0.2))]);

    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 1);
    std::fs::write(&path, &bytes).unwrap();
    let (mut keeper, kept) = Keeper::open(&path, "m", 3).unwrap();
    assert_eq!(kept, [(one, vector(0.1))]);
    keeper.add([(two, &vector(0.3))]).unwrap();
    assert_eq!(reopened(&path), [(one, vector(0.1)), (two, vector(0.3))]);

    let mut bytes = std::fs::read(&path).unwrap();
    bytes[MAGIC.len() + 2 + 3] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(reopened(&path), []);
}

#[test]
fn another_model_begins_anew_and_rewriting_drops_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    let (mut keeper, _) = Keeper::open(&path, "m", 3).unwrap();
    let (one, two) = (Digest::of("one"), Digest::of("two"));
    keeper.add([(one, &vector(0.1)), (two, &vector(0.2))]).unwrap();
    keeper.rewrite([(two, &vector(0.2)), (two, &vector(0.2))]).unwrap();
    keeper.add([(one, &vector(0.4))]).unwrap();
    assert_eq!(reopened(&path), [(two, vector(0.2)), (one, vector(0.4))]);
    assert_eq!(Keeper::open(&path, "other", 3).unwrap().1, []);
    assert_eq!(reopened(&path), []);
}

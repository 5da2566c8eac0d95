//! The real model, where it was installed.

use std::path::{Path, PathBuf};

use super::*;

/// Returns the folder that `make peers` puts the model into; on a build machine it must be there.
fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let folder = std::env::var_os("PEERS_DIR").map_or_else(beside, PathBuf::from).join("model");
    if folder.join("model.onnx").exists() {
        return Some(folder);
    }
    let complaint = format!("no model in {}: run `make peers`, which installs it", folder.display());
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{complaint}");
    eprintln!("SKIPPED, nothing was tested: {complaint}");
    None
}

fn likeness(one: &[f32], other: &[f32]) -> f32 {
    let dot = |one: &[f32], other: &[f32]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f32>();
    dot(one, other) / (dot(one, one) * dot(other, other)).sqrt()
}

#[test]
fn texts_that_mean_the_same_lie_near_each_other() {
    let Some(folder) = folder() else { return };
    let model = Model::load(&folder).unwrap();
    let texts = ["weather forecast for tomorrow", "will it rain?", "SQL database queries"];
    let vectors = model.embed(&texts).unwrap();
    assert_eq!(vectors.iter().map(Vec::len).collect::<Vec<_>>(), [384; 3]);
    let (related, unrelated) = (likeness(&vectors[0], &vectors[1]), likeness(&vectors[0], &vectors[2]));
    assert!(related > 0.3 && unrelated < 0.15, "{related} {unrelated}");
    // Alone or among others, early or late, on this thread or another.
    let again = std::thread::spawn(move || model.embed(&["will it rain?"]).unwrap()).join().unwrap();
    assert_eq!(again[0], vectors[1]);
}

#[test]
fn any_text_has_a_vector() {
    let Some(folder) = folder() else { return };
    let model = Model::load(&folder).unwrap();
    for text in ["", " ", "\u{0}", "路线规划", "🦀", "[CLS] [SEP]", &"long ".repeat(10_000)] {
        assert_eq!(model.embed(&[text]).unwrap()[0].len(), 384, "{text:.20}");
    }
}

#[test]
fn a_folder_without_a_model_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let says = |expected: &str| {
        let error = Model::load(folder.path()).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    };
    says("no model.onnx or model_quantized.onnx");
    std::fs::write(folder.path().join("model.onnx"), "nonsense").unwrap();
    says("no tokenizer.json or vocab.txt");
    std::fs::write(folder.path().join("vocab.txt"), "a\nb").unwrap();
    says("vocab.txt is of no use");
    std::fs::write(folder.path().join("vocab.txt"), "[CLS]\n[SEP]\n[UNK]\na").unwrap();
    says("model.onnx is of no use");
}

//! Pieces of words, of a vocabulary small enough to read.

use super::*;

fn words() -> Words {
    let vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello\nworld\n##ly\n!\ncafe\n路";
    Words::read(Path::new("vocab.txt"), vocabulary.as_bytes()).unwrap()
}

#[test]
fn texts_are_folded_and_split() {
    let words = words();
    let cases: [(&str, &[i32]); 7] = [
        ("hello", &[2, 4, 3]),
        ("HELLO worldly!", &[2, 4, 5, 6, 7, 3]),
        ("Café", &[2, 8, 3]),
        ("路hello", &[2, 9, 4, 3]),
        ("unheard", &[2, 1, 3]),
        ("", &[2, 3]),
        ("\t \n", &[2, 3]),
    ];
    for (text, expected) in cases {
        assert_eq!(words.split(text).unwrap(), expected, "{text:?}");
    }
    assert_eq!(words.split(&"hello ".repeat(1000)).unwrap().len(), MAX_PIECES);
}

#[test]
fn a_description_says_the_same_and_other_kinds_are_refused() {
    let read = |text: &str| Words::read(Path::new("tokenizer.json"), text.as_bytes());
    let vocabulary = r#"{"[UNK]":0,"[CLS]":1,"[SEP]":2,"Hi":3,"hi":4}"#;
    let described = |kind: &str, lowercase: bool| {
        read(&format!(
            r#"{{"padding":{{"strategy":{{"Fixed":128}}}},"model":{{"type":"{kind}","vocab":{vocabulary}}},"normalizer":{{"type":"BertNormalizer","lowercase":{lowercase},"strip_accents":null}}}}"#
        ))
    };
    assert_eq!(described("WordPiece", true).unwrap().split("Hi").unwrap(), [1, 4, 2]);
    assert_eq!(described("WordPiece", false).unwrap().split("Hi").unwrap(), [1, 3, 2]);
    let error = described("Unigram", true).err().unwrap().to_string();
    assert!(error.contains("Unigram; only WordPiece"), "{error}");
}

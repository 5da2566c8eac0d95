//! URIs in answers: where they stand, what is none, and answers that come in pieces.

use proptest::prelude::*;

use super::*;

fn found(pieces: &[&[u8]]) -> Vec<String> {
    let (mut scan, mut found) = (Scan::default(), Vec::new());
    for piece in pieces {
        scan.piece(piece, |uri| found.push(uri.to_owned()));
        assert!(scan.kept.len() <= KEY.len() + 2 * MAX_BLANKS + 1 + MAX_URI_BYTES);
    }
    found
}

fn check(answer: &str, expected: &[&str]) {
    assert_eq!(found(&[answer.as_bytes()]), expected, "{answer}");
    let bytes: Vec<&[u8]> = answer.as_bytes().chunks(1).collect();
    assert_eq!(found(&bytes), expected, "{answer} byte by byte");
}

#[test]
fn uris_are_found_wherever_they_stand() {
    let link = r#"{"type":"resource_link","uri":"jira://1","name":"x"}"#;
    let embedded = r#"{"type":"resource","resource":{"uri" : "jira://2","text":"{\"uri\":\"no://1\"}"}}"#;
    check(&format!(r#"{{"result":{{"content":[{link},{embedded}]}}}}"#), &["jira://1", "jira://2"]);
    check(&format!("event: message\ndata: {{\"result\":{{\"messages\":[{link}]}}}}\n\n"), &["jira://1"]);
    check("{\"uri\":\n  \"a\\u0062\\\"c\"}", &["ab\"c"]);
}

#[test]
fn what_is_no_uri_is_passed_over() {
    check("", &[]);
    check(r#"{"required":["uri"],"name":"uri","uri":7,"x":{"uri":null}}"#, &[]);
    check(r#"{"uris":"a","Uri":"b","uri ":"c"}"#, &[]);
    check(r#"{"uri":"\q"}"#, &[]);
    check(r#"{"uri":"cut off"#, &[]);
}

#[test]
fn long_ones_are_passed_over_and_not_kept() {
    let long = "x".repeat(MAX_URI_BYTES);
    check(&format!(r#"{{"uri":"{long}","a":{{"uri":"b://1"}}}}"#), &["b://1"]);
    let blanks = " ".repeat(MAX_BLANKS);
    check(
        &format!(r#"{{"uri"{blanks} :"a://1","uri": {blanks}"b://1","uri"{blanks}:{blanks}"c://1"}}"#),
        &["c://1"],
    );
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        parts in prop::collection::vec("(\"uri\")?[ :]{0,2}(\"[a-z\\\\\"/:]{0,9}\")?", 0..9),
        cuts in prop::collection::vec(1..12_usize, 0..40),
    ) {
        let all = parts.concat();
        let (mut rest, mut pieces) = (all.as_bytes(), Vec::new());
        for cut in cuts {
            let (piece, more) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = more;
        }
        pieces.push(rest);
        prop_assert_eq!(found(&pieces), found(&[all.as_bytes()]));
    }
}

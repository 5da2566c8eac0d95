use bytes::Bytes;

use super::*;

const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"\"isError\":true"}]}}"#;
const FAILED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}"#;
const ERROR: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#;
const NEWS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;

#[test]
fn answers_say_how_calls_ended() {
    assert_eq!(judge(RESULT.as_bytes()), Some(Outcome::Ok));
    assert_eq!(judge(br#"{"jsonrpc":"2.0","id":1,"result":{"isError":false}}"#), Some(Outcome::Ok));
    assert_eq!(judge(FAILED.as_bytes()), Some(Outcome::Failed));
    assert_eq!(judge(ERROR.as_bytes()), Some(Outcome::Failed));
    assert_eq!(judge(NEWS.as_bytes()), None);
    assert_eq!(judge(b"no"), None);
}

#[test]
fn json_is_judged_at_its_end_and_streams_at_the_answer() {
    let check = |is_events: bool, text: &str, expected: Outcome| {
        let mut verdict = if is_events { Verdict::of_events(1000) } else { Verdict::of_json() };
        let pieces = text.as_bytes().chunks(7).map(Bytes::copy_from_slice);
        let found = pieces.into_iter().find_map(|piece| verdict.piece(&piece));
        assert_eq!(found.unwrap_or_else(|| verdict.end()), expected, "{text}");
    };
    check(false, RESULT, Outcome::Ok);
    check(false, ERROR, Outcome::Failed);
    check(false, "", Outcome::Failed);
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":"{}"}}}}"#, "x".repeat(70_000));
    check(false, &long, Outcome::Ok);
    check(true, &format!("data: {NEWS}\n\ndata: {RESULT}\n\n"), Outcome::Ok);
    check(true, &format!("data: {NEWS}\n\ndata: {FAILED}\n\n"), Outcome::Failed);
    check(true, &format!("data: {NEWS}\n\n"), Outcome::Failed);
}

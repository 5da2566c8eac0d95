//! Who gets which message.

use std::task::{Context, Poll, Waker};

use super::*;
use crate::duplex::inbox::Mail;

fn ask(switch: &mut Switchboard, message: &str) -> (Arc<Inbox>, String) {
    let message = Bytes::from(message.to_owned());
    let outline = Outline::read(&message).unwrap();
    let entered = switch.enter(&message, &outline).unwrap();
    (entered.inbox, String::from_utf8(entered.message.to_vec()).unwrap())
}

fn say(switch: &mut Switchboard, line: &str) -> Delivered {
    let mut delivered = switch.deliver(Bytes::from(line.to_owned()));
    assert_eq!(delivered.len(), 1, "{line}");
    delivered.remove(0)
}

/// What waits in an inbox: messages as they are, an answer behind a `=`, the end as `.`.
fn got(inbox: &Inbox) -> Vec<String> {
    let mut cx = Context::from_waker(Waker::noop());
    let mut all = Vec::new();
    let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
    while let Poll::Ready(mail) = inbox.poll(&mut cx) {
        match mail {
            Some(Ok(Mail::Message(message))) => all.push(text(message)),
            Some(Ok(Mail::Answer(answer))) => all.push(format!("={}", text(answer))),
            Some(Err(error)) => all.push(error.to_string()),
            None => {
                all.push(".".into());
                break;
            }
        }
    }
    all
}

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}"#;
const OTHER: &str = r#"{"jsonrpc":"2.0","id":"2","method":"tools/call"}"#;
const PROGRESS: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t"}}"#;
const LOG: &str = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
const QUESTION: &str = r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#;

#[test]
fn a_sessions_messages_stay_as_they_are() {
    let mut switch = Switchboard::new(Serves::Session);
    let (call, written) = ask(&mut switch, CALL);
    assert_eq!(written, CALL);
    let (other, _) = ask(&mut switch, OTHER);
    say(&mut switch, PROGRESS);
    let answer = r#"{"jsonrpc":"2.0","id":"2","result":{}}"#;
    say(&mut switch, answer);
    assert_eq!(got(&call), [PROGRESS]);
    assert_eq!(got(&other), [format!("={answer}"), ".".into()]);
    // The only one that is left owns what names nobody, in whatever spelling its id comes back.
    say(&mut switch, LOG);
    say(&mut switch, QUESTION);
    let answer = r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#;
    say(&mut switch, answer);
    assert_eq!(got(&call), [LOG.into(), QUESTION.into(), format!("={answer}"), ".".to_owned()]);
    assert!(!switch.is_busy());
}

#[test]
fn news_go_to_their_stream_or_wait_for_it() {
    let mut switch = Switchboard::new(Serves::Session);
    assert_eq!(say(&mut switch, CHANGED), Delivered::Taken);
    assert_eq!(say(&mut switch, QUESTION), Delivered::Taken);
    let news = switch.open_news();
    assert_eq!(got(&news), [CHANGED, QUESTION]);
    let (call, _) = ask(&mut switch, CALL);
    say(&mut switch, CHANGED);
    say(&mut switch, LOG);
    assert_eq!((got(&news), got(&call)), (vec![CHANGED.to_owned()], vec![LOG.to_owned()]));
    let (other, _) = ask(&mut switch, OTHER);
    say(&mut switch, LOG);
    assert_eq!((got(&news), got(&other)), (vec![LOG.to_owned()], vec![]));
    let again = switch.open_news();
    assert_eq!(got(&news), ["."]);
    switch.close_news(&news);
    say(&mut switch, CHANGED);
    assert_eq!(got(&again), [CHANGED], "the stream that went was another");
}

#[test]
fn what_is_kept_is_bounded() {
    let mut switch = Switchboard::new(Serves::Session);
    for _ in 0..1000 {
        say(&mut switch, CHANGED);
    }
    let long = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{}"}}}}"#,
        "x".repeat(200_000)
    );
    assert_eq!(got(&switch.open_news()).len(), MAX_KEPT);
    switch.news = None;
    say(&mut switch, &long);
    say(&mut switch, &long);
    assert_eq!(switch.kept.len(), 1);
}

#[test]
fn everybodys_requests_are_told_apart() {
    let mut switch = Switchboard::new(Serves::Anybody);
    let (one, written) = ask(&mut switch, CALL);
    assert_eq!(written, CALL.replace("\"t\"", "1"));
    let (two, written) = ask(&mut switch, CALL);
    assert_eq!(written, CALL.replace("\"id\":1", "\"id\":2").replace("\"t\"", "2"));
    say(&mut switch, &PROGRESS.replace("\"t\"", "2"));
    say(&mut switch, r#"{"jsonrpc":"2.0","id":2,"result":{"a":1}}"#);
    assert_eq!(
        got(&two),
        [PROGRESS.to_owned(), r#"={"jsonrpc":"2.0","id":1,"result":{"a":1}}"#.into(), ".".into()]
    );
    assert_eq!(got(&one), Vec::<String>::new());
}

#[test]
fn what_names_nobody_is_for_nobody() {
    let mut switch = Switchboard::new(Serves::Anybody);
    let (call, _) = ask(&mut switch, CALL);
    for line in [LOG, CHANGED, PROGRESS, r#"{"jsonrpc":"2.0","id":77,"result":{}}"#, "no JSON", "{}", "17"] {
        assert_eq!(say(&mut switch, line), Delivered::Dropped, "{line}");
    }
    assert!(
        matches!(say(&mut switch, QUESTION), Delivered::Answered(refusal) if refusal.starts_with(br#"{"jsonrpc":"2.0","id":9,"error""#))
    );
    assert_eq!(got(&call), Vec::<String>::new());
}

#[test]
fn subscriptions_get_their_own() {
    let mut switch = Switchboard::new(Serves::Anybody);
    let (listen, written) =
        ask(&mut switch, r#"{"jsonrpc":"2.0","id":"mine","method":"subscriptions/listen"}"#);
    assert!(written.contains("\"id\":1,"), "{written}");
    let tagged = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"{SUBSCRIPTION}":{id}}}}}}}"#
        )
    };
    say(&mut switch, &tagged("1"));
    assert_eq!(say(&mut switch, &tagged("5")), Delivered::Dropped);
    say(&mut switch, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert_eq!(got(&listen), [tagged("\"mine\""), ".".into()]);
}

#[test]
fn pings_are_answered_here() {
    for serves in [Serves::Session, Serves::Anybody] {
        let mut switch = Switchboard::new(serves);
        let answered = say(&mut switch, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
        assert_eq!(
            answered,
            Delivered::Answered(Bytes::from_static(br#"{"jsonrpc":"2.0","id":"p","result":{}}"#))
        );
    }
}

#[test]
fn batches_are_taken_apart() {
    let mut switch = Switchboard::new(Serves::Session);
    let (call, _) = ask(&mut switch, CALL);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(switch.deliver(format!("[{LOG},{answer}]").into()).len(), 2);
    assert_eq!(got(&call), [LOG.to_owned(), format!("={answer}"), ".".into()]);
}

#[test]
fn errors_without_an_id_are_the_only_requests() {
    let mut switch = Switchboard::new(Serves::Session);
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#;
    let (call, _) = ask(&mut switch, CALL);
    let (_other, _) = ask(&mut switch, OTHER);
    assert_eq!(say(&mut switch, error), Delivered::Dropped);
    switch.forget(2);
    say(&mut switch, error);
    assert_eq!(got(&call), [format!("={error}"), ".".into()]);
}

#[test]
fn too_many_requests_are_refused() {
    let mut switch = Switchboard::new(Serves::Anybody);
    let message = Bytes::from_static(CALL.as_bytes());
    let outline = Outline::read(&message).unwrap();
    assert_eq!((0..2000).filter(|_| switch.enter(&message, &outline).is_some()).count(), MAX_REQUESTS);
}

#[test]
fn ids_in_all_spellings() {
    for (one, other, is) in [
        ("1", "1", true),
        ("1", "1.0", true),
        ("1", "1e0", true),
        ("1", "\"1\"", false),
        ("\"a\"", "\"\\u0061\"", true),
        ("7000000000000001", "7000000000000002", false),
        ("9007199254740993", "9007199254740992", false),
        ("1", "true", false),
    ] {
        assert_eq!(is_same(one.as_bytes(), other.as_bytes()), is, "{one} {other}");
    }
}

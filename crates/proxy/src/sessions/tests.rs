//! Client sessions: found by whom they belong to, written down, brought back, ended, let go.

use mcp::era::Revision;

use super::*;
use crate::replay::Replays;
use crate::stage::{Memory, backends, caller, key, session_settings};

fn sealed(id: &str) -> VirtualSession {
    VirtualSession {
        id: id.into(),
        revision: Revision::V2025_11_25,
        capabilities: "{}".into(),
        client_info: "{}".into(),
    }
}

fn sessions(store: &Memory) -> Sessions {
    Sessions::new(Arc::new(store.clone()), session_settings())
}

fn open(session: &ClientSession, path: &str, id: Option<&'static str>) {
    let id = id.map(http::HeaderValue::from_static);
    let revision = Revision::V2025_06_18;
    session.slot(&key(path, "v1")).set(BackendSession { id, revision, endpoint: None, identity: 0 });
}

/// Backends with their session ids.
fn opened(session: &ClientSession) -> Vec<(String, Option<String>)> {
    let text = |open: &BackendSession| open.id.as_ref().map(|id| id.to_str().unwrap().to_owned());
    session.open_backends().iter().map(|(key, open)| (key.path.to_string(), text(open))).collect()
}

#[tokio::test]
async fn a_session_is_found_by_its_token_path_and_caller_alone() {
    let sessions = sessions(&Memory::default());
    let session = sessions.enter("vs-1", sealed("1"), "/virtual/dev", &caller("ann"));
    let find = |token: &str, path: &str, who: &str| sessions.find(token, path, &caller(who));
    assert!(Arc::ptr_eq(&find("vs-1", "/virtual/dev", "ann").unwrap(), &session));
    assert!(find("vs-2", "/virtual/dev", "ann").is_none());
    assert!(find("vs-1", "/virtual/other", "ann").is_none());
    assert!(find("vs-1", "/virtual/dev", "bob").is_none());
    assert!(sessions.find("vs-1", "/virtual/dev", &Principal::anonymous()).is_none());
    let other = sessions.enter("vs-2", sealed("2"), "/virtual/dev", &caller("ann"));
    assert_ne!(session.number, other.number);
    assert_eq!(sessions.count(), 2);
}

#[tokio::test]
async fn another_process_goes_on_with_what_was_written_down() {
    let store = Memory::default();
    let first = sessions(&store);
    let session = first.enter("vs-1", sealed("1"), "/virtual/dev", &caller("ann"));
    first.keep(&session);
    assert!(store.entries().is_empty(), "nothing to keep");
    open(&session, "/a", Some("sa"));
    open(&session, "/b", None);
    session.state().log_level = Some("\"error\"".into());
    first.keep(&session);
    assert_eq!(store.entries()[0].1, 3600);

    let second = sessions(&store);
    let back = second.restore("vs-1", sealed("1"), "/virtual/dev", &caller("ann")).await.unwrap();
    assert_eq!(opened(&back), [("/a".into(), Some("sa".into())), ("/b".into(), None)]);
    assert_eq!(back.slot(&key("/a", "v1")).current().unwrap().revision, Revision::V2025_06_18);
    assert_eq!(back.state().log_level.as_deref(), Some("\"error\""));
    let again = second.restore("vs-1", sealed("1"), "/virtual/dev", &caller("ann")).await.unwrap();
    assert!(Arc::ptr_eq(&back, &again), "brought back once");
    // One that nothing was written of starts fresh: its seal is enough.
    let fresh = second.restore("vs-9", sealed("9"), "/virtual/dev", &caller("ann")).await.unwrap();
    assert!(opened(&fresh).is_empty());
}

#[tokio::test]
async fn a_log_level_outlives_memory_before_any_backend_is_used() {
    let store = Memory::default();
    let session = sessions(&store).enter("vs-1", sealed("1"), "/virtual/dev", &caller("ann"));
    session.state().log_level = Some("\"debug\"".into());
    sessions(&store).keep(&session);
    let back = sessions(&store).restore("vs-1", sealed("1"), "/virtual/dev", &caller("ann")).await.unwrap();
    assert_eq!(back.state().log_level.as_deref(), Some("\"debug\""));
}

#[tokio::test]
async fn an_ended_session_stays_ended_everywhere() {
    let store = Memory::default();
    let first = sessions(&store);
    let session = first.enter("vs-1", sealed("1"), "/virtual/dev", &caller("ann"));
    open(&session, "/a", Some("sa"));
    first.end("vs-1", &session);
    assert_eq!(store.entries()[0].1, record::ENDED_SECONDS);
    for sessions in [&first, &sessions(&store)] {
        assert!(sessions.find("vs-1", "/virtual/dev", &caller("ann")).is_none());
        assert!(sessions.restore("vs-1", sealed("1"), "/virtual/dev", &caller("ann")).await.is_none());
    }
    // What a call that still runs writes down does not revive it.
    open(&session, "/b", Some("sb"));
    first.keep(&session);
    assert!(first.restore("vs-1", sealed("1"), "/virtual/dev", &caller("ann")).await.is_none());
}

#[tokio::test]
async fn idle_sessions_leave_memory_and_are_written_down() {
    let store = Memory::default();
    let settings = Settings { memory_idle: Duration::ZERO, ..session_settings() };
    let sessions = Sessions::new(Arc::new(store.clone()), settings);
    let session = sessions.enter("vs-1", sealed("1"), "/virtual/dev", &caller("ann"));
    open(&session, "/a", Some("sa"));
    sessions.reap();
    assert_eq!(sessions.count(), 1, "a request holds it");
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    session.state().stream = Some(Outlet::Listen(sender));
    drop(session);
    sessions.reap();
    assert_eq!(sessions.count(), 1, "its stream is open");
    drop(receiver);
    sessions.reap();
    assert_eq!(sessions.count(), 0);
    assert_eq!(store.entries().len(), 1);
    let back = sessions.restore("vs-1", sealed("1"), "/virtual/dev", &caller("ann")).await.unwrap();
    assert_eq!(opened(&back), [("/a".into(), Some("sa".into()))]);
}

#[tokio::test]
async fn sessions_in_use_stay_and_too_many_go() {
    let store = Memory::default();
    let settings = Settings { most: 64, ..session_settings() };
    let sessions = Sessions::new(Arc::new(store), settings);
    for number in 0..1000 {
        let (token, id) = (format!("vs-{number}"), number.to_string());
        let session = sessions.enter(&token, sealed(&id), "/virtual/dev", &caller("ann"));
        session.last_used_ms.fetch_sub(number, Ordering::Relaxed);
    }
    sessions.reap();
    // One a shard may stay: the one used last.
    let left = sessions.all();
    assert!(left.len() <= 64 && left.len() > 50, "{}", left.len());
    let ages = left.iter().map(|session| session.sealed.id.parse::<i64>().unwrap());
    assert!(ages.sum::<i64>() < 64 * 200, "the longest idle go first");
    sessions.keep_all();
}

#[tokio::test]
async fn a_session_of_our_own_is_found_by_its_caller_and_never_written_down() {
    let store = Memory::default();
    let sessions = sessions(&store);
    let keeper = backends();
    let kept = sessions.enter_kept("kept", sealed("1"), "k", &caller("ann"), keeper.clone());
    let same = sessions.enter_kept("kept", sealed("2"), "k", &caller("ann"), keeper.clone());
    assert!(Arc::ptr_eq(&kept, &same), "two that come at once share one");
    open(&kept, "/a", Some("sa"));
    sessions.keep(&kept);
    assert!(store.entries().is_empty());
    let apart = sessions.apart(sealed("3"), "k", &caller("ann"), keeper);
    assert!(!Arc::ptr_eq(&apart, &sessions.find("kept", "k", &caller("ann")).unwrap()));
}

#[test]
fn a_slot_forgets_only_the_session_that_was_lost() {
    let slot = Slot::default();
    let session = |id| BackendSession {
        id: Some(http::HeaderValue::from_static(id)),
        revision: Revision::V2025_11_25,
        endpoint: None,
        identity: 0,
    };
    let old = slot.set(session("old"));
    let new = slot.set(session("new"));
    slot.forget(&old);
    assert!(Arc::ptr_eq(&slot.current().unwrap(), &new));
    slot.forget(&new);
    assert!(slot.current().is_none());
}

#[tokio::test]
async fn events_go_to_the_open_stream_until_it_ends() {
    let sessions = sessions(&Memory::default());
    let session = sessions.enter("vs-1", sealed("1"), "/virtual/dev", &caller("ann"));
    assert!(!session.push(&Bytes::from_static(b"1")), "none is open");
    let replays = Replays::default();
    let (writing, mut receiver) = replays.listen("1", Vec::new());
    let number = writing.number();
    let task = tokio::spawn(std::future::pending::<()>());
    let _following = Following::new(task.abort_handle());
    session.state().stream = Some(Outlet::Kept { writing, _following });
    assert!(session.push(&Bytes::from_static(b"2")));
    let event = String::from_utf8(receiver.try_recv().unwrap().to_vec()).unwrap();
    assert!(event.ends_with("\ndata: 2\n\n"), "{event}");
    drop(receiver);
    assert!(session.push(&Bytes::from_static(b"3")), "its client may come back for it");
    session.end_stream(number + 1);
    assert!(session.state().stream.is_some(), "another had ended");
    session.end_stream(number);
    assert!(!session.push(&Bytes::from_static(b"4")), "it is over");
    assert!(task.await.is_err_and(|ended| ended.is_cancelled()), "and so is what feeds it");
}

#[test]
fn a_listen_stream_gets_what_it_wants_and_ends_when_nobody_reads() {
    let sessions = sessions(&Memory::default());
    let session = sessions.enter("vs-1", sealed("1"), "/virtual/dev", &caller("ann"));
    let filter = Filter { tools: true, uris: vec!["a://b".into()], ..Filter::default() };
    session.state().listening = Some(Listening { id: Bytes::from_static(b"7"), filter });
    let (sender, mut receiver) = tokio::sync::mpsc::channel(2);
    session.state().stream = Some(Outlet::Listen(sender));
    let said = |method: &str, params: &str| {
        let message = format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#);
        session.push(&Bytes::from(message))
    };
    assert!(!said("prompts/list_changed", "{}"), "it was not asked for");
    let long = format!(r#"{{"uri":"a://b","x":"{}"}}"#, "x".repeat(70_000));
    assert!(!said("resources/updated", &long), "nobody makes us hold that");
    assert!(said("tools/list_changed", "{}"));
    assert!(said("resources/updated", r#"{"uri":"a://b"}"#));
    assert!(!said("tools/list_changed", "{}"), "nobody reads");
    assert!(session.state().stream.is_none(), "so it ends");
    let first = receiver.try_recv().unwrap();
    assert!(std::str::from_utf8(&first).unwrap().contains(r#""io.modelcontextprotocol/subscriptionId":7"#));
    assert!(receiver.try_recv().is_ok());
    assert!(receiver.try_recv().is_err());
}

#[test]
fn records_read_what_they_can() {
    let read = |text: &str| Record::read(text.as_bytes());
    assert!(read("").is_none() && read("[]x").is_none());
    assert!(read("{}").is_some_and(|record| !record.is_ended && record.backends.is_empty()));
    assert!(read(r#"{"ended":true,"unknown":1}"#).is_some_and(|record| record.is_ended));
    let backend = |path: &str, label: &str, session: &str, revision: &str| {
        format!(r#"{{"path":"{path}","label":"{label}","session":{session},"revision":"{revision}"}}"#)
    };
    let all = [
        backend("/a", "v1", "\"s\"", "2025-06-18"),
        backend("/b", "v1", "null", "2025-06-18"),
        backend("//", "v1", "\"s\"", "2025-06-18"),
        backend("/c", "latest", "\"s\"", "2025-06-18"),
        backend("/d", "v1", "\"s\\n\"", "2025-06-18"),
        backend("/e", "v1", "\"s\"", "1900-01-01"),
    ];
    let record = read(&format!(r#"{{"backends":[{}]}}"#, all.join(","))).unwrap();
    let paths: Vec<_> = record.into_state().backends.iter().map(|(key, _)| key.path.to_string()).collect();
    assert_eq!(paths, ["/a", "/b"]);
}

//! The GET stream of a session.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;

use super::*;

/// Has a backend send a message of its own on every stream.
fn say(backend: &LegacyBackend, text: &str) {
    let params = json!({ "level": "info", "data": text });
    backend.push(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }));
}

/// A client's stream, read all the time.
struct Stream {
    text: Arc<Mutex<String>>,
    reading: JoinHandle<()>,
}

impl Stream {
    async fn open(world: &World, session: &str) -> Self {
        let answer = listen::open(&world.plane, &named(Some(session)), &world.target(), &caller("ann")).await;
        let mut body = answer.unwrap().into_body();
        let text = Arc::new(Mutex::new(String::new()));
        let seen = text.clone();
        let reading = tokio::spawn(async move {
            while let Some(Ok(frame)) = body.frame().await {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
            }
        });
        Self { text, reading }
    }

    async fn until(&self, part: &str) {
        for _ in 0..500 {
            if self.text.lock().unwrap().contains(part) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{part} did not come: {}", self.text.lock().unwrap());
    }

    async fn ended(self) {
        tokio::time::timeout(Duration::from_secs(5), self.reading).await.expect("it ends").unwrap();
    }
}

const CHANGED_BY_BACKEND: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}"#;
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

#[tokio::test]
async fn all_backends_speak_on_one_stream() {
    let (first, second) =
        (LegacyBackend::start("a").tool("one").await, LegacyBackend::start("b").tool("two").await);
    let mut world = World::new(&[
        ("/a", &first.url(), Era::Legacy, &["one"]),
        ("/b", &second.url(), Era::Legacy, &["two"]),
        ("/m", NOWHERE, Era::Modern, &["three"]),
    ]);
    let (session, _) = world.initialize("2025-11-25").await;
    let stream = Stream::open(&world, &session).await;
    for backend in [&first, &second] {
        backend.until("it is followed", |backend| backend.streams() == 1).await;
    }
    say(&first, "from the first");
    say(&second, "from the second");
    stream.until("from the first").await;
    stream.until("from the second").await;
    // A change is told once, when the snapshot shows it, however many backends say so.
    first.tools_changed();
    say(&first, "after the change");
    stream.until("after the change").await;
    assert!(!stream.text.lock().unwrap().contains(CHANGED));
    world.change(|catalog| stage::add_inventory(catalog, "/a", "v1", Era::Legacy, &["one", "other"]));
    world.change(|catalog| stage::add_inventory(catalog, "/a", "v1", Era::Legacy, &["other"]));
    stream.until(CHANGED).await;
    assert_eq!(stream.text.lock().unwrap().matches(CHANGED).count(), 1);
}

#[tokio::test]
async fn a_new_stream_takes_the_place_of_the_old_one() {
    let backend = LegacyBackend::start("a").tool("one").await;
    let world = World::new(&[("/a", &backend.url(), Era::Legacy, &["one"])]);
    let (session, _) = world.initialize("2025-11-25").await;
    let old = Stream::open(&world, &session).await;
    backend.until("it is followed", |backend| backend.streams() == 1).await;
    let new = Stream::open(&world, &session).await;
    old.ended().await;
    backend
        .until("it is followed once", |backend| {
            backend.streams() == 1
                && backend.seen().iter().filter(|seen| seen.http_method == http::Method::GET).count() >= 2
        })
        .await;
    say(&backend, "hello");
    new.until("hello").await;
    assert_eq!(backend.sessions().len(), 1, "in the session it had");
}

#[tokio::test]
async fn a_stream_comes_back_after_its_backend_did() {
    let backend = LegacyBackend::start("a").tool("one").await;
    let world = World::new(&[("/a", &backend.url(), Era::Legacy, &["one"])]);
    let (session, _) = world.initialize("2025-11-25").await;
    let stream = Stream::open(&world, &session).await;
    backend.until("it is followed", |backend| backend.streams() == 1).await;
    backend.refuse_sessions_with(400);
    backend.restart().await;
    backend.until("it is followed again", |backend| backend.streams() == 1).await;
    say(&backend, "back again");
    stream.until("back again").await;
}

#[tokio::test]
async fn a_backend_that_has_not_noticed_is_asked_again() {
    let gets = Arc::new(AtomicUsize::new(0));
    let backend = stage::Scripted::start(move |request, mut stream| {
        let gets = gets.clone();
        async move {
            let greeting = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
            let id = request.split("\"id\":").nth(1).and_then(|rest| rest.split([',', '}']).next()).unwrap_or("0");
            let greeting = greeting.replace("\"id\":0", &format!("\"id\":{id}"));
            let answer = match () {
                () if request.contains("\"initialize\"") => stage::json_answer(200, "mcp-session-id: s\r\n", &greeting),
                () if request.starts_with("POST") => stage::json_answer(202, "", ""),
                () if gets.fetch_add(1, Ordering::SeqCst) == 0 => stage::json_answer(409, "", "{}"),
                () => format!("{}data: {CHANGED_BY_BACKEND}\n\n", stage::STREAM_HEAD),
            };
            stream.write_all(answer.as_bytes()).await.ok()?;
            Some(stream)
        }
    })
    .await;
    let world = World::new(&[("/a", &backend.url, Era::Legacy, &["one"])]);
    let (session, _) = world.initialize("2025-11-25").await;
    let stream = Stream::open(&world, &session).await;
    stream.until(CHANGED_BY_BACKEND).await;
    backend.until_seen("GET ", 2).await;
    backend.until_seen("\"initialize\"", 1).await;
}

#[tokio::test]
async fn what_is_removed_is_followed_no_longer() {
    let (first, second) =
        (LegacyBackend::start("a").tool("one").await, LegacyBackend::start("b").tool("two").await);
    let mut world = World::new(&[
        ("/a", &first.url(), Era::Legacy, &["one"]),
        ("/b", &second.url(), Era::Legacy, &["two"]),
    ]);
    let (session, _) = world.initialize("2025-11-25").await;
    let stream = Stream::open(&world, &session).await;
    first.until("it is followed", |backend| backend.streams() == 1).await;
    second.until("it is followed", |backend| backend.streams() == 1).await;
    world.change(|catalog| {
        Arc::make_mut(&mut catalog.servers).remove("/a");
    });
    first.until("it is let go", |backend| backend.streams() == 0).await;
    say(&second, "still here");
    stream.until("still here").await;
    // One that moved is followed where it is now.
    world.change(|catalog| stage::add_server(catalog, "/b", &["v1"], &first.url(), Some(Era::Legacy)));
    first.until("it is followed here", |backend| backend.streams() == 1).await;
    second.until("and not there", |backend| backend.streams() == 0).await;
    world.change(|catalog| {
        Arc::make_mut(&mut catalog.virtual_servers).remove("dev");
    });
    stream.ended().await;
    first.until("nothing is left", |backend| backend.streams() == 0).await;
}

#[tokio::test]
async fn streams_end_when_the_program_drains() {
    let backend = LegacyBackend::start("a").tool("one").await;
    let world = World::new(&[("/a", &backend.url(), Era::Legacy, &["one"])]);
    let (session, _) = world.initialize("2025-11-25").await;
    let stream = Stream::open(&world, &session).await;
    world.plane.shared.begin_shutdown();
    stream.ended().await;
}

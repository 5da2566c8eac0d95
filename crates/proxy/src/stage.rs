//! For tests: callers, servers, and what all threads share; and a backend that says what a test tells it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use auth::{Authenticator, RootKey, Seal};
use backend::{Backends, Outgoing, Reply};
use bytes::Bytes;
use catalog::access::{Principal, Scope};
use catalog::endpoint::{AddressRule, Endpoint, Era};
use catalog::inventory::{Inventory, Item};
use catalog::name::{ServerPath, Slug, VersionLabel};
use catalog::server::{Server, Version};
use catalog::time::Timestamp;
use catalog::virtual_server::{Mapping, VirtualServer};
use catalog::{Catalog, VersionKey};
use http::{HeaderMap, HeaderName, HeaderValue};
use mcp::era::Revision;
use mcp::headers::Accepts;
use mcp::message::Outline;
use routing::version::VersionTarget;
use routing::{Live, Table};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::forward::Errand;
use crate::opaque::VirtualSession;
use crate::plane::{Call, Front, Plane};
use crate::sessions::{self, Pending, SessionStore};
use crate::shared::{Hooks, Settings, Shared};

/// A second tier that is a map.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<HashMap<String, Entry>>>);

/// A value and for how many seconds it is kept.
type Entry = (Vec<u8>, u32);

impl SessionStore for Memory {
    fn get(&self, key: String) -> Pending<Option<Vec<u8>>> {
        let found = self.0.lock().unwrap().get(&key).map(|(value, _)| value.clone());
        Box::pin(async move { found })
    }

    fn put(&self, key: String, value: Vec<u8>, idle_seconds: u32) {
        self.0.lock().unwrap().insert(key, (value, idle_seconds));
    }
}

impl Memory {
    /// Returns each entry's text and how long it is kept.
    pub(crate) fn entries(&self) -> Vec<(String, u32)> {
        let entries = self.0.lock().unwrap();
        entries.values().map(|(value, keep)| (String::from_utf8(value.clone()).unwrap(), *keep)).collect()
    }
}

pub(crate) fn seal() -> Seal {
    Seal::new(&RootKey::from_hex(&"5e".repeat(32)).unwrap(), "tests")
}

/// A caller with a token of ours.
pub(crate) fn caller(subject: &str) -> Principal {
    Principal {
        subject: subject.into(),
        token: Some(format!("token of {subject}").into()),
        ..Principal::anonymous()
    }
}

pub(crate) fn scope(text: &str) -> Scope {
    Scope::parse("scopes", text).unwrap()
}

pub(crate) fn key(path: &str, label: &str) -> VersionKey {
    let path = ServerPath::parse("path", path).unwrap();
    VersionKey::new(&path, &VersionLabel::parse("version", label).unwrap())
}

pub(crate) fn settings() -> Settings {
    Settings {
        max_body_bytes: 1 << 20,
        body_timeout: Duration::from_secs(5),
        public_url: None,
        path_prefix: String::new(),
        allowed_hosts: vec!["mcp.example.com".into()],
        allowed_origins: vec!["https://app.example.com".into()],
        anonymous: Vec::new(),
        strict_versions: false,
        patience: Duration::from_secs(5),
        sessions: session_settings(),
    }
}

pub(crate) fn session_settings() -> sessions::Settings {
    sessions::Settings {
        memory_idle: Duration::from_secs(30),
        store_idle: Duration::from_secs(3600),
        most: 1000,
    }
}

pub(crate) fn backends() -> Arc<Backends> {
    let rule = AddressRule { allow_private: true };
    let mut settings = backend::Settings::new(&[], rule).unwrap();
    settings.probe = Duration::from_millis(500);
    Arc::new(Backends::new(Arc::new(settings)))
}

/// What a data thread works with, over these servers.
pub(crate) fn plane(catalog: &Catalog) -> Plane {
    plane_with(catalog, Memory::default(), settings())
}

pub(crate) fn plane_with(catalog: &Catalog, store: Memory, settings: Settings) -> Plane {
    let root = RootKey::from_hex(&"5e".repeat(32)).unwrap();
    let live = Arc::new(Live::new(table(catalog)));
    let authenticator = Arc::new(Authenticator::new(&root));
    let hooks = Hooks { hint: Box::new(|_| {}), limiter: None, note_call: None };
    let shared = Shared::new(live, authenticator, seal(), Arc::new(store), hooks, settings);
    Plane { shared, backends: backends() }
}

pub(crate) fn table(catalog: &Catalog) -> Table {
    routing::compile::compile(catalog, None).table
}

/// Adds an enabled server; the first label is active.
pub(crate) fn add_server(catalog: &mut Catalog, path: &str, labels: &[&str], url: &str, era: Option<Era>) {
    let url = Endpoint::parse_url("url", url, AddressRule { allow_private: true }).unwrap();
    let version = |label: &&str| {
        Version::new(
            VersionLabel::parse("version", label).unwrap(),
            Endpoint { pinned_era: era, ..Endpoint::at(url.clone()) },
            Timestamp(0),
        )
    };
    let path = ServerPath::parse("path", path).unwrap();
    let first = Server::new(path.clone(), path.to_string(), version(&labels[0]), Timestamp(0));
    let all = labels[1..].iter().fold(first, |all, label| all.add(version(label), Timestamp(0)).unwrap());
    let server = all.written(Timestamp(0), |server| server.is_enabled = true);
    Arc::make_mut(&mut catalog.servers).insert(path, Arc::new(server));
}

/// Has a version read, with these tools.
pub(crate) fn add_inventory(catalog: &mut Catalog, path: &str, label: &str, era: Era, tools: &[&str]) {
    let item = |name: &&str| {
        let json = format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
        Item { name: (*name).into(), json: json.into() }
    };
    let inventory = Inventory {
        server_info: r#"{"name":"stub","version":"1"}"#.into(),
        capabilities: r#"{"tools":{},"logging":{}}"#.into(),
        tools: tools.iter().map(item).collect(),
        ..Inventory::empty(era, "2025-11-25", Timestamp(0))
    };
    Arc::make_mut(&mut catalog.inventories).insert(key(path, label), Arc::new(inventory));
}

/// Adds an enabled virtual server of tools of servers.
pub(crate) fn add_virtual(catalog: &mut Catalog, slug: &str, tools: &[(&str, &str)]) {
    let mapping = |(tool, server): &(&str, &str)| Mapping {
        tool: (*tool).into(),
        server: ServerPath::parse("path", server).unwrap(),
        alias: None,
        pin: None,
        description: None,
    };
    let one = VirtualServer {
        slug: Slug::parse("slug", slug).unwrap(),
        name: slug.into(),
        description: String::new(),
        tags: Vec::new(),
        mappings: tools.iter().map(mapping).collect(),
        required_scopes: Vec::new(),
        overrides: Vec::new(),
        instructions: None,
        exposes_prompts: true,
        exposes_resources: true,
        resource_routes: Vec::new(),
        is_enabled: true,
        owner: None,
        revision: 1,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    };
    Arc::make_mut(&mut catalog.virtual_servers).insert(one.slug.clone(), Arc::new(one));
}

/// The only version of `/a`, at this URL.
pub(crate) fn version_at(url: &str) -> Arc<VersionTarget> {
    let mut catalog = Catalog::default();
    add_server(&mut catalog, "/a", &["v1"], url, Some(Era::Legacy));
    table(&catalog).server("/a").unwrap().active().clone()
}

/// An errand of a session of ann's to a backend that is nowhere.
pub(crate) fn errand() -> Arc<Errand> {
    let mut catalog = Catalog::default();
    add_server(&mut catalog, "/a", &["v1"], "http://127.0.0.1:9/mcp", Some(Era::Legacy));
    let plane = plane(&catalog);
    let sealed = VirtualSession {
        id: "1".into(),
        revision: Revision::V2025_11_25,
        capabilities: "{}".into(),
        client_info: "{}".into(),
    };
    let session = plane.shared.sessions.enter("vs-1", sealed, "/virtual/dev", &caller("ann"));
    let version = plane.shared.live.full().server("/a").expect("it was added").active().clone();
    plane.errand(&session, &version)
}

pub(crate) fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

/// A message of a caller, read and let in.
pub(crate) fn call(plane: &Plane, principal: &Principal, front: Front, body: &str) -> Call {
    let body = Bytes::copy_from_slice(body.as_bytes());
    Call {
        plane: plane.clone(),
        table: plane.shared.live.full(),
        principal: Arc::new(principal.clone()),
        headers: HeaderMap::new(),
        outline: Outline::read(&body).unwrap(),
        body,
        front,
        accepts: Accepts { json: true, events: true },
    }
}

/// A backend on loopback that answers each request as its test says, byte by byte.
pub(crate) struct Scripted {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// Starts one. `serve` gets each request's text, head and body, and the connection to answer on; the
    /// connection closes when it returns `None`.
    pub(crate) async fn start<F: Future<Output = Option<TcpStream>> + Send + 'static>(
        serve: impl Fn(String, TcpStream) -> F + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let record = seen.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (serve, record) = (serve.clone(), record.clone());
                tokio::spawn(async move {
                    let mut open = Some(stream);
                    while let Some(mut stream) = open.take() {
                        let Some(request) = read_request(&mut stream).await else { return };
                        record.lock().unwrap().push(request.clone());
                        open = serve(request, stream).await;
                    }
                });
            }
        });
        Self { url, seen }
    }

    /// Starts one that answers every request with the same text and closes.
    pub(crate) async fn answering(text: String) -> Self {
        Self::start(move |_, mut stream| {
            let text = text.clone();
            async move {
                let _ = stream.write_all(text.as_bytes()).await;
                None
            }
        })
        .await
    }

    /// Returns the requests that came, in order.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until requests that hold `text` have come, this many.
    pub(crate) async fn until_seen(&self, text: &str, times: usize) {
        for _ in 0..500 {
            if self.seen().iter().filter(|request| request.contains(text)).count() >= times {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{text} came fewer than {times} times: {:#?}", self.seen());
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text.into_owned());
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}

/// A JSON answer in full.
pub(crate) fn json_answer(status: u16, extra: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{extra}\r\n{body}"
    )
}

/// The head of an event stream that ends with its connection.
pub(crate) const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A reply of a real backend, and the connection on which the test goes on with it.
pub(crate) async fn open_reply() -> (Reply, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let version = version_at(&format!("http://{}/mcp", listener.local_addr().unwrap()));
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await.unwrap();
        stream.write_all(STREAM_HEAD.as_bytes()).await.unwrap();
        stream
    });
    let outgoing = Outgoing { method: http::Method::POST, headers: HeaderMap::new(), body: Bytes::new() };
    let reply = backends().send(&version.endpoint, outgoing).await.unwrap().into_body();
    (reply, serving.await.unwrap())
}

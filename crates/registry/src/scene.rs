//! For tests: a registry with real parts, stub backends on loopback, and named callers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use auth::{Authenticator, Issuer, RootKey, Seal};
use axum::body::Body;
use backend::Backends;
use catalog::endpoint::AddressRule;
use catalog::time::Timestamp;
use catalog::token::IssuedToken;
use http::{HeaderMap, Request, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use store::embedded::EmbeddedStore;
use tempfile::TempDir;
use tower::ServiceExt;

use crate::{Parts, Registry, Settings};

/// Longest wait for something that happens in the background.
const PATIENCE: Duration = Duration::from_secs(10);

/// A registry, its router, and what it stands on.
pub(crate) struct Scene {
    pub(crate) registry: Arc<Registry>,
    pub(crate) directory: TempDir,
    root: RootKey,
    running: tokio::task::JoinHandle<()>,
}

/// An answer of the API.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The body as JSON, or as a text where it is none.
    pub(crate) body: Value,
}

struct Sealer(Seal);

impl store::record::Sealer for Sealer {
    fn seal(&self, plain: &str) -> String {
        self.0.seal(plain.as_bytes(), b"")
    }

    fn open(&self, sealed: &str) -> Option<String> {
        String::from_utf8(self.0.open(sealed, b"")?).ok()
    }
}

impl Scene {
    /// Starts a registry on an empty store.
    pub(crate) async fn start() -> Self {
        Self::start_with(Settings::default()).await
    }

    /// Starts a registry with settings of its own.
    pub(crate) async fn start_with(settings: Settings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = RootKey::load_or_create(&directory.path().join("root.key")).unwrap();
        let registry = open(directory.path(), &root, settings).await;
        let working = registry.clone();
        let running = tokio::spawn(async move { working.run(std::future::pending()).await });
        Self { registry, directory, root, running }
    }

    /// Signs a token. It is not known to the registry, as after a restore of an older store.
    pub(crate) fn token(&self, subject: &str, is_admin: bool, groups: &[&str]) -> String {
        let now = Timestamp::now();
        let token = IssuedToken {
            id: Issuer::new_id(),
            subject: subject.into(),
            description: String::new(),
            groups: groups.iter().map(ToString::to_string).collect(),
            scopes: Vec::new(),
            is_admin,
            resource: None,
            subject_issuer: None,
            created_by: "test".into(),
            made_with: None,
            created_at: now,
            expires_at: now.plus_seconds(3600),
            revoked_at: None,
        };
        Issuer::new(&self.root).sign(&token)
    }

    /// Calls as an administrator: `admin("PUT /api/…", json!({…}))`; `Value::Null` sends no body.
    pub(crate) async fn admin(&self, what: &str, body: Value) -> Answer {
        self.call(what, &self.token("admin", true, &[]), body, &[]).await
    }

    /// Calls as an administrator with more headers.
    pub(crate) async fn admin_with(&self, what: &str, body: Value, headers: &[(&str, &str)]) -> Answer {
        self.call(what, &self.token("admin", true, &[]), body, headers).await
    }

    /// Calls as a plain user.
    pub(crate) async fn reader(&self, what: &str, body: Value) -> Answer {
        self.call(what, &self.token("reader", false, &[]), body, &[]).await
    }

    /// Calls with a token; an empty one sends none.
    pub(crate) async fn call(
        &self,
        what: &str,
        token: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let (method, path) = what.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = match body {
            Value::Null => Body::empty(),
            body => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
        };
        self.send(request.body(body).unwrap()).await
    }

    /// Sends a request as it is.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.registry.router().oneshot(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Answer { status, headers, body }
    }

    /// Registers an enabled server and reads its inventory.
    pub(crate) async fn register(&self, path: &str, url: &str) {
        let body = json!({ "path": path, "server_name": path, "proxy_pass_url": url, "is_enabled": true });
        self.admin("POST /api/servers/register", body).await.expect(201);
        self.admin(&format!("POST /api/servers{path}/refresh"), Value::Null).await.expect(200);
    }

    /// Adds a version and reads its inventory.
    pub(crate) async fn add_version(&self, path: &str, label: &str, url: &str) {
        let body = json!({ "path": path, "proxy_pass_url": url, "version": label });
        self.admin("POST /api/servers/register", body).await.expect(201);
        let refresh = format!("POST /api/servers{path}/refresh?version={label}");
        self.admin(&refresh, Value::Null).await.expect(200);
    }

    /// Waits until a document read by the administrator is as wished.
    pub(crate) async fn until(&self, what: &str, is_reached: impl Fn(&Value) -> bool) -> Value {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let answer = self.admin(what, Value::Null).await;
            if is_reached(&answer.body) {
                return answer.body;
            }
            assert!(tokio::time::Instant::now() < deadline, "{what} stays at {}", answer.body);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Does something to the stored rows behind the registry's back.
    pub(crate) fn damage(&self, sql: &str) {
        let file = self.directory.path().join(store::embedded::CATALOG_FILE);
        rusqlite::Connection::open(file).unwrap().execute_batch(sql).unwrap();
    }

    /// Ends the registry and starts another one on the same data.
    pub(crate) async fn restart(self) -> Self {
        self.running.abort();
        let Self { registry, directory, root, running } = self;
        let _ = running.await;
        let settings = registry.parts.settings.clone();
        // Work in the background lets go of the store a moment after it was told to.
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while Arc::strong_count(&registry) > 1 {
            assert!(tokio::time::Instant::now() < deadline, "something holds on to the registry");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(registry);
        let registry = open(directory.path(), &root, settings).await;
        let working = registry.clone();
        let running = tokio::spawn(async move { working.run(std::future::pending()).await });
        Self { registry, directory, root, running }
    }
}

impl Answer {
    /// Checks the status and returns the body.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    /// Returns a header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

async fn open(directory: &Path, root: &RootKey, settings: Settings) -> Arc<Registry> {
    let sealer = Arc::new(Sealer(Seal::new(root, "store")));
    let rule = AddressRule { allow_private: true };
    let empty = routing::compile::compile(&catalog::Catalog::default(), None).table;
    // A sweep that was under way when the store was let go of has the directory a moment longer.
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let store = loop {
        match EmbeddedStore::open(directory, sealer.clone()).await {
            Err(store::Error::InUse(_)) if tokio::time::Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            opened => break opened.unwrap(),
        }
    };
    let parts = Parts {
        store: Arc::new(store),
        live: Arc::new(routing::Live::new(empty)),
        backends: Arc::new(Backends::new(Arc::new(backends(rule)))),
        authenticator: Arc::new(Authenticator::new(root)),
        issuer: Arc::new(Issuer::new(root)),
        cookies: auth::Cookies::new(root),
        limiter: None,
        seal: Seal::new(root, "browsers"),
        settings,
    };
    Registry::start(parts).await.unwrap()
}

/// Settings under which there is one command, `files`.
fn backends(rule: AddressRule) -> backend::Settings {
    let command = backend::stdio::Command {
        program: "/bin/cat".into(),
        arguments: Vec::new(),
        environment: Vec::new(),
        directory: None,
    };
    let stdio =
        backend::Stdio::new([("files".to_owned(), command)].into(), backend::stdio::Limits::default());
    backend::Settings { stdio, ..backend::Settings::new(&[], rule).unwrap() }
}

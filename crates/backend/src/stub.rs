//! For tests: a server that speaks raw HTTP/1 as a test tells it, and endpoints to reach it.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use catalog::endpoint::{AddressRule, Endpoint};
use http::{HeaderMap, Method};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::pool::Backends;
use crate::send::Outgoing;
use crate::settings::Settings;

/// A server on loopback. It lives as long as the test's runtime.
pub(crate) struct Stub {
    pub(crate) port: u16,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<Said>>>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// The server's side of one connection.
pub(crate) struct Wire {
    /// The how manyth connection it is, from 1.
    pub(crate) number: usize,
    stream: TcpStream,
    requests: Arc<Mutex<Vec<Said>>>,
}

impl Stub {
    /// Starts a server that lets `serve` handle each connection; the connection closes when it returns.
    pub(crate) async fn start<F: Future<Output = ()> + Send + 'static>(
        serve: impl Fn(Wire) -> F + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(Mutex::default());
        let (count, seen) = (connections.clone(), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                tokio::spawn(serve(Wire { number, stream, requests: seen.clone() }));
            }
        });
        Self { port, connections, requests }
    }

    /// Starts a server that answers each request with the same text.
    pub(crate) async fn answering(text: impl Into<String>) -> Self {
        let text: Arc<str> = text.into().into();
        Self::start(move |mut wire| {
            let text = text.clone();
            async move {
                while wire.request().await.is_some() {
                    wire.say(&text).await;
                }
            }
        })
        .await
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        endpoint(&format!("http://127.0.0.1:{}/mcp", self.port))
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> Vec<Said> {
        self.requests.lock().unwrap().clone()
    }
}

impl Wire {
    /// Reads a request; `None` where the client closed.
    pub(crate) async fn request(&mut self) -> Option<Said> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if self.stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                return None;
            }
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let length: usize = length.unwrap_or(0);
        while bytes.len() < end + length {
            if self.stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                return None;
            }
        }
        let said = Said { head, body: String::from_utf8(bytes[end..end + length].to_vec()).unwrap() };
        self.requests.lock().unwrap().push(said.clone());
        Some(said)
    }

    pub(crate) async fn say(&mut self, text: &str) {
        // The client may be gone; its test knows.
        let _ = self.stream.write_all(text.as_bytes()).await;
    }

    /// Waits until the client closes.
    pub(crate) async fn closed(&mut self) {
        let mut rest = [0; 64];
        while self.stream.read(&mut rest).await.unwrap_or(0) > 0 {}
    }
}

/// An answer with its length.
pub(crate) fn whole(status: u16, content_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} x\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A JSON answer with its length.
pub(crate) fn json(body: &str) -> String {
    whole(200, "application/json", body)
}

pub(crate) fn endpoint(url: &str) -> Endpoint {
    Endpoint::at(url.parse().unwrap())
}

/// Settings with deadlines fit for tests.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::new(&[], AddressRule { allow_private: true }).unwrap();
    settings.probe = Duration::from_secs(2);
    settings
}

pub(crate) fn backends() -> Backends {
    Backends::new(Arc::new(settings()))
}

pub(crate) fn post(body: &'static str) -> Outgoing {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    Outgoing { method: Method::POST, headers, body: Bytes::from_static(body.as_bytes()) }
}

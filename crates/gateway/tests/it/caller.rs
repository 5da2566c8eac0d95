//! Somebody who speaks plain HTTP to the program.

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use serde_json::Value;
use testkit::client::Connection;

/// Somebody with or without a token.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) token: Option<String>,
    authority: String,
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) what: String,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Caller {
    /// Presents a token to whoever listens at `host:port`.
    pub(crate) fn new(authority: &str, token: Option<&str>) -> Self {
        Self { token: token.map(str::to_owned), authority: authority.to_owned() }
    }

    /// Reads: `GET` this path.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path}"), Value::Null).await
    }

    /// Sends a body to a method and path: `POST /api/servers/register`.
    pub(crate) async fn send(&self, what: &str, body: Value) -> Answer {
        let mut connection = Connection::open(&self.authority).await.unwrap();
        self.send_on(&mut connection, what, body).await
    }

    /// Sends it over a connection that is open.
    pub(crate) async fn send_on(&self, connection: &mut Connection, what: &str, body: Value) -> Answer {
        let answer = connection.send(self.request(what, &body)).await.unwrap();
        let (status, headers) = (answer.status, answer.headers.clone());
        Answer { what: what.into(), status, headers, text: answer.text().await }
    }

    /// Makes the request.
    pub(crate) fn request(&self, what: &str, body: &Value) -> Request<Bytes> {
        let (method, path) = what.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = match body {
            Value::Null => Bytes::new(),
            body => {
                request = request.header("content-type", "application/json");
                body.to_string().into()
            }
        };
        request.body(body).unwrap()
    }
}

impl Answer {
    /// Reads the body as JSON; the status must be this.
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}: {}", self.what, self.text);
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }
}

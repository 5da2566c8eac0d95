//! One request on its way through a backend, and the ways it can end.

use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use crate::wire::Out;

/// One request of a client.
pub(crate) struct Call {
    /// Its id.
    pub(crate) id: Value,
    /// Its method.
    pub(crate) method: String,
    /// Its params; `{}` where absent.
    pub(crate) params: Value,
    /// The session; empty where there is none.
    pub(crate) session: String,
    /// Whether it is of the modern era.
    pub(crate) is_modern: bool,
    /// The stream of its answer.
    pub(crate) out: Sender<Out>,
}

/// How a request ends.
pub(crate) enum End {
    /// With a result.
    Result(Value),
    /// With a JSON-RPC error.
    Error { code: i64, message: String, data: Option<Value> },
    /// With an HTTP status.
    Status(u16),
    /// With a broken connection.
    Break,
}

impl Call {
    /// Sends a notification on the stream of the answer.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Sends any message on the stream of the answer. It is lost where the client has gone.
    pub(crate) async fn send(&self, message: Value) {
        let _ = self.out.send(Out::Message(message)).await;
    }

    /// Returns a text of the params; empty where absent.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.params[key].as_str().unwrap_or_default()
    }

    /// Returns the session id as it is told outside.
    pub(crate) fn session_id(&self) -> Option<String> {
        (!self.session.is_empty()).then(|| self.session.clone())
    }
}

impl End {
    pub(crate) fn error(code: i64, message: impl Into<String>) -> Self {
        Self::Error { code, message: message.into(), data: None }
    }
}

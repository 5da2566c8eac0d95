//! Listen streams of the modern era: who wants which notifications.

use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender};

use crate::wire::{Out, pipe};

/// The key of a notification's `_meta` that names its subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// All listen streams of a backend.
#[derive(Default)]
pub(crate) struct Listeners(Vec<Listener>);

struct Listener {
    id: Value,
    wanted: Value,
    out: Sender<Out>,
}

impl Listeners {
    /// Opens one for a `subscriptions/listen` with this id and filter. Its first message acknowledges all that is wanted.
    pub(crate) fn open(&mut self, id: &Value, wanted: &Value) -> Receiver<Out> {
        let (out, inbox) = pipe();
        let listener = Listener { id: id.clone(), wanted: wanted.clone(), out };
        listener.send(json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": { "notifications": wanted },
        }));
        self.0.push(listener);
        inbox
    }

    /// Sends a notification to those who want it.
    pub(crate) fn push(&mut self, message: &Value) {
        self.0.retain(|listener| !listener.out.is_closed());
        for listener in self.0.iter().filter(|listener| listener.wants(message)) {
            listener.send(message.clone());
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.0.iter().filter(|listener| !listener.out.is_closed()).count()
    }
}

impl Listener {
    fn wants(&self, message: &Value) -> bool {
        let switch = match message["method"].as_str().unwrap_or_default() {
            "notifications/tools/list_changed" => "toolsListChanged",
            "notifications/prompts/list_changed" => "promptsListChanged",
            "notifications/resources/list_changed" => "resourcesListChanged",
            "notifications/resources/updated" => {
                let subscribed = self.wanted["resourceSubscriptions"].as_array();
                return subscribed.is_some_and(|uris| uris.contains(&message["params"]["uri"]));
            }
            _ => return false,
        };
        self.wanted[switch] == true
    }

    fn send(&self, mut message: Value) {
        message["params"]["_meta"][SUBSCRIPTION] = self.id.clone();
        // The stream may close this very moment, or be full; then the message is lost, as on any network.
        let _ = self.out.try_send(Out::Message(message));
    }
}

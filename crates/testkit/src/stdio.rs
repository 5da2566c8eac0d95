//! A backend on standard input and output: a test program that is started again as its own backend.
//!
//! The test names its own binary as the command, has it run the one test that calls [`be_backend_if_asked`], and sets
//! [`MODE`]. What the test harness prints before is no message, as with many real programs.

use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

/// The environment variable that says which backend to be: `legacy`, `modern`, `deaf` (legacy, gives no answer to what
/// it does not know), `fragile` (legacy, ends over it), `stubborn` (legacy, does not end with its input).
pub const MODE: &str = "STDIO_BACKEND";

/// The tools every backend has, and what they do.
const TOOLS: [&str; 15] = [
    "echo",
    "environment",
    "process",
    "count",
    "ask",
    "hang",
    "die",
    "flood",
    "endless",
    "garbage",
    "offspring",
    "log",
    "large",
    "cancelled",
    "change",
];

/// Becomes a backend, and never returns, where the environment says so.
pub fn be_backend_if_asked() {
    let Ok(mode) = std::env::var(MODE) else { return };
    let backend = Arc::new(Backend { mode, state: Mutex::default() });
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let message: Value =
            serde_json::from_str(&line).expect("the gateway writes JSON, one message a line");
        let backend = backend.clone();
        std::thread::spawn(move || backend.receive(&message));
    }
    if backend.mode == "stubborn" {
        wait_for_ever();
    }
    std::process::exit(0);
}

struct Backend {
    mode: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_initialized: bool,
    /// The call that waits for the client's answer to its question.
    asking: Option<Value>,
    cancelled: Vec<Value>,
    listens: Vec<Value>,
}

impl Backend {
    fn receive(&self, message: &Value) {
        let id = &message["id"];
        match message["method"].as_str() {
            None => {
                let asking = self.state().asking.take();
                self.say_text(&asking.expect("it asked"), &message["result"].to_string());
            }
            Some("notifications/cancelled") => {
                self.state().cancelled.push(message["params"]["requestId"].clone());
            }
            Some("initialize") if self.mode != "modern" => {
                self.state().is_initialized = true;
                let result = json!({ "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": { "tools": { "listChanged": true }, "logging": {} },
                    "serverInfo": { "name": "lines", "version": "1.2.3" } });
                self.say_result(id, result);
            }
            Some("server/discover") if self.mode == "modern" => {
                let result = json!({ "supportedVersions": ["2026-07-28"],
                    "capabilities": { "tools": { "listChanged": true } },
                    "serverInfo": { "name": "lines", "version": "2.0.0" } });
                self.say_result(id, result);
            }
            Some("server/discover") if self.mode == "fragile" => std::process::exit(3),
            Some("server/discover") if self.mode == "deaf" => {}
            Some("tools/list") if self.is_spoken_to_properly(message) => {
                let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
                self.say_result(id, json!({ "tools": TOOLS.map(tool) }));
            }
            Some("tools/call") if self.is_spoken_to_properly(message) => self.call(id, &message["params"]),
            Some("subscriptions/listen") if self.mode == "modern" => {
                self.state().listens.push(id.clone());
                self.notify(
                    "notifications/subscriptions/acknowledged",
                    json!({ "_meta": subscription(id), "notifications": { "toolsListChanged": true } }),
                );
            }
            Some(_) if id.is_null() => {}
            Some(other) => say(&json!({ "jsonrpc": "2.0", "id": id,
                "error": { "code": -32601, "message": format!("no method {other}") } })),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no call panics with it")
    }

    fn is_spoken_to_properly(&self, message: &Value) -> bool {
        if self.mode == "modern" {
            return message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28";
        }
        self.state().is_initialized
    }

    fn call(&self, id: &Value, params: &Value) {
        match params["name"].as_str().unwrap_or_default() {
            "echo" => self.say_text(id, params["arguments"]["text"].as_str().unwrap_or_default()),
            "environment" => {
                let all: serde_json::Map<_, _> =
                    std::env::vars().map(|(name, value)| (name, value.into())).collect();
                self.say_text(id, &Value::Object(all).to_string());
            }
            "process" => self.say_text(id, &std::process::id().to_string()),
            "count" => {
                for step in 1..=3 {
                    self.notify("notifications/progress",
                        json!({ "progressToken": params["_meta"]["progressToken"], "progress": step, "total": 3 }));
                }
                self.say_text(id, "counted");
            }
            "ask" => {
                self.state().asking = Some(id.clone());
                say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "elicitation/create",
                    "params": { "message": "which?", "requestedSchema": { "type": "object", "properties": {} } } }));
            }
            "hang" => {}
            "die" => std::process::exit(7),
            "flood" => loop {
                self.notify("notifications/progress",
                    json!({ "progressToken": params["_meta"]["progressToken"], "progress": 1, "message": "x".repeat(900) }));
            },
            "endless" => loop {
                write(&[b'x'; 8192]);
            },
            "garbage" => {
                write(b"Loading weights... 100%\r\n{\"half\": \n\xff\xfe\n[]\n{}\nnull\n");
                self.say_text(id, "after the garbage");
            }
            "offspring" => {
                #[expect(clippy::zombie_processes, reason = "whoever ends the backend has to end it")]
                let child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("sleep");
                self.say_text(id, &child.id().to_string());
            }
            "log" => {
                self.notify("notifications/message", json!({ "level": "info", "data": "a line of the log" }));
                self.say_text(id, "logged");
            }
            "large" => self.say_text(id, &"x".repeat(3 << 20)),
            "cancelled" => {
                let cancelled = Value::from(self.state().cancelled.clone());
                self.say_text(id, &cancelled.to_string());
            }
            "change" => {
                let listens = self.state().listens.clone();
                if self.mode != "modern" {
                    self.notify("notifications/tools/list_changed", json!({}));
                }
                for listen in listens {
                    self.notify(
                        "notifications/tools/list_changed",
                        json!({ "_meta": subscription(&listen) }),
                    );
                }
                self.say_text(id, "changed");
            }
            other => say(&json!({ "jsonrpc": "2.0", "id": id,
                "error": { "code": -32602, "message": format!("no tool {other}") } })),
        }
    }

    fn say_text(&self, id: &Value, text: &str) {
        self.say_result(id, json!({ "content": [{ "type": "text", "text": text }] }));
    }

    fn say_result(&self, id: &Value, mut result: Value) {
        if self.mode == "modern" {
            result["resultType"] = "complete".into();
        }
        say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn notify(&self, method: &str, params: Value) {
        say(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }
}

fn subscription(id: &Value) -> Value {
    json!({ "io.modelcontextprotocol/subscriptionId": id })
}

fn say(message: &Value) {
    write(format!("{message}\n").as_bytes());
}

/// Writes in one go, so that messages of several threads do not mix.
fn write(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
        // Nobody reads any more.
        std::process::exit(1);
    }
}

fn wait_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

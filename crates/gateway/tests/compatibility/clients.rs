//! The clients: how each is run, and what it saw.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{answer, command};
use crate::servers::Server;

/// A client of the peers.
pub(crate) struct Client {
    /// Its name in the table.
    pub(crate) name: &'static str,
    program: &'static str,
    script: &'static str,
    mode: &'static str,
    /// Whether it answers a server's questions to the user.
    can_be_asked: bool,
}

const NODE: &str = "node";
const PYTHON: &str = ".venv/bin/python";
const PYTHON_1: &str = ".venv-1/bin/python";

/// All clients, in the order of the table's columns.
pub(crate) const CLIENTS: [Client; 8] = [
    client("TypeScript SDK 1.32", NODE, "ts_client.mjs", "", true),
    client("TypeScript SDK 2.4", NODE, "ts2_client.mjs", "legacy", true),
    client("TypeScript SDK 2.4, auto", NODE, "ts2_client.mjs", "auto", true),
    client("Python SDK 1.30", PYTHON_1, "python1_client.py", "", true),
    client("Python SDK 2.3, legacy", PYTHON, "python_client.py", "legacy", true),
    client("Python SDK 2.3", PYTHON, "python_client.py", "auto", true),
    client("FastMCP 4.2", PYTHON, "fastmcp_client.py", "", false),
    client("Inspector 1.0", NODE, INSPECTOR, "", false),
];

/// The Inspector does one thing at a time and takes no plan.
const INSPECTOR: &str = "inspector.mjs";

const fn client(
    name: &'static str,
    program: &'static str,
    script: &'static str,
    mode: &'static str,
    can_be_asked: bool,
) -> Client {
    Client { name, program, script, mode, can_be_asked }
}

impl Client {
    /// Uses a server at an address: its tools, a prompt, a resource, and a question where both sides can. `slow` and `ask`
    /// are the tools' names there. Returns what went wrong.
    pub(crate) fn visit(
        &self,
        peers: &Path,
        url: &str,
        token: &str,
        server: &Server,
        [slow, ask]: [&str; 2],
    ) -> Result<(), String> {
        if self.script == INSPECTOR {
            return self.inspect(peers, url, token, server, slow);
        }
        let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON in the table");
        let plan = json!({
            "tool": slow,
            "arguments": parse(server.arguments),
            "prompt": server.prompt,
            "prompt_arguments": parse(server.prompt_arguments),
            "resource": server.resource,
        });
        let seen = self.run(peers, url, token, plan)?;
        expect("the tool", &seen["called"], server.says)?;
        expect("the tools", &seen["tools"], slow)?;
        expect("the prompt", &seen["prompt"], server.prompt_says)?;
        expect("the resource", &seen["resource"], server.resource_says)?;
        if seen["progress"] != server.steps {
            return Err(format!("{} reports of progress instead of {}", seen["progress"], server.steps));
        }
        if !(server.asks && self.can_be_asked) {
            return Ok(());
        }
        let seen = self.run(peers, url, token, json!({ "tool": ask }))?;
        expect("the question", &seen["asked"], "elicitation/create")?;
        expect("the answer", &seen["called"], "decline")
    }

    fn run(&self, peers: &Path, url: &str, token: &str, mut plan: Value) -> Result<Value, String> {
        if !self.mode.is_empty() {
            plan["mode"] = json!(self.mode);
        }
        self.start(peers, &[self.script, url, token, &plan.to_string()])
    }

    fn inspect(
        &self,
        peers: &Path,
        url: &str,
        token: &str,
        server: &Server,
        slow: &str,
    ) -> Result<(), String> {
        let arguments: Value = serde_json::from_str(server.arguments).expect("JSON in the table");
        let arguments = arguments.as_object().into_iter().flatten();
        let arguments: Vec<_> = arguments.map(|(key, value)| format!("{key}={value}")).collect();
        let mut line = vec![self.script, url, token, "--method", "tools/call", "--tool-name", slow];
        for argument in &arguments {
            line.extend(["--tool-arg", argument]);
        }
        expect("the tool", &self.start(peers, &line)?, server.says)?;
        let line = [self.script, url, token, "--method", "resources/read", "--uri", server.resource];
        expect("the resource", &self.start(peers, &line)?, server.resource_says)
    }

    /// Runs it to its end and reads what it printed. A client that fails prints no JSON, which is an answer here.
    fn start(&self, peers: &Path, line: &[&str]) -> Result<Value, String> {
        let run = AssertUnwindSafe(|| answer(command(peers, self.program, line)));
        catch_unwind(run).map_err(|panic| match panic.downcast_ref::<String>() {
            Some(text) => text.clone(),
            None => "it failed".into(),
        })
    }
}

fn expect(what: &str, part: &Value, expected: &str) -> Result<(), String> {
    match part.to_string().contains(expected) {
        true => Ok(()),
        false => Err(format!("{what}: no {expected:?} in {part}")),
    }
}

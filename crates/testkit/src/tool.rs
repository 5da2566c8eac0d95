//! Tools of a backend and what they do when called.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::steps::Steps;

/// Computes an answer from the arguments: a string becomes text, anything else structured content as well.
pub type Answers = Arc<dyn Fn(&Value) -> Value + Send + Sync>;

/// One tool: how it is listed and what it does.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The object in `tools/list`.
    pub definition: Value,
    /// What a call does.
    pub behaviour: Behaviour,
    /// Lists it to clients of one era only: the modern one, or the other.
    pub only_modern: Option<bool>,
}

/// What a tool does when called. In brackets the arguments it heeds, each with a default.
#[derive(Clone)]
pub enum Behaviour {
    /// Tells backend, tool, arguments, session, request id and `_meta`.
    Echo,
    /// Echoes after a while (`seconds`: 1). Stops without an answer when it is cancelled.
    Slow,
    /// Sends progress notifications on the call's stream, if a token was given (`steps`: 3, `pause_ms`: 5), then echoes.
    Progress,
    /// Asks the user (`message`), with `elicitation/create`, and tells the answer.
    Ask,
    /// Asks the client's model (`prompt`), with `sampling/createMessage`, and tells the answer.
    Sample,
    /// Asks for the client's roots and tells them.
    Roots,
    /// Sends a log message on the call's stream (`level`: "info", `text`), if the level was asked for, then echoes.
    Log,
    /// Runs, then answers HTTP 500.
    Crash,
    /// Runs, then breaks the connection.
    Break,
    /// Answers a result with `isError`.
    Fail,
    /// Answers a JSON-RPC error (`code`: -32050, `message`).
    Error,
    /// Counts its calls within the session.
    Count,
    /// Answers much text (`bytes`: 1,000,000).
    Big,
    /// Answers what a function says.
    Answers(Answers),
    /// Plays steps.
    Steps(Steps),
}

impl Tool {
    /// Makes a tool whose behaviour follows from its name: `slow`, `progress`, `ask`, …; any other name echoes.
    pub fn new(name: &str) -> Self {
        let definition = json!({
            "name": name,
            "title": format!("The {name} tool"),
            "description": format!("Example tool {name}"),
            "inputSchema": { "type": "object", "properties": { "query": { "type": "string" } } },
            "annotations": { "readOnlyHint": true },
            "_meta": { "example.com/kept": { "by": name } },
        });
        Self { definition, behaviour: Behaviour::named(name), only_modern: None }
    }

    /// Replaces what it does.
    pub fn behaves(mut self, behaviour: Behaviour) -> Self {
        self.behaviour = behaviour;
        self
    }

    /// Lists it to clients of one era only.
    pub fn only_for(mut self, is_modern: bool) -> Self {
        self.only_modern = Some(is_modern);
        self
    }

    /// Lets a function answer.
    pub fn answers(self, answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Self {
        self.behaves(Behaviour::Answers(Arc::new(answer)))
    }

    /// Lets it play steps.
    pub fn plays(self, steps: Steps) -> Self {
        self.behaves(Behaviour::Steps(steps))
    }

    /// Replaces the description.
    pub fn description(self, text: &str) -> Self {
        self.member("description", json!(text))
    }

    /// Replaces the input schema.
    pub fn schema(self, schema: Value) -> Self {
        self.member("inputSchema", schema)
    }

    /// Sets any member of the listed object; null removes it.
    pub fn member(mut self, key: &str, value: Value) -> Self {
        let members = self.definition.as_object_mut().expect("a definition is an object");
        if value.is_null() {
            members.shift_remove(key);
        } else {
            members.insert(key.into(), value);
        }
        self
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        self.definition["name"].as_str().expect("a tool has a name")
    }
}

impl From<&str> for Tool {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl Behaviour {
    fn named(name: &str) -> Self {
        match name {
            "slow" => Self::Slow,
            "progress" => Self::Progress,
            "ask" => Self::Ask,
            "sample" => Self::Sample,
            "roots" => Self::Roots,
            "log" => Self::Log,
            "crash" => Self::Crash,
            "break" => Self::Break,
            "fail" => Self::Fail,
            "error" => Self::Error,
            "count" => Self::Count,
            "big" => Self::Big,
            _ => Self::Echo,
        }
    }
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Echo => "Echo",
            Self::Slow => "Slow",
            Self::Progress => "Progress",
            Self::Ask => "Ask",
            Self::Sample => "Sample",
            Self::Roots => "Roots",
            Self::Log => "Log",
            Self::Crash => "Crash",
            Self::Break => "Break",
            Self::Fail => "Fail",
            Self::Error => "Error",
            Self::Count => "Count",
            Self::Big => "Big",
            Self::Answers(_) => "Answers",
            Self::Steps(_) => "Steps",
        })
    }
}

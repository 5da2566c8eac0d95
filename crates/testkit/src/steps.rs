//! What a tool or a prompt does step by step, written once and played in both eras.

use std::fmt;

use serde_json::Value;

/// Steps and the result at their end.
#[derive(Clone)]
pub struct Steps {
    /// In order.
    pub steps: Vec<Step>,
    /// Whether a question of the modern era comes with a `requestState`.
    pub keeps_state: bool,
    /// Whether a legacy backend asks on the GET stream of the session, as many do.
    pub asks_aside: bool,
    /// Makes the result of the arguments and of the answers, which are an object by key.
    pub end: fn(arguments: &Value, answers: &Value) -> Value,
}

/// One step.
#[derive(Clone)]
pub enum Step {
    /// Waits, in milliseconds.
    Pause(u64),
    /// Reports progress of 100, if a token was given.
    Progress(u64),
    /// Sends a log message of level `info`, if the level was asked for.
    Log(&'static str),
    /// Ends the stream of the call, which goes on when its client resumes it. Streams of the modern era are not resumed.
    HangUp,
    /// Changes the list of `tools` or `prompts`, and says so to everybody who listens.
    Change(&'static str),
    /// Refuses a client without this capability. A legacy backend cannot refuse like that and asks nonetheless.
    Need(Question),
    /// Asks the client; all questions at once.
    Ask(Vec<Question>),
    /// Asks only what the client has declared it can answer.
    AskIfDeclared(Vec<Question>),
}

/// A question to the client.
#[derive(Clone)]
pub struct Question {
    /// Its key among the `inputRequests` of the modern era.
    pub key: &'static str,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: &'static str,
    /// Makes its `params` of the call's arguments.
    pub params: fn(arguments: &Value) -> Value,
}

impl Steps {
    /// No steps, only a result.
    pub fn none(end: fn(&Value, &Value) -> Value) -> Self {
        Self::new([], end)
    }

    /// Some steps.
    pub fn new(steps: impl IntoIterator<Item = Step>, end: fn(&Value, &Value) -> Value) -> Self {
        Self { steps: steps.into_iter().collect(), keeps_state: false, asks_aside: false, end }
    }

    /// Asks on the GET stream of the session where it can.
    pub fn asking_aside(mut self) -> Self {
        self.asks_aside = true;
        self
    }

    /// Gives a `requestState` with each question.
    pub fn with_state(mut self) -> Self {
        self.keeps_state = true;
        self
    }
}

impl Question {
    /// Returns the capability a client needs to be asked this.
    pub fn capability(&self) -> &'static str {
        match self.method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            _ => "roots",
        }
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} steps", self.steps.len())
    }
}

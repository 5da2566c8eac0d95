//! Plays the steps of a tool or a prompt: questions are requests in the legacy era and rounds in the modern one.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::call::{Call, End};
use crate::record::Run;
use crate::script::Script;
use crate::state;
use crate::steps::{Question, Step, Steps};
use crate::stub::Stub;
use crate::wire::Out;

/// Longest wait for a client's answer; a test that answers does so at once.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// When a client whose stream was ended should come back.
const RETRY_MS: u64 = 100;

/// Plays all steps of a call.
pub(crate) async fn perform(stub: &Stub, script: &Script, call: &Call, steps: &Steps) -> End {
    let mut rounds = match Rounds::resume(call) {
        Ok(rounds) => rounds,
        Err(end) => return end,
    };
    if !call.is_modern {
        began(stub, call);
    }
    for step in &steps.steps {
        let end = match step {
            Step::Ask(questions) => ask(stub, call, steps, &mut rounds, questions).await,
            Step::AskIfDeclared(questions) => {
                let declared = declared(stub, call);
                let able: Vec<_> =
                    questions.iter().filter(|question| can(&declared, question)).cloned().collect();
                if able.is_empty() { None } else { ask(stub, call, steps, &mut rounds, &able).await }
            }
            Step::Need(question) if call.is_modern => missing(&declared(stub, call), &[question]),
            Step::Need(question) => {
                ask_legacy(stub, call, steps, &mut rounds, std::slice::from_ref(question)).await
            }
            effect => {
                take_effect(stub, script, call, effect).await;
                None
            }
        };
        if let Some(end) = end {
            return end;
        }
    }
    if call.is_modern {
        began(stub, call);
    }
    End::Result((steps.end)(&call.params["arguments"], &Value::Object(rounds.answers)))
}

/// Notes that a call runs.
pub(crate) fn began(stub: &Stub, call: &Call) {
    stub.began(Run {
        tool: call.text("name").into(),
        arguments: call.params["arguments"].clone(),
        session: call.session_id(),
        id: call.id.clone(),
    });
}

/// Steps that end nothing.
async fn take_effect(stub: &Stub, script: &Script, call: &Call, step: &Step) {
    match step {
        Step::Pause(time) => tokio::time::sleep(Duration::from_millis(*time)).await,
        Step::Progress(done) => {
            let token = &call.params["_meta"]["progressToken"];
            if !token.is_null() {
                let message = format!("{done} of 100");
                let params =
                    json!({ "progressToken": token, "progress": done, "total": 100, "message": message });
                call.notify("notifications/progress", params).await;
            }
        }
        Step::Log(text) => {
            let wanted = match call.is_modern {
                true => call.params["_meta"]["io.modelcontextprotocol/logLevel"].is_string(),
                false => stub.session(&call.session, |session| session.wants_log("info")) == Some(true),
            };
            if wanted {
                let params = json!({ "level": "info", "logger": script.name, "data": text });
                call.notify("notifications/message", params).await;
            }
        }
        Step::Change(kind) => change(stub, kind),
        Step::HangUp if !call.is_modern => hang_up(stub, call).await,
        Step::HangUp | Step::Need(_) | Step::Ask(_) | Step::AskIfDeclared(_) => {}
    }
}

async fn hang_up(stub: &Stub, call: &Call) {
    let (hand_over, rest) = oneshot::channel();
    let id = stub.leave(&call.session, rest);
    // The client may have gone; nobody resumes the stream then.
    let _ = call.out.send(Out::Primer { id, retry_ms: RETRY_MS }).await;
    let _ = call.out.send(Out::HangUp(hand_over)).await;
}

/// Lets a list truly change: one description counts the changes.
fn change(stub: &Stub, kind: &str) {
    let count = |item: &mut Value| {
        let text = item["description"].as_str().unwrap_or_default();
        let (text, changes) = text.split_once(" Changes so far: ").unwrap_or((text, "0"));
        let changes = changes.parse::<u64>().unwrap_or_default() + 1;
        item["description"] = json!(format!("{text} Changes so far: {changes}"));
    };
    stub.set(|script| {
        if kind == "tools" {
            script.tools.iter_mut().map(|tool| &mut tool.definition).for_each(count);
        } else {
            script.prompts.iter_mut().for_each(count);
        }
    });
    if kind == "tools" { stub.tools_changed() } else { stub.prompts_changed() }
}

/// What was asked and answered in a call so far.
struct Rounds {
    /// Rounds whose answers are in already.
    done: u64,
    /// Rounds met while the steps are played.
    met: u64,
    answers: Map<String, Value>,
}

impl Rounds {
    /// Reads what a retried call of the modern era brings along.
    fn resume(call: &Call) -> Result<Self, End> {
        let mut rounds = Self { done: 0, met: 0, answers: Map::new() };
        let shown = &call.params["requestState"];
        if !call.is_modern || shown.is_null() {
            return Ok(rounds);
        }
        let state = shown.as_str().and_then(state::open).filter(|state| state["name"] == call.params["name"]);
        let Some(state) = state else {
            return Err(End::error(-32602, "requestState was changed or is not ours"));
        };
        rounds.done = state["done"].as_u64().unwrap_or_default();
        rounds.answers = state["answers"].as_object().cloned().unwrap_or_default();
        Ok(rounds)
    }

    fn state(&self, call: &Call) -> String {
        state::seal(&json!({ "name": call.params["name"], "done": self.done, "answers": self.answers }))
    }
}

async fn ask(
    stub: &Stub,
    call: &Call,
    steps: &Steps,
    rounds: &mut Rounds,
    questions: &[Question],
) -> Option<End> {
    let asked: Vec<_> = questions.iter().collect();
    if let Some(end) = missing(&declared(stub, call), &asked) {
        if call.is_modern {
            return Some(end);
        }
        return Some(failed("the client cannot be asked that"));
    }
    match call.is_modern {
        true => ask_modern(call, steps, rounds, questions),
        false => ask_legacy(stub, call, steps, rounds, questions).await,
    }
}

/// One round: goes on where the answers are in, else ends the request with the questions that are open.
fn ask_modern(call: &Call, steps: &Steps, rounds: &mut Rounds, questions: &[Question]) -> Option<End> {
    rounds.met += 1;
    if rounds.met <= rounds.done {
        return None;
    }
    let given = &call.params["inputResponses"];
    let mut open = Map::new();
    for question in questions {
        match &given[question.key] {
            answer if answer.is_object() => {
                rounds.answers.insert(question.key.into(), answer.clone());
            }
            _ => {
                let params = (question.params)(&call.params["arguments"]);
                open.insert(question.key.into(), json!({ "method": question.method, "params": params }));
            }
        }
    }
    if open.is_empty() {
        rounds.done += 1;
        return None;
    }
    let mut result = json!({ "resultType": "input_required", "inputRequests": open });
    if steps.keeps_state {
        result["requestState"] = json!(rounds.state(call));
    }
    Some(End::Result(result))
}

async fn ask_legacy(
    stub: &Stub,
    call: &Call,
    steps: &Steps,
    rounds: &mut Rounds,
    questions: &[Question],
) -> Option<End> {
    let mut waiting = Vec::new();
    for question in questions {
        let (id, answer) = stub.expect_answer(&call.session);
        let params = (question.params)(&call.params["arguments"]);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": question.method, "params": params });
        match steps.asks_aside {
            // A session that ended meanwhile has nobody to ask.
            true => _ = stub.session(&call.session, |session| session.push(message)),
            false => call.send(message).await,
        }
        waiting.push((question, answer));
    }
    for (question, answer) in waiting {
        let Ok(Ok(answer)) = tokio::time::timeout(ANSWER_TIME, answer).await else {
            return Some(End::error(-32603, "the client did not answer"));
        };
        if answer.get("error").is_some() {
            return Some(failed(&format!("{}: {}", question.method, answer["error"]["message"])));
        }
        rounds.answers.insert(question.key.into(), answer["result"].clone());
    }
    None
}

fn failed(text: &str) -> End {
    End::Result(json!({ "content": [{ "type": "text", "text": text }], "isError": true }))
}

fn declared(stub: &Stub, call: &Call) -> Value {
    match call.is_modern {
        true => call.params["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone(),
        false => stub.session(&call.session, |session| session.capabilities.clone()).unwrap_or_default(),
    }
}

fn can(declared: &Value, question: &Question) -> bool {
    declared[question.capability()].is_object()
}

/// Refuses where a capability is not declared; the refusal names all that are missing.
fn missing(declared: &Value, questions: &[&Question]) -> Option<End> {
    let lacking = questions.iter().filter(|question| !can(declared, question));
    let lacking: Map<_, _> = lacking.map(|question| (question.capability().into(), json!({}))).collect();
    if lacking.is_empty() {
        return None;
    }
    let data = Some(json!({ "requiredCapabilities": lacking }));
    Some(End::Error { code: -32021, message: "the client lacks a capability".into(), data })
}

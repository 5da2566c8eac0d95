//! Tasks of a backend that announces them: they never end, and are told under names that only it can have given.

use serde_json::{Value, json};

use crate::call::{Call, End};
use crate::methods;
use crate::script::Script;

/// The capability of 2025-11-25, and the extension of 2026-07-28.
const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Answers what is about tasks; `None` for anything else, and where it has none.
///
/// A tool begins `task of <backend>`, or with an argument `task` that is `x`, `task x of <backend>`.
pub(crate) fn answer(script: &Script, call: &Call) -> Option<End> {
    let capabilities = script.capabilities();
    if !capabilities["tasks"].is_object() && !capabilities["extensions"][EXTENSION].is_object() {
        return None;
    }
    let begun = || task(&id(script, call.params["arguments"]["task"].as_str()));
    let named = call.text("taskId");
    let mine =
        |result: Value| match named.starts_with("task") && named.ends_with(&format!("of {}", script.name)) {
            true => End::Result(result),
            false => End::error(-32602, format!("no task {}", call.params["taskId"])),
        };
    Some(match call.method.as_str() {
        "tools/call" if call.params["task"].is_object() => End::Result(json!({ "task": begun() })),
        "tools/call" if call.is_modern && takes_tasks(call) => {
            let mut result = begun();
            result["resultType"] = json!("task");
            End::Result(result)
        }
        "tasks/get" | "tasks/cancel" => mine(task(named)),
        "tasks/update" => mine(json!({})),
        "tasks/list" => {
            let others = script.tasks.iter().map(|other| id(script, Some(other)));
            let all: Vec<_> = [id(script, None)].into_iter().chain(others).map(|id| task(&id)).collect();
            methods::list(script, call, "tasks", &all)
        }
        "tasks/result" => {
            let related = json!({ "io.modelcontextprotocol/related-task": { "taskId": named } });
            mine(json!({ "content": [], "_meta": related }))
        }
        _ => return None,
    })
}

fn id(script: &Script, task: Option<&str>) -> String {
    match task {
        Some(task) => format!("task {task} of {}", script.name),
        None => format!("task of {}", script.name),
    }
}

fn task(id: &str) -> Value {
    json!({ "taskId": id, "status": "working", "ttl": null, "createdAt": "2026-01-01T00:00:00Z" })
}

fn takes_tasks(call: &Call) -> bool {
    let capabilities = &call.params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    capabilities["extensions"][EXTENSION].is_object()
}

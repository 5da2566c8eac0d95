//! Tasks of a backend that announces them: one, which never ends, and is told under a name that only it can have given.

use serde_json::{Value, json};

use crate::call::{Call, End};
use crate::script::Script;

/// The capability of 2025-11-25, and the extension of 2026-07-28.
const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Answers what is about tasks; `None` for anything else, and where it has none.
pub(crate) fn answer(script: &Script, call: &Call) -> Option<End> {
    let capabilities = script.capabilities();
    if !capabilities["tasks"].is_object() && !capabilities["extensions"][EXTENSION].is_object() {
        return None;
    }
    let id = format!("task of {}", script.name);
    let task = json!({ "taskId": id, "status": "working", "ttl": null, "createdAt": "2026-01-01T00:00:00Z" });
    let mine = |result: Value| match call.text("taskId") == id {
        true => End::Result(result),
        false => End::error(-32602, format!("no task {}", call.params["taskId"])),
    };
    Some(match call.method.as_str() {
        "tools/call" if call.params["task"].is_object() => End::Result(json!({ "task": task })),
        "tools/call" if call.is_modern && takes_tasks(call) => {
            let mut result = task;
            result["resultType"] = json!("task");
            End::Result(result)
        }
        "tasks/get" | "tasks/cancel" => mine(task),
        "tasks/update" => mine(json!({})),
        "tasks/list" => End::Result(json!({ "tasks": [task] })),
        "tasks/result" => {
            let related = json!({ "io.modelcontextprotocol/related-task": { "taskId": id } });
            mine(json!({ "content": [], "_meta": related }))
        }
        _ => return None,
    })
}

fn takes_tasks(call: &Call) -> bool {
    let capabilities = &call.params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    capabilities["extensions"][EXTENSION].is_object()
}

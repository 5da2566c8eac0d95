//! The example servers: what each offers, and under which path and label it is registered.

use serde_json::{Value, json};
use testkit::{LegacyBackend, Tool};

use crate::data;

/// A running example server.
pub(crate) struct Example {
    /// Where it is registered.
    pub(crate) path: &'static str,
    /// Under which version.
    pub(crate) label: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// What it does.
    pub(crate) description: &'static str,
    /// Words to find it by.
    pub(crate) tags: [&'static str; 2],
    /// What answers.
    pub(crate) backend: LegacyBackend,
}

/// Starts all of them.
pub(crate) async fn start() -> Vec<Example> {
    vec![
        Example {
            path: "/context7",
            label: "v1.5.0",
            title: "Context7",
            description: "Documentation of libraries, for coding agents (example data)",
            tags: ["demo", "documentation"],
            backend: backend("context7", "1.5.0", context7()).await,
        },
        Example {
            path: "/context7",
            label: "v2.0.0",
            title: "Context7",
            description: "Documentation of libraries, with search and versions (example data)",
            tags: ["demo", "documentation"],
            backend: backend("context7", "2.0.0", context7_next()).await,
        },
        Example {
            path: "/github",
            label: "v1.0.0",
            title: "GitHub",
            description: "Search code and open pull requests (example data)",
            tags: ["demo", "code"],
            backend: backend("github", "1.4.2", github()).await,
        },
        Example {
            path: "/jira",
            label: "v1.0.0",
            title: "Jira",
            description: "Search and create issues (example data)",
            tags: ["demo", "issues"],
            backend: backend("jira", "3.0.1", jira()).await,
        },
        Example {
            path: "/slack",
            label: "v1.0.0",
            title: "Slack",
            description: "Tell the team (example data)",
            tags: ["demo", "chat"],
            backend: backend("slack", "0.9.0", slack()).await,
        },
    ]
}

async fn backend(name: &str, version: &str, tools: Vec<Tool>) -> LegacyBackend {
    let note = format!("The {name} of the demonstration. Its answers come from a small built-in table.");
    LegacyBackend::start(name).version(version).instructions(&note).tools(tools).without_history().await
}

/// Describes a tool whose arguments are all text: required ones, then optional ones.
fn tool(
    name: &str,
    description: &str,
    required: &[&str],
    optional: &[&str],
    answer: fn(&Value) -> Value,
) -> Tool {
    let arguments =
        required.iter().chain(optional).map(|name| ((*name).to_owned(), json!({ "type": "string" })));
    let properties: serde_json::Map<_, _> = arguments.collect();
    let is_reading = !["create", "send"].iter().any(|verb| name.starts_with(verb));
    Tool::new(name)
        .member("title", Value::Null)
        .member("_meta", Value::Null)
        .member("annotations", json!({ "readOnlyHint": is_reading }))
        .description(&format!("{description} (example data)"))
        .schema(json!({ "type": "object", "properties": properties, "required": required }))
        .answers(answer)
}

fn context7() -> Vec<Tool> {
    let docs = "Returns the documentation of a library";
    vec![
        tool("resolve-library-id", "Finds the id of a library", &["libraryName"], &[], data::resolve_library),
        tool("get-library-docs", docs, &["context7CompatibleLibraryID"], &["topic"], data::library_docs),
    ]
}

fn context7_next() -> Vec<Tool> {
    let mut tools = context7();
    tools.push(tool("search-docs", "Searches all documentation", &["query"], &[], data::search_docs));
    let id = &["context7CompatibleLibraryID"];
    tools.push(tool("list-versions", "Lists the versions of a library", id, &[], data::list_versions));
    tools
}

fn github() -> Vec<Tool> {
    let optional = &["head", "base"];
    vec![
        tool("search", "Searches issues and pull requests", &["query"], &["repo"], data::search_code),
        tool("create_pr", "Opens a pull request", &["repo", "title"], optional, data::create_pr),
        tool("list_repos", "Lists the repositories", &[], &[], data::list_repos),
    ]
}

fn jira() -> Vec<Tool> {
    let optional = &["description"];
    vec![
        tool("create_issue", "Creates an issue", &["project", "summary"], optional, data::create_issue),
        tool("search", "Searches issues by words", &["query"], &[], data::search_issues),
        tool(
            "search_issues",
            "Searches issues by JQL, of which it reads the words",
            &["jql"],
            &[],
            data::search_issues,
        ),
    ]
}

fn slack() -> Vec<Tool> {
    vec![
        tool("send_message", "Sends a message to a channel", &["channel", "text"], &[], data::send_message),
        tool("list_channels", "Lists the channels", &[], &[], data::list_channels),
    ]
}

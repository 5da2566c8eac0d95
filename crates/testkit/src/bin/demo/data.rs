//! The tables the example servers answer from, and how they are searched.

use serde_json::{Value, json};

/// Things on the example GitHub: repository, kind, number, title.
const CODE: [(&str, &str, u64, &str); 8] = [
    ("acme/checkout", "pull_request", 412, "Bug fixes: totals are rounded once, at the end"),
    ("acme/checkout", "issue", 407, "Bug: a coupon is applied twice after a retry"),
    ("acme/checkout", "issue", 398, "Slow checkout when the cart has more than 200 items"),
    ("acme/search", "pull_request", 118, "Bug fixes in the tokenizer for hyphenated words"),
    ("acme/search", "issue", 121, "Search ignores accents"),
    ("acme/search", "pull_request", 125, "Rank exact matches first"),
    ("acme/infra", "issue", 77, "Rotate the certificates of the gateway"),
    ("acme/infra", "pull_request", 80, "Move the build to the new runners"),
];

/// Repositories of the example GitHub: name, language, description.
const REPOSITORIES: [(&str, &str, &str); 3] = [
    ("acme/checkout", "Rust", "Carts, coupons and payments"),
    ("acme/search", "Rust", "The product search"),
    ("acme/infra", "HCL", "Machines and networks"),
];

/// Issues of the example Jira: key, type, status, summary.
const ISSUES: [(&str, &str, &str, &str); 6] = [
    ("SHOP-101", "Bug", "Open", "Coupon is applied twice after a retry"),
    ("SHOP-102", "Story", "In Progress", "As a customer I see the delivery date before I pay"),
    ("SHOP-103", "Bug", "Done", "Totals differ by a cent"),
    ("FIND-31", "Bug", "Open", "Search ignores accents"),
    ("FIND-32", "Task", "Open", "Collect bug reports of the beta"),
    ("OPS-9", "Task", "In Progress", "Rotate the certificates of the gateway"),
];

/// Channels of the example Slack: id, name, topic.
const CHANNELS: [(&str, &str, &str); 3] = [
    ("C001", "general", "Everything and nothing"),
    ("C002", "dev-tools", "What we build with"),
    ("C003", "incidents", "Something burns"),
];

/// A library of the example documentation.
struct Library {
    id: &'static str,
    name: &'static str,
    version: &'static str,
    /// Topics and what is said under each.
    pages: [(&'static str, &'static str); 2],
}

/// Libraries of the example documentation.
const LIBRARIES: [Library; 3] = [
    Library {
        id: "/tokio-rs/tokio",
        name: "tokio",
        version: "1.54",
        pages: [
            ("runtime", "A runtime drives futures. Annotate `main` with `#[tokio::main]` to start one."),
            (
                "timeouts",
                "`tokio::time::timeout(limit, future).await` gives an error when the limit passes first.",
            ),
        ],
    },
    Library {
        id: "/serde-rs/serde",
        name: "serde",
        version: "1.0",
        pages: [
            (
                "derive",
                "Derive `Serialize` and `Deserialize`; attributes such as `#[serde(default)]` tune fields.",
            ),
            (
                "borrowing",
                "`&'a str` fields borrow from the input; `Cow<'a, str>` with `#[serde(borrow)]` may.",
            ),
        ],
    },
    Library {
        id: "/facebook/react",
        name: "react",
        version: "19.2",
        pages: [
            ("hooks", "Hooks such as `useState` are called at the top of a component, never in a loop."),
            ("effects", "`useEffect` runs after rendering; return a function to clean up."),
        ],
    },
];

/// Says whether a text holds a word of the query; an empty query matches everything.
fn matches(text: &str, query: &str) -> bool {
    let text = text.to_lowercase();
    query.is_empty() || query.to_lowercase().split_whitespace().any(|word| text.contains(word))
}

/// Makes a number between 1000 and 9999 of texts: the same for the same texts, so that answers can be compared.
fn number(texts: &[&str]) -> u64 {
    1000 + texts.concat().bytes().fold(7, |sum: u64, byte| (sum * 31 + u64::from(byte)) % 9000)
}

fn text<'a>(arguments: &'a Value, key: &str) -> &'a str {
    arguments[key].as_str().unwrap_or_default()
}

fn found(items: Vec<Value>) -> Value {
    json!({ "total_count": items.len(), "items": items })
}

pub(crate) fn search_code(arguments: &Value) -> Value {
    let (query, repository) = (text(arguments, "query"), text(arguments, "repo"));
    let hits = CODE.iter().filter(|(repo, _, _, title)| {
        matches(title, query) && (repository.is_empty() || *repo == repository)
    });
    let item = |(repo, kind, number, title): &(&str, &str, u64, &str)| {
        let word = if *kind == "issue" { "issues" } else { "pull" };
        let url = format!("https://github.example/{repo}/{word}/{number}");
        json!({ "repo": repo, "type": kind, "number": number, "title": title, "url": url })
    };
    found(hits.map(item).collect())
}

pub(crate) fn create_pr(arguments: &Value) -> Value {
    let (repo, title) = (text(arguments, "repo"), text(arguments, "title"));
    let number = number(&[repo, title]);
    let url = format!("https://github.example/{repo}/pull/{number}");
    json!({ "repo": repo, "number": number, "title": title, "state": "open", "url": url })
}

pub(crate) fn list_repos(_: &Value) -> Value {
    let item = |(name, language, description): &(&str, &str, &str)| json!({ "name": name, "language": language, "description": description });
    found(REPOSITORIES.iter().map(item).collect())
}

pub(crate) fn search_issues(arguments: &Value) -> Value {
    let query = if arguments["jql"].is_string() { text(arguments, "jql") } else { text(arguments, "query") };
    let hits = ISSUES
        .iter()
        .filter(|(key, kind, status, summary)| matches(&format!("{key} {kind} {status} {summary}"), query));
    let item = |(key, kind, status, summary): &(&str, &str, &str, &str)| {
        let url = format!("https://jira.example/browse/{key}");
        json!({ "key": key, "type": kind, "status": status, "summary": summary, "url": url })
    };
    found(hits.map(item).collect())
}

pub(crate) fn create_issue(arguments: &Value) -> Value {
    let (project, summary) = (text(arguments, "project"), text(arguments, "summary"));
    let key = format!("{project}-{}", number(&[project, summary]));
    let url = format!("https://jira.example/browse/{key}");
    json!({ "key": key, "summary": summary, "status": "Open", "url": url })
}

pub(crate) fn send_message(arguments: &Value) -> Value {
    let channel = text(arguments, "channel").trim_start_matches('#');
    match CHANNELS.iter().find(|(id, name, _)| *id == channel || *name == channel) {
        None => json!({ "ok": false, "error": "channel_not_found", "channel": channel }),
        Some((id, name, _)) => {
            let stamp = format!("1796000000.{:06}", number(&[id, text(arguments, "text")]));
            json!({ "ok": true, "channel": id, "name": name, "ts": stamp, "text": text(arguments, "text") })
        }
    }
}

pub(crate) fn list_channels(_: &Value) -> Value {
    let item = |(id, name, topic): &(&str, &str, &str)| json!({ "id": id, "name": name, "topic": topic });
    found(CHANNELS.iter().map(item).collect())
}

pub(crate) fn resolve_library(arguments: &Value) -> Value {
    let hits = LIBRARIES.iter().filter(|one| matches(one.name, text(arguments, "libraryName")));
    found(hits.map(|one| json!({ "id": one.id, "name": one.name, "version": one.version })).collect())
}

pub(crate) fn library_docs(arguments: &Value) -> Value {
    let (id, topic) = (text(arguments, "context7CompatibleLibraryID"), text(arguments, "topic"));
    let pages = LIBRARIES.iter().filter(|one| one.id == id).flat_map(|one| one.pages);
    let pages: Vec<_> = pages
        .filter(|(title, body)| matches(&format!("{title} {body}"), topic))
        .map(|(title, body)| format!("## {title}\n\n{body}\n"))
        .collect();
    if pages.is_empty() {
        return json!(format!("Nothing is known of {id} under {topic:?}; resolve-library-id lists what is."));
    }
    json!(pages.join("\n"))
}

pub(crate) fn search_docs(arguments: &Value) -> Value {
    let query = text(arguments, "query");
    let pages = LIBRARIES.iter().flat_map(|one| one.pages.map(|(title, body)| (one.id, title, body)));
    let hits = pages.filter(|(_, title, body)| matches(&format!("{title} {body}"), query));
    found(hits.map(|(id, title, body)| json!({ "library": id, "topic": title, "text": body })).collect())
}

pub(crate) fn list_versions(arguments: &Value) -> Value {
    let id = text(arguments, "context7CompatibleLibraryID");
    let known = LIBRARIES.iter().filter(|one| one.id == id);
    found(known.map(|one| json!({ "version": one.version, "is_latest": true })).collect())
}

#[cfg(test)]
mod tests;

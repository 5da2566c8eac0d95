//! Composing virtual servers, and visiting what was composed.

use serde_json::{Value, json};
use testkit::{Client, LegacyBackend};

use crate::app::App;
use crate::caller::Caller;

/// The seeds' example: `/virtual/dev-tools`, composed of tools of three servers.
pub(crate) struct DevTools {
    pub(crate) app: App,
    pub(crate) github: LegacyBackend,
    pub(crate) jira: LegacyBackend,
    pub(crate) slack: LegacyBackend,
}

impl DevTools {
    /// Starts the three servers and composes the seeds' three mappings.
    pub(crate) async fn start() -> Self {
        let github = LegacyBackend::start("github").tools(["search", "create_pr", "list_repos"]).await;
        let slack = LegacyBackend::start("slack").tools(["send_message", "list_channels"]).await;
        let jira = LegacyBackend::start("jira").tools(["search", "create_issue", "search_issues"]).await;
        let app = App::start().await;
        for (path, url) in [("/github", github.url()), ("/slack", slack.url()), ("/jira", jira.url())] {
            app.serve(path, &url).await;
        }
        let rows = [
            row("search", "/github", "github_search"),
            row("search", "/jira", "jira_search"),
            row("send_message", "/slack", ""),
        ];
        app.compose("dev-tools", &rows).await;
        Self { app, github, jira, slack }
    }

    /// A client of the virtual server that has greeted it.
    pub(crate) async fn visit(&self) -> Client {
        self.app.visit("/virtual/dev-tools").await
    }
}

/// A mapping: a tool of a server, under an alias unless that is empty.
pub(crate) fn row(tool: &str, server: &str, alias: &str) -> Value {
    let mut row = json!({ "tool_name": tool, "backend_server_path": server });
    if !alias.is_empty() {
        row["alias"] = json!(alias);
    }
    row
}

/// Mappings of the same tools of several servers, under aliases like `<server>_<tool>`.
pub(crate) fn rows_of_each(servers: &[&str], tools: &[&str]) -> Vec<Value> {
    let pairs = servers.iter().flat_map(|server| tools.iter().map(move |tool| (server, tool)));
    pairs.map(|(server, tool)| row(tool, &format!("/{server}"), &format!("{server}_{tool}"))).collect()
}

impl App {
    /// Composes an enabled virtual server `/virtual/<slug>` that anybody with a token may use.
    pub(crate) async fn compose(&self, slug: &str, rows: &[Value]) -> Value {
        self.compose_with(slug, json!({ "tool_mappings": rows })).await
    }

    /// Composes an enabled virtual server with whatever else it needs.
    pub(crate) async fn compose_with(&self, slug: &str, mut body: Value) -> Value {
        body["server_name"] = json!(slug);
        body["path"] = json!(format!("/virtual/{slug}"));
        body["is_enabled"] = json!(true);
        self.admin().send("POST /api/virtual-servers", body).await.expect(201)
    }

    /// Replaces members of a virtual server.
    pub(crate) async fn recompose(&self, slug: &str, change: Value) -> Value {
        self.admin().send(&format!("PATCH /api/virtual-servers/{slug}"), change).await.expect(200)
    }

    /// Makes a version of a server the active one.
    pub(crate) async fn activate(&self, path: &str, label: &str) -> Value {
        let what = format!("PUT /api/servers{path}/versions/default");
        self.admin().send(&what, json!({ "version": label })).await.expect(200)
    }

    /// Reads a version's backend again, now.
    pub(crate) async fn refresh(&self, path: &str) {
        self.admin().send(&format!("POST /api/servers{path}/refresh"), json!({})).await.expect(200);
    }

    /// A client of an endpoint that has greeted it, as somebody with a token and no scopes.
    pub(crate) async fn visit(&self, path: &str) -> Client {
        let mut client = self.client(path, &self.reader().await);
        client.initialize().await;
        client
    }

    /// The same, of a client that can be asked.
    pub(crate) async fn visit_askable(&self, path: &str) -> Client {
        self.greeted(path, &self.reader().await).await
    }

    /// The same, of a caller of one's choice.
    pub(crate) async fn greeted(&self, path: &str, caller: &Caller) -> Client {
        let mut client = self.client(path, caller).askable();
        client.initialize().await;
        client
    }
}

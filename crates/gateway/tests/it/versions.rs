//! Versions of a server: several behind one path, one active, the others by header.

mod choice;
mod retirement;
mod seeds;
mod switches;

use serde_json::{Value, json};
use testkit::LegacyBackend;

use crate::app::App;

/// `/context7` with v1.0.0 active, and v1.5.0 and v2.0.0 beside it.
struct Context7 {
    app: App,
    /// By the label each is registered under.
    backends: [(&'static str, LegacyBackend); 3],
}

const LABELS: [&str; 3] = ["v1.0.0", "v1.5.0", "v2.0.0"];

impl Context7 {
    async fn start() -> Self {
        Self::configured("").await
    }

    async fn configured(toml: &str) -> Self {
        let app = App::configured(toml).await;
        let start = async |label: &'static str| {
            (label, LegacyBackend::start(label).tool("search").tool("slow").version("2.14.4").await)
        };
        let backends = [start(LABELS[0]).await, start(LABELS[1]).await, start(LABELS[2]).await];
        for (label, backend) in &backends {
            app.serve_version("/context7", label, &backend.url()).await;
        }
        Self { app, backends }
    }

    fn backend(&self, label: &str) -> &LegacyBackend {
        &self.backends.iter().find(|(known, _)| *known == label).unwrap().1
    }

    /// A client of somebody with a token that asks for a version with each request.
    async fn client(&self, wanted: Option<&str>) -> testkit::Client {
        let client = self.app.client("/context7", &self.app.reader().await);
        match wanted {
            Some(label) => client.header("x-mcp-server-version", label),
            None => client,
        }
    }

    /// Greets the server and calls a tool; returns the label of the backend that ran it.
    async fn answers(&self, wanted: Option<&str>) -> Value {
        let mut client = self.client(wanted).await;
        client.initialize().await;
        client.call("search", json!({})).await["structuredContent"]["backend"].take()
    }

    async fn document(&self, path: &str) -> Value {
        self.app.admin().get(&format!("/api/servers/context7{path}")).await.expect(200)
    }
}

//! Clients and backends of different eras: 2026-07-28 on one side, the sessions of before on the other.

mod both_eras;
mod late_questions;
mod legacy_clients;
mod missing_capability;
mod modern_clients;
mod modern_requests;
mod params;
mod questions_aside;
mod resource_updates;
mod subscriptions;

use testkit::{Client, LegacyBackend, ModernBackend};

use crate::app::App;
use crate::caller::Caller;
use crate::compose::rows_of_each;

const TOOLS: [&str; 8] = ["echo", "ask", "sample", "roots", "progress", "log", "slow", "big"];

/// A backend of each era at `/old` and `/new`, and both composed at `/virtual/both`.
struct Stage {
    app: App,
    caller: Caller,
    old: LegacyBackend,
    new: ModernBackend,
}

impl Stage {
    async fn start() -> Self {
        let old = LegacyBackend::start("old").tools(TOOLS).prompt("review").resource("file:///old");
        let old = old.version("1.4.0").instructions("Old rules.").await;
        let new = ModernBackend::start("new").tools(TOOLS).prompt("plan").resource("file:///new");
        let new = new.version("2.4.0").instructions("New rules.").await;
        let app = App::start().await;
        app.serve("/old", &old.url()).await;
        app.serve("/new", &new.url()).await;
        app.compose("both", &rows_of_each(&["old", "new"], &TOOLS)).await;
        let caller = app.reader().await;
        Self { app, caller, old, new }
    }

    /// A client of revision 2026-07-28.
    fn modern(&self, path: &str) -> Client {
        self.app.modern(path, &self.caller)
    }

    /// A client of the revisions before, which has greeted.
    async fn legacy(&self, path: &str) -> Client {
        self.app.greeted(path, &self.caller).await
    }
}

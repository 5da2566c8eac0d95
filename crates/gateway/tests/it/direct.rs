//! A server path: the backend gets the client's message as it is, and the client the backend's answer.

mod failures;
mod messages;
mod requests;
mod sessions;

use testkit::{Client, LegacyBackend};

use crate::app::App;

/// A backend registered at `/a`, and a client that has greeted it.
struct Stage {
    app: App,
    backend: LegacyBackend,
    client: Client,
}

impl Stage {
    async fn start(tools: &[&str]) -> Self {
        Self::of(LegacyBackend::start("a").tools(tools.iter().copied()).await).await
    }

    async fn of(backend: LegacyBackend) -> Self {
        let app = App::start().await;
        app.serve("/a", &backend.url()).await;
        let client = app.visit("/a").await;
        backend.forget_history();
        Self { app, backend, client }
    }
}

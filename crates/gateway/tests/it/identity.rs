//! Identity providers: whose tokens open what. The provider is a real one, of the peers.

mod browser;
mod flows;
mod keys;
mod links;
pub(crate) mod provider;
mod sign_in;
mod tokens;

use serde_json::{Value, json};
use testkit::{Client, LegacyBackend};

use crate::app::App;
use crate::caller::Caller;
use crate::compose::row;
use provider::Provider;

/// A gateway that trusts a provider. `/virtual/dev-tools` wants `mcp-access`, which members of `developers` have, and
/// `create_pr` of it `github-write`, too.
struct Stage {
    provider: Provider,
    app: App,
    github: LegacyBackend,
}

impl Stage {
    async fn set() -> Option<Self> {
        Self::configured("").await
    }

    /// `more`: lines of the provider's configuration.
    async fn configured(more: &str) -> Option<Self> {
        let provider = Provider::start().await?;
        let toml = format!(
            "[[auth.providers]]\nissuer = \"{}\"\nkeys_refetch_every = \"1s\"\n{more}",
            provider.issuer
        );
        Some(Self::between(provider, &toml).await)
    }

    async fn between(provider: Provider, toml: &str) -> Self {
        let github = LegacyBackend::start("github").tools(["search", "create_pr"]).await;
        let app = App::configured(toml).await;
        app.serve("/github", &github.url()).await;
        let guarded = json!({
            "tool_mappings": [row("search", "/github", ""), row("create_pr", "/github", "")],
            "required_scopes": ["mcp-access"],
            "tool_scope_overrides": [{ "tool_alias": "create_pr", "required_scopes": ["github-write"] }],
        });
        app.compose_with("dev-tools", guarded).await;
        let group = json!({ "name": "developers", "scopes": ["mcp-access"] });
        app.admin().send("POST /api/groups", group).await.expect(201);
        Self { provider, app, github }
    }

    /// The URL of an endpoint, which is also the audience of tokens for it.
    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.app.url)
    }

    /// A token for `/virtual/dev-tools`.
    async fn token(&self) -> String {
        self.provider.token(&self.at("/virtual/dev-tools"), "").await
    }

    fn client(&self, path: &str, token: &str) -> Client {
        self.app.client(path, &Caller::new(self.app.authority(), Some(token)))
    }

    /// What the gateway says to a greeting with this token.
    async fn status(&self, path: &str, token: &str) -> u16 {
        self.client(path, token).try_initialize().await.status.as_u16()
    }

    async fn check(&self, token: &str, expected: u16, what: &str) {
        assert_eq!(self.status("/virtual/dev-tools", token).await, expected, "{what}: {token}");
    }
}

/// The parts of a signed token, unchecked.
fn parts(token: &str) -> (Value, Value, String) {
    let mut parts = token.split('.');
    let mut json = || serde_json::from_slice(&decoded(parts.next().unwrap())).unwrap();
    (json(), json(), parts.next().unwrap().into())
}

fn decoded(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap()
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

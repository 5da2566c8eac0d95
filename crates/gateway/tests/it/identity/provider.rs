//! The provider of the peers as a test uses it.

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use testkit::client::Connection;

use crate::caller::Caller;
use crate::peers::peers_with;
use crate::peers::program::{self, Started};

/// A running provider. It is gone when this is dropped.
pub(crate) struct Provider {
    pub(crate) issuer: String,
    authority: String,
    _process: Started,
}

impl Provider {
    pub(crate) async fn start() -> Option<Self> {
        let folder = peers_with(&["node_modules/oidc-provider"])?;
        let (process, authority) = tokio::task::spawn_blocking(move || {
            Started::listening(program::command(&folder, "node", &["oidc_provider.mjs"]))
        })
        .await
        .unwrap();
        Some(Self { issuer: format!("http://{authority}"), authority, _process: process })
    }

    /// Has it behave otherwise from now on.
    pub(super) async fn set(&self, what: Value) {
        Caller::new(&self.authority, None).send("POST /test", what).await.expect(200);
    }

    /// Fetches a token for a resource, as a program does that calls for itself.
    pub(super) async fn token(&self, resource: &str, scope: &str) -> String {
        let form =
            format!("grant_type=client_credentials&resource={resource}&scope={}", scope.replace(' ', "+"));
        let answer = self.post("/token", form).await;
        answer["access_token"].as_str().unwrap_or_else(|| panic!("no token in {answer}")).to_owned()
    }

    /// Revokes a token.
    pub(super) async fn revoke(&self, token: &str) {
        self.post("/token/revocation", format!("token={token}")).await;
    }

    async fn post(&self, path: &str, form: String) -> Value {
        let request = Request::post(path)
            .header("content-type", "application/x-www-form-urlencoded")
            // robot:robot-secret
            .header("authorization", "Basic cm9ib3Q6cm9ib3Qtc2VjcmV0")
            .body(Bytes::from(form))
            .unwrap();
        let answer = Connection::open(&self.authority).await.unwrap().send(request).await.unwrap();
        serde_json::from_str(&answer.text().await).unwrap_or_default()
    }
}

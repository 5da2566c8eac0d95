//! How a version's requests get their tokens, as it is kept.

use catalog::authorization::{Authorization, Flow};
use catalog::endpoint::Secret;
use catalog::name::ServerPath;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{Sealer, Unreadable};

/// An authorization, its client's name and secret sealed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AuthorizationRecord {
    flow: String,
    #[serde(default)]
    issuer: Option<String>,
    #[serde(default)]
    token_url: Option<String>,
    #[serde(default)]
    authorization_url: Option<String>,
    sealed_client_id: String,
    #[serde(default)]
    sealed_client_secret: Option<String>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    resource: Option<String>,
    #[serde(default)]
    audience: Option<String>,
}

impl AuthorizationRecord {
    pub(super) fn of(authorization: &Authorization, sealer: &dyn Sealer) -> Self {
        let text = |url: &Option<Url>| url.as_ref().map(Url::to_string);
        let secret = authorization.client_secret.as_ref();
        Self {
            flow: authorization.flow.as_str().into(),
            issuer: text(&authorization.issuer),
            token_url: text(&authorization.token_url),
            authorization_url: text(&authorization.authorization_url),
            sealed_client_id: sealer.seal(authorization.client_id.reveal()),
            sealed_client_secret: secret.map(|secret| sealer.seal(secret.reveal())),
            scope: authorization.scope.clone(),
            resource: authorization.resource.clone(),
            audience: authorization.audience.clone(),
        }
    }

    /// Seals anew what was sealed with an older key; says whether there was any.
    pub(super) fn reseal(&mut self, sealer: &dyn Sealer) -> bool {
        let mut is_changed = super::reseal(&mut self.sealed_client_id, sealer);
        if let Some(sealed) = &mut self.sealed_client_secret {
            is_changed |= super::reseal(sealed, sealer);
        }
        is_changed
    }

    pub(super) fn into_authorization(
        self,
        server: &str,
        sealer: &dyn Sealer,
    ) -> Result<Authorization, Unreadable> {
        let url = |field: &str, text: Option<String>| {
            let url = text.map(|text| Url::parse(&text));
            url.transpose().map_err(|error| Unreadable(format!("its {field}: {error}")))
        };
        let open = |field: &str, sealed: &str| {
            let key = || Unreadable(format!("its {field} was sealed under another key than the one in use"));
            sealer.open(sealed).map(Secret::new).ok_or_else(key)
        };
        let secret = self.sealed_client_secret.map(|sealed| open("client_secret", &sealed)).transpose()?;
        Ok(Authorization {
            flow: Flow::parse(&self.flow)
                .ok_or_else(|| Unreadable(format!("its flow {:?} is unknown", self.flow)))?,
            server: ServerPath::parse("path", server)?,
            issuer: url("issuer", self.issuer)?,
            token_url: url("token_url", self.token_url)?,
            authorization_url: url("authorization_url", self.authorization_url)?,
            client_id: open("client_id", &self.sealed_client_id)?,
            client_secret: secret,
            scope: self.scope,
            resource: self.resource,
            audience: self.audience,
        })
    }
}

#[cfg(test)]
mod tests;

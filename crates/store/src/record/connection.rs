//! What a user allowed at a server, its tokens sealed.

use catalog::connection::{Connection, ConnectionKey, User};
use catalog::endpoint::Secret;
use catalog::name::ServerPath;
use serde::{Deserialize, Serialize};

use super::moment::Moment;
use super::{Sealer, Unreadable};

/// A connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectionRecord {
    id: String,
    server: String,
    issuer: String,
    subject: String,
    place: String,
    token_url: String,
    #[serde(default)]
    scope: String,
    sealed_access_token: String,
    #[serde(default)]
    sealed_refresh_token: Option<String>,
    expires_at: Moment,
    created_at: Moment,
    updated_at: Moment,
}

impl ConnectionRecord {
    /// Takes down a connection.
    pub fn of(connection: &Connection, sealer: &dyn Sealer) -> Self {
        let ConnectionKey { server, user } = &connection.key;
        let refresh_token = connection.refresh_token.as_ref();
        Self {
            id: connection.id.to_string(),
            server: server.to_string(),
            issuer: user.issuer.to_string(),
            subject: user.subject.to_string(),
            place: connection.place.clone(),
            token_url: connection.token_url.clone(),
            scope: connection.scope.clone(),
            sealed_access_token: sealer.seal(connection.access_token.reveal()),
            sealed_refresh_token: refresh_token.map(|token| sealer.seal(token.reveal())),
            expires_at: Moment(connection.expires_at),
            created_at: Moment(connection.created_at),
            updated_at: Moment(connection.updated_at),
        }
    }

    /// Reads it back.
    pub fn into_connection(self, sealer: &dyn Sealer) -> Result<Connection, Unreadable> {
        let open = |sealed: &str| {
            let key = || Unreadable("it was sealed under another key than the one in use".into());
            sealer.open(sealed).map(Secret::new).ok_or_else(key)
        };
        let user = User { issuer: self.issuer.into(), subject: self.subject.into() };
        Ok(Connection {
            key: ConnectionKey { server: ServerPath::parse("server", &self.server)?, user },
            id: self.id.into(),
            place: self.place,
            token_url: self.token_url,
            scope: self.scope,
            access_token: open(&self.sealed_access_token)?,
            expires_at: self.expires_at.0,
            refresh_token: self.sealed_refresh_token.as_deref().map(open).transpose()?,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
        })
    }

    /// Seals anew what was sealed with an older key; says whether there was any.
    pub(crate) fn reseal(&mut self, sealer: &dyn Sealer) -> bool {
        let mut is_changed = super::reseal(&mut self.sealed_access_token, sealer);
        if let Some(sealed) = &mut self.sealed_refresh_token {
            is_changed |= super::reseal(sealed, sealer);
        }
        is_changed
    }
}

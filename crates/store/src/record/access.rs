//! Groups and issued tokens as they are stored.

use catalog::access::Group;
use catalog::time::Timestamp;
use catalog::token::IssuedToken;
use serde::{Deserialize, Serialize};

use super::moment::Moment;
use super::{Unreadable, scopes_in, scopes_out};

/// The last second of the year 9999, which every calendar can write.
const END_OF_TIME: Timestamp = Timestamp(253_402_300_799_000);

/// A group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupRecord {
    name: String,
    #[serde(default)]
    description: String,
    scopes: Vec<String>,
    revision: u64,
}

/// What a token we issued may do; never the token itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TokenRecord {
    id: String,
    subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject_issuer: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    is_admin: bool,
    #[serde(default)]
    resource: Option<String>,
    #[serde(default)]
    created_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_with: Option<String>,
    created_at: Moment,
    expires_at: Moment,
    #[serde(default)]
    revoked_at: Option<Moment>,
}

impl GroupRecord {
    /// Takes down a group.
    pub fn of(group: &Group) -> Self {
        Self {
            name: group.name.clone(),
            description: group.description.clone(),
            scopes: scopes_out(&group.scopes),
            revision: group.revision,
        }
    }

    /// Reads it back.
    pub fn into_group(self) -> Result<Group, Unreadable> {
        let scopes = scopes_in("scopes", self.scopes)?;
        Ok(Group { name: self.name, description: self.description, scopes, revision: self.revision })
    }
}

impl TokenRecord {
    /// Takes down a token's record.
    pub fn of(token: &IssuedToken) -> Self {
        Self {
            id: token.id.to_string(),
            subject: token.subject.clone(),
            subject_issuer: token.subject_issuer.clone(),
            description: token.description.clone(),
            groups: token.groups.clone(),
            scopes: scopes_out(&token.scopes),
            is_admin: token.is_admin,
            resource: token.resource.clone(),
            created_by: token.created_by.clone(),
            made_with: token.made_with.as_deref().map(Into::into),
            created_at: Moment(token.created_at),
            expires_at: Moment(token.expires_at),
            revoked_at: Moment::maybe(token.revoked_at),
        }
    }

    /// Stands in for a record that cannot be read: whether that token was revoked nobody knows, so it counts as
    /// revoked, and as one that never ends, so that nobody sweeps it away.
    pub fn stand_in(id: &str, reason: &Unreadable) -> IssuedToken {
        IssuedToken {
            id: id.into(),
            subject: "(unreadable)".into(),
            description: format!("the record of this token cannot be read, so it is refused: {reason}"),
            groups: Vec::new(),
            scopes: Vec::new(),
            is_admin: false,
            resource: None,
            subject_issuer: None,
            created_by: String::new(),
            made_with: None,
            created_at: Timestamp::default(),
            expires_at: END_OF_TIME,
            revoked_at: Some(Timestamp::default()),
        }
    }

    /// Reads it back.
    pub fn into_token(self) -> Result<IssuedToken, Unreadable> {
        Ok(IssuedToken {
            id: self.id.into(),
            subject: self.subject,
            description: self.description,
            groups: self.groups,
            scopes: scopes_in("scopes", self.scopes)?,
            is_admin: self.is_admin,
            resource: self.resource,
            subject_issuer: self.subject_issuer,
            created_by: self.created_by,
            made_with: self.made_with.map(Into::into),
            created_at: self.created_at.0,
            expires_at: self.expires_at.0,
            revoked_at: self.revoked_at.map(|moment| moment.0),
        })
    }
}

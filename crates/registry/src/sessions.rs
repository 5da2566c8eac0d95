//! Browser sessions: each has a record beside those of tokens, so that it ends on every node when the record does.

use std::sync::Arc;

use auth::cookie::Session;
use auth::link;
use catalog::Catalog;
use catalog::access::Principal;
use catalog::error::Refusal;
use catalog::time::Timestamp;
use catalog::token::IssuedToken;
use store::change::{Change, Edit};

use crate::Registry;
use crate::api::tokens::own;
use crate::apply::Error;
use crate::trail::Trail;

/// Most sessions of one person; the oldest ends when there is one more.
const MAX_OF_ONE: usize = 20;
/// What the ids of sessions begin with; those of tokens never do.
const PREFIX: &str = "session-";
/// Who has sessions and links made that no provider vouches for.
const OURSELVES: &str = "switchyard";
/// Life of a link that signs in once.
pub(crate) const LINK_SECONDS: i64 = 3600;

/// A session that is good now.
pub(crate) struct Open {
    /// What the cookie says.
    pub(crate) session: Session,
    /// Whom it stands for.
    pub(crate) principal: Arc<Principal>,
}

/// A session that was just begun.
pub(crate) struct Begun {
    /// Its cookie.
    pub(crate) cookie: String,
    /// How long it lasts.
    pub(crate) seconds: i64,
}

impl Registry {
    /// Begins a session of somebody who showed who they are. It ends with what they showed, at the latest.
    pub(crate) async fn begin_session(
        self: &Arc<Self>,
        person: &Principal,
        trail: &Trail,
    ) -> Result<Begun, Error> {
        trail.actor(&person.subject);
        self.apply_for(trail, |catalog| Ok(self.beginning(catalog, person, Vec::new()))).await
    }

    /// Begins a session with a link, which is used up in the same change. Fails where it is none, or none any more.
    pub(crate) async fn redeem_link(self: &Arc<Self>, secret: &str, trail: &Trail) -> Result<Begun, Error> {
        let id = link::id_of(secret);
        self.apply_for(trail, |catalog| {
            let no_such = || Refusal::NoSuch { kind: "link", name: "it".into(), known: Vec::new() };
            let record = catalog.tokens.get(&id).filter(|record| record.is_live(Timestamp::now()));
            let record = record.ok_or_else(no_such)?;
            let person = Principal {
                subject: record.subject.as_str().into(),
                is_admin: record.is_admin,
                ..Principal::anonymous()
            };
            trail.actor(&person.subject);
            Ok(self.beginning(catalog, &person, vec![Edit::DeleteToken(id.clone())]))
        })
        .await
    }

    /// Makes a link that signs an administrator in once, within the hour. Returns its secret, of which only a hash is kept.
    pub async fn make_admin_link(self: &Arc<Self>) -> Result<String, Error> {
        let (secret, now) = (link::new_secret(), Timestamp::now());
        let record = IssuedToken {
            id: link::id_of(&secret),
            subject: "admin".into(),
            subject_issuer: None,
            description: "link that signs in once".into(),
            groups: Vec::new(),
            scopes: Vec::new(),
            is_admin: true,
            resource: None,
            created_by: OURSELVES.into(),
            made_with: None,
            created_at: now,
            expires_at: now.plus_seconds(LINK_SECONDS),
            revoked_at: None,
        };
        self.apply(|_| Ok((Change::new(vec![Edit::PutToken(Arc::new(record))]), ()))).await?;
        Ok(secret)
    }

    /// Returns the session of a cookie, if it is one and its record is there and live.
    pub(crate) fn session(&self, cookie: &str, now: Timestamp) -> Option<Open> {
        let session = self.parts.cookies.open_session(cookie)?;
        let catalog = self.catalog();
        let record = catalog.tokens.get(&session.id).filter(|record| record.is_live(now))?;
        let is_ours = session.issuer.is_empty();
        let principal = Principal {
            subject: record.subject.as_str().into(),
            issuer: session.issuer.as_str().into(),
            groups: record.groups.clone(),
            scopes: record.scopes.clone(),
            is_admin: record.is_admin,
            token: session.token.clone().or_else(|| is_ours.then(|| session.id.clone())),
            expires_at: Some(record.expires_at),
            ..Principal::anonymous()
        };
        Some(Open { session, principal: Arc::new(principal) })
    }

    /// Ends a session, and with it the tokens that were made in it, for the next request already.
    pub(crate) async fn end_session(self: &Arc<Self>, open: &Open, trail: &Trail) -> Result<(), Error> {
        trail.actor(&open.principal.subject);
        let id = &open.session.id;
        self.apply_for(trail, |catalog| {
            let record = catalog.tokens.get(id).into_iter();
            Ok((Change::new(record.flat_map(|record| ending(catalog, record)).collect()), ()))
        })
        .await
    }

    fn beginning(&self, catalog: &Catalog, person: &Principal, also: Vec<Edit>) -> (Change, Begun) {
        let session = Session::new(&person.issuer, person.token.clone());
        let now = Timestamp::now();
        let life = i64::try_from(self.parts.settings.session_life.as_secs()).unwrap_or(i64::MAX);
        let end = now.plus_seconds(life);
        let expires_at = person.expires_at.map_or(end, |theirs| theirs.min(end));
        let record = IssuedToken {
            id: session.id.clone(),
            subject: person.subject.to_string(),
            subject_issuer: Some(person.issuer.to_string()).filter(|issuer| !issuer.is_empty()),
            description: "browser session".into(),
            groups: person.groups.clone(),
            scopes: person.scopes.clone(),
            is_admin: person.is_admin,
            resource: None,
            created_by: if person.issuer.is_empty() { OURSELVES.into() } else { person.issuer.to_string() },
            made_with: person.token.clone(),
            created_at: now,
            expires_at,
            revoked_at: None,
        };
        let superfluous = superfluous(catalog, &record).into_iter().flat_map(|one| ending(catalog, one));
        let seconds = (expires_at.as_seconds() - now.as_seconds()).max(0);
        let begun = Begun { cookie: self.parts.cookies.seal_session(&session), seconds };
        let edits = std::iter::once(Edit::PutToken(Arc::new(record))).chain(also).chain(superfluous);
        (Change::new(edits.collect()), begun)
    }
}

/// Returns the sessions of a person that must end so that a new one has room.
fn superfluous<'a>(catalog: &'a Catalog, new: &IssuedToken) -> Vec<&'a Arc<IssuedToken>> {
    let is_theirs = |one: &&Arc<IssuedToken>| {
        one.id.starts_with(PREFIX)
            && (&one.subject, &one.subject_issuer) == (&new.subject, &new.subject_issuer)
            && one.is_live(new.created_at)
    };
    let mut theirs: Vec<_> = catalog.tokens.values().filter(is_theirs).collect();
    theirs.sort_by_key(|one| std::cmp::Reverse(one.created_at));
    theirs.into_iter().skip(MAX_OF_ONE - 1).collect()
}

/// Says what ends a session and all that was made with it.
fn ending<'a>(catalog: &'a Catalog, record: &'a Arc<IssuedToken>) -> impl Iterator<Item = Edit> + 'a {
    let now = Timestamp::now();
    own::with_those_made_with(catalog, record).into_iter().map(move |one| {
        Edit::PutToken(Arc::new(IssuedToken { revoked_at: Some(now), ..IssuedToken::clone(one) }))
    })
}

#[cfg(test)]
mod tests;

//! Reading what a backend offers: all pages of all its lists.

use std::collections::HashSet;

use bytes::Bytes;
use catalog::endpoint::{Endpoint, Era, Eras};
use catalog::inventory::{Inventory, Item, Reported};
use catalog::time::Timestamp;
use mcp::era::Revision;
use mcp::error::code;
use mcp::list::{self, ListKind};
use mcp::message::{member, text};

use crate::ask::Dress;
use crate::error::Error;
use crate::handshake::{Discovery, Greeting, Learnt, says_nothing};
use crate::pool::Backends;

/// Most pages of one list. Real backends give 50 to 1000 items a page.
const MAX_PAGES: usize = 1000;

/// Most items of one list; more than any client could show to a model.
const MAX_ITEMS: usize = 20_000;

/// Most bytes of one list, all pages together. They are kept in memory.
const MAX_LIST_BYTES: usize = 32 * 1024 * 1024;

impl Backends {
    /// Reads what a backend offers in each era it speaks: greets it as [`Backends::learn`] does, reads the lists its
    /// capabilities name, and ends its session. `reported` holds only the version the backend says it is now.
    ///
    /// Fails as a whole where the backend or its tools cannot be read. A list other than tools that is answered
    /// with an error counts as empty. Of a backend that seemed to speak both eras and whose tools can be read in one
    /// alone, that one counts.
    pub async fn inventory(
        &self,
        endpoint: &Endpoint,
        known: Option<Eras>,
        now: Timestamp,
    ) -> Result<Inventory, Error> {
        match self.learn(endpoint, known).await? {
            Learnt::Modern(discovery) => self.modern(endpoint, discovery, now).await,
            Learnt::Legacy(greeting) => self.legacy(endpoint, greeting, now).await,
            Learnt::Both(discovery, greeting) => {
                let modern = self.modern(endpoint, discovery, now).await;
                // Also where that failed: the session is to be ended.
                let legacy = self.legacy(endpoint, greeting, now).await;
                match (modern, legacy) {
                    (Ok(modern), Ok(legacy)) => Ok(Inventory::of_both(modern, legacy)),
                    (Ok(only), Err(error)) | (Err(error), Ok(only)) if !says_nothing(&error) => {
                        tracing::warn!(%error, era = only.era.as_str(), "only one era of a backend can be read");
                        Ok(only)
                    }
                    (Err(error), _) | (_, Err(error)) => Err(error),
                }
            }
        }
    }

    /// Reads the tools of a backend without sessions, all pages.
    pub async fn tools(&self, endpoint: &Endpoint) -> Result<Vec<Item>, Error> {
        self.list(endpoint, Dress::Modern, ListKind::Tools).await
    }

    async fn modern(
        &self,
        endpoint: &Endpoint,
        discovery: Discovery,
        now: Timestamp,
    ) -> Result<Inventory, Error> {
        let mut empty = Inventory {
            server_info: discovery.server_info,
            capabilities: discovery.capabilities,
            instructions: discovery.instructions,
            reported: Reported { version: discovery.reported_version, previous: None, changed_at: None },
            ..Inventory::empty(Era::Modern, discovery.revision.as_str(), now)
        };
        self.fill(endpoint, Dress::Modern, &mut empty).await?;
        Ok(empty)
    }

    /// Reads in the session that the greeting opened, and ends it.
    async fn legacy(
        &self,
        endpoint: &Endpoint,
        greeting: Greeting,
        now: Timestamp,
    ) -> Result<Inventory, Error> {
        let endpoint = &greeting.met_at(endpoint);
        let mut empty = Inventory {
            server_info: greeting.server_info,
            capabilities: greeting.capabilities,
            instructions: greeting.instructions,
            reported: Reported { version: greeting.reported_version, previous: None, changed_at: None },
            has_event_stream: greeting.has_event_stream,
            ..Inventory::empty(Era::Legacy, greeting.revision.as_str(), now)
        };
        let session = greeting.session.as_deref();
        let dress = Dress::Session { revision: greeting.revision, id: session };
        let filled = self.fill(endpoint, dress, &mut empty).await;
        self.leave(endpoint, session, greeting.revision).await;
        filled.map(|()| empty)
    }

    /// Ends a session whose end matters only to the backend.
    async fn leave(&self, endpoint: &Endpoint, session: Option<&str>, revision: Revision) {
        let Some(session) = session else { return };
        if let Err(error) = self.end_session(endpoint, session, revision).await {
            tracing::debug!(%error, "a backend's session was not ended");
        }
    }

    /// Reads the lists that the capabilities name.
    async fn fill(
        &self,
        endpoint: &Endpoint,
        dress: Dress<'_>,
        inventory: &mut Inventory,
    ) -> Result<(), Error> {
        for kind in ListKind::ALL {
            let capability = match kind {
                ListKind::Tools => "tools",
                ListKind::Prompts => "prompts",
                ListKind::Resources | ListKind::Templates => "resources",
            };
            if member(inventory.capabilities.as_bytes(), capability).is_none() {
                continue;
            }
            let items = match self.list(endpoint, dress, kind).await {
                Err(Error::Rpc { code, .. }) if code == i64::from(code::METHOD_NOT_FOUND) => continue,
                Err(Error::Rpc { code, message }) if kind != ListKind::Tools => {
                    tracing::warn!(list = kind.member(), code, message, "a backend refused one of its lists");
                    continue;
                }
                items => items?,
            };
            match kind {
                ListKind::Tools => inventory.tools = items,
                ListKind::Prompts => inventory.prompts = items,
                ListKind::Resources => inventory.resources = items,
                ListKind::Templates => inventory.templates = items,
            }
        }
        Ok(())
    }

    /// Reads all pages of one list.
    async fn list(&self, endpoint: &Endpoint, dress: Dress<'_>, kind: ListKind) -> Result<Vec<Item>, Error> {
        let mut pages = Pages::new(kind);
        let mut cursor: Option<Bytes> = None;
        // The handshake had id 1.
        for id in 2..2 + MAX_PAGES as u32 {
            let params = match &cursor {
                Some(cursor) => format!("\"cursor\":{}", String::from_utf8_lossy(cursor)),
                None => String::new(),
            };
            let answer = self.ask(endpoint, dress, id, kind.method(), &params).await?;
            match pages.add(&answer.into_result()?)? {
                Some(next) => cursor = Some(next),
                None => return Ok(pages.items),
            }
        }
        Err(Error::TooLarge { what: format!("{} has more than {MAX_PAGES} pages", kind.method().as_str()) })
    }
}

/// The pages of one list as far as they were read.
struct Pages {
    kind: ListKind,
    items: Vec<Item>,
    names: HashSet<Box<str>>,
    cursors: HashSet<Bytes>,
    bytes: usize,
}

impl Pages {
    fn new(kind: ListKind) -> Self {
        Self { kind, items: Vec::new(), names: HashSet::new(), cursors: HashSet::new(), bytes: 0 }
    }

    /// Takes a page in. Returns the raw cursor of the next.
    fn add(&mut self, result: &Bytes) -> Result<Option<Bytes>, Error> {
        let method = self.kind.method().as_str();
        let page = list::read(result, self.kind).ok_or_else(|| {
            Error::not_mcp(format!("{method} was answered without a list of {}", self.kind.member()))
        })?;
        self.bytes += result.len();
        if self.bytes > MAX_LIST_BYTES || self.items.len() + page.items.len() > MAX_ITEMS {
            let what = format!("{method} has more than {MAX_ITEMS} items or {MAX_LIST_BYTES} bytes");
            return Err(Error::TooLarge { what });
        }
        for entry in &page.items {
            // Items without a name cannot be called, and of two with one name only the first can.
            let Some(name) = entry.key.and_then(|key| text(key.of(result))) else { continue };
            let Ok(json) = std::str::from_utf8(entry.json.of(result)) else { continue };
            if self.names.insert(name.as_ref().into()) {
                self.items.push(Item { name: name.as_ref().into(), json: json.into() });
            }
        }
        let Some(next) = page.next_cursor else {
            // Taking it for the end would leave the rest of the list out unseen.
            return match member(result, "nextCursor").map(|cursor| cursor.of(result)) {
                None | Some(b"null") => Ok(None),
                Some(_) => Err(Error::not_mcp(format!("{method} names a next page that is no string"))),
            };
        };
        // An empty cursor would ask for the first page again.
        if next.of(result) == b"\"\"" {
            return Ok(None);
        }
        // Kept by itself, so that the page can go.
        let next = Bytes::copy_from_slice(next.of(result));
        if !self.cursors.insert(next.clone()) {
            return Err(Error::not_mcp(format!("{method} names the same next page twice")));
        }
        Ok(Some(next))
    }
}

#[cfg(test)]
mod tests;

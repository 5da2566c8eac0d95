//! What is kept of each server, tool and virtual server to find it by, and how that follows the catalog.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use catalog::inventory::{Inventory, Item};
use catalog::name::{ServerPath, Slug};
use catalog::server::Server;
use catalog::virtual_server::VirtualServer;
use catalog::{Catalog, VersionKey};
use serde::Deserialize;

use crate::document::{Builder, DESCRIPTION, NAME, PATH, PURPOSE, Posting, TAGS, TOOLS};
use crate::meaning::{self, Meaning, Meanings};
use crate::memory::{Digest, Memory};
use crate::text;
use crate::vocabulary::Vocabulary;

/// Everything that can be found.
#[derive(Default)]
pub(crate) struct Entries {
    /// By path.
    pub(crate) servers: Vec<Arc<ServerEntry>>,
    /// By slug.
    pub(crate) virtual_servers: Vec<Arc<VirtualEntry>>,
    sources: Option<Sources>,
}

/// The sections of the catalog that entries were made of.
struct Sources {
    servers: Arc<BTreeMap<ServerPath, Arc<Server>>>,
    inventories: Arc<HashMap<VersionKey, Arc<Inventory>>>,
    virtual_servers: Arc<BTreeMap<Slug, Arc<VirtualServer>>>,
}

/// An enabled server by its active version.
pub(crate) struct ServerEntry {
    pub(crate) server: Arc<Server>,
    pub(crate) inventory: Option<Arc<Inventory>>,
    pub(crate) names: Names,
    /// Path and name.
    pub(crate) title: Vec<Posting>,
    /// Everything, tools as well.
    pub(crate) whole: Vec<Posting>,
    pub(crate) tools: Box<[ToolEntry]>,
    pub(crate) meaning: Meaning,
    pub(crate) tool_meanings: Meanings,
    /// The words of all tools, one tool behind the other: what is read together lies together.
    tool_words: Vec<Posting>,
}

/// A tool of an active version.
pub(crate) struct ToolEntry {
    pub(crate) name: Box<str>,
    pub(crate) description: Box<str>,
    /// Where its words lie among those of all tools of its server.
    words: Range<usize>,
}

/// An enabled virtual server.
pub(crate) struct VirtualEntry {
    pub(crate) source: Arc<VirtualServer>,
    pub(crate) names: Names,
    pub(crate) document: Vec<Posting>,
    pub(crate) meaning: Meaning,
}

/// What a query may be equal to, and the tags it may be filtered by; all in lower case.
pub(crate) struct Names {
    pub(crate) exact: [String; 3],
    pub(crate) keys: [String; 2],
    pub(crate) tags: Vec<String>,
}

impl Entries {
    /// Says whether these are the entries of exactly this catalog.
    pub(crate) fn are_of(&self, catalog: &Catalog) -> bool {
        self.sources.as_ref().is_some_and(|sources| {
            Arc::ptr_eq(&sources.servers, &catalog.servers)
                && Arc::ptr_eq(&sources.inventories, &catalog.inventories)
                && Arc::ptr_eq(&sources.virtual_servers, &catalog.virtual_servers)
        })
    }

    /// Gives entries the vectors that are known by now.
    pub(crate) fn settle(&self, memory: &Memory) {
        for entry in &self.servers {
            entry.meaning.settle(memory);
            entry.tool_meanings.settle(memory);
        }
        self.virtual_servers.iter().for_each(|entry| entry.meaning.settle(memory));
    }

    /// Hands out texts whose vectors are wanted, servers first, until `take` has enough and returns false.
    pub(crate) fn wanted(&self, memory: &Memory, mut take: impl FnMut(Digest, String) -> bool) {
        let own = self.servers.iter().map(|entry| (&entry.meaning, || meaning::of_server(&entry.server)));
        for (meaning, text) in own {
            if memory.is_wanted(meaning.digest) && !take(meaning.digest, text()) {
                return;
            }
        }
        for entry in &self.virtual_servers {
            let digest = entry.meaning.digest;
            if memory.is_wanted(digest) && !take(digest, meaning::of_virtual_server(&entry.source)) {
                return;
            }
        }
        for entry in &self.servers {
            for (digest, tool) in entry.tool_meanings.digests.iter().zip(&entry.tools) {
                if memory.is_wanted(*digest)
                    && !take(*digest, meaning::of_tool(&tool.name, &tool.description))
                {
                    return;
                }
            }
        }
    }

    /// Says whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.virtual_servers.is_empty()
    }

    /// Returns the entries of a catalog; those of unchanged sources are shared.
    pub(crate) fn followed(&self, catalog: &Catalog, vocabulary: &RwLock<Vocabulary>) -> Self {
        let mut old = self.servers.iter().peekable();
        let enabled = catalog.servers.values().filter(|server| server.is_enabled);
        let servers = enabled.map(|server| {
            while old.next_if(|one| one.server.path < server.path).is_some() {}
            let inventory = catalog.inventory(&server.path, &server.active().label);
            match old.next_if(|one| one.is_of(server, inventory)) {
                Some(kept) => kept.clone(),
                None => Arc::new(ServerEntry::make(server, inventory, vocabulary)),
            }
        });
        let servers = servers.collect();
        let mut old = self.virtual_servers.iter().peekable();
        let enabled = catalog.virtual_servers.values().filter(|one| one.is_enabled);
        let virtual_servers = enabled.map(|source| {
            while old.next_if(|one| one.source.slug < source.slug).is_some() {}
            match old.next_if(|one| is_same(&one.source, source)) {
                Some(kept) => kept.clone(),
                None => Arc::new(VirtualEntry::make(source, vocabulary)),
            }
        });
        let virtual_servers = virtual_servers.collect();
        let sources = Sources {
            servers: catalog.servers.clone(),
            inventories: catalog.inventories.clone(),
            virtual_servers: catalog.virtual_servers.clone(),
        };
        Self { servers, virtual_servers, sources: Some(sources) }
    }
}

impl ServerEntry {
    /// Says whether it was made of these. A catalog read from the store afresh holds equal servers in new places.
    fn is_of(&self, server: &Arc<Server>, inventory: Option<&Arc<Inventory>>) -> bool {
        let is_same_offer = match (&self.inventory, inventory) {
            (Some(one), Some(other)) => is_same(one, other),
            (None, None) => true,
            _ => false,
        };
        is_same_offer && is_same(&self.server, server)
    }

    fn make(
        server: &Arc<Server>,
        inventory: Option<&Arc<Inventory>>,
        vocabulary: &RwLock<Vocabulary>,
    ) -> Self {
        let mut vocabulary = vocabulary.write().unwrap_or_else(PoisonError::into_inner);
        let items = inventory.into_iter().flat_map(|one| one.all_tools());
        let mut tool_words = Vec::new();
        let tool = |item| ToolEntry::make(item, &mut vocabulary, &mut tool_words);
        let tools: Box<[_]> = items.map(tool).collect();
        tool_words.shrink_to_fit();
        let tool_texts = tools.iter().map(|tool| meaning::of_tool(&tool.name, &tool.description));
        let digests = tool_texts.map(|text| Digest::of(&text)).collect();
        let path = server.path.as_str();
        let title = |builder: Builder<'_>| builder.field(PATH, [path]).field(NAME, [&*server.name]).build();
        let tool_texts = tools.iter().flat_map(|tool| [&*tool.name, &*tool.description]);
        let explained = meaning::explained(server);
        let whole = Builder::new(&mut vocabulary)
            .field(PATH, [path])
            .field(NAME, [&*server.name])
            .field(DESCRIPTION, [&*server.active().description])
            .field(TAGS, server.tags.iter().map(|tag| &**tag))
            .field(PURPOSE, explained.iter().map(|(_, purpose)| *purpose))
            .field(TOOLS, tool_texts)
            .build();
        Self {
            server: server.clone(),
            inventory: inventory.cloned(),
            names: Names::of(path, &server.name, &server.tags),
            title: title(Builder::new(&mut vocabulary)),
            whole,
            tools,
            meaning: Meaning::of(&meaning::of_server(server)),
            tool_meanings: Meanings::of(digests),
            tool_words,
        }
    }

    /// Returns the words of one of its tools.
    pub(crate) fn words_of(&self, tool: &ToolEntry) -> &[Posting] {
        &self.tool_words[tool.words.clone()]
    }
}

impl ToolEntry {
    fn make(item: &Item, vocabulary: &mut Vocabulary, words: &mut Vec<Posting>) -> Self {
        /// The part of a tool that is text for people.
        #[derive(Default, Deserialize)]
        struct Told<'a> {
            #[serde(borrow)]
            title: Option<Cow<'a, str>>,
            #[serde(borrow)]
            description: Option<Cow<'a, str>>,
        }
        // A tool whose members are of other types is found by its name.
        let told: Told<'_> = serde_json::from_str(&item.json).unwrap_or_default();
        let description = told.description.unwrap_or_default();
        let own = Builder::new(vocabulary)
            .field(NAME, std::iter::once(&*item.name).chain(told.title.as_deref()))
            .field(DESCRIPTION, [&*description])
            .build();
        let start = words.len();
        words.extend(own);
        Self { name: item.name.clone(), description: description.into(), words: start..words.len() }
    }
}

impl VirtualEntry {
    fn make(source: &Arc<VirtualServer>, vocabulary: &RwLock<Vocabulary>) -> Self {
        let mut vocabulary = vocabulary.write().unwrap_or_else(PoisonError::into_inner);
        let path = source.slug.path();
        // What mapped servers say of their tools may not be for everybody's eyes.
        let tools = source.mappings.iter();
        let tools = tools.flat_map(|one| std::iter::once(one.exposed()).chain(one.description.as_deref()));
        let document = Builder::new(&mut vocabulary)
            .field(PATH, [source.slug.as_str()])
            .field(NAME, [&*source.name])
            .field(DESCRIPTION, [&*source.description])
            .field(TAGS, source.tags.iter().map(|tag| &**tag))
            .field(TOOLS, tools)
            .build();
        let meaning = Meaning::of(&meaning::of_virtual_server(source));
        Self {
            source: source.clone(),
            names: Names::of(&path, &source.name, &source.tags),
            document,
            meaning,
        }
    }
}

impl Names {
    fn of(path: &str, name: &str, tags: &[String]) -> Self {
        let short = path.strip_prefix("/virtual/").unwrap_or(path).trim_start_matches('/');
        Self {
            exact: [name.trim().to_lowercase(), path.to_owned(), short.to_owned()],
            keys: [text::key(name), text::key(short)],
            tags: tags.iter().map(|tag| tag.trim_start_matches('#').to_lowercase()).collect(),
        }
    }
}

fn is_same<T: PartialEq>(one: &Arc<T>, other: &Arc<T>) -> bool {
    Arc::ptr_eq(one, other) || **one == **other
}

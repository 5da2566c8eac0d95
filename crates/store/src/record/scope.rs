//! What scopes allow, as it is stored; their names and descriptions stand beside it.

use std::collections::BTreeMap;

use catalog::rights::{Pattern, Place, ScopeDocument, ServerAccess};
use serde::{Deserialize, Serialize};

/// What a scope allows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScopeRecord {
    #[serde(default)]
    server_access: Vec<AccessRecord>,
    #[serde(default)]
    ui_permissions: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct AccessRecord {
    server: String,
    methods: Vec<String>,
    tools: Vec<String>,
}

impl ScopeRecord {
    /// Takes down a document; `None` for one that only describes.
    pub fn of(document: &ScopeDocument) -> Option<Self> {
        if document.access.is_empty() && document.permissions.is_empty() {
            return None;
        }
        let access = document.access.iter().map(|access| AccessRecord {
            server: access.at.as_str().to_owned(),
            methods: texts(&access.methods),
            tools: texts(&access.tools),
        });
        let permissions = document.permissions.iter().map(|(name, servers)| (name.clone(), texts(servers)));
        Some(Self { server_access: access.collect(), ui_permissions: permissions.collect() })
    }

    /// Reads it back.
    pub fn into_document(self, description: String) -> ScopeDocument {
        let access = self.server_access.into_iter().map(|record| ServerAccess {
            at: Place::parse(&record.server),
            methods: patterns(record.methods),
            tools: patterns(record.tools),
        });
        let permissions = self.ui_permissions.into_iter().map(|(name, servers)| (name, patterns(servers)));
        ScopeDocument { description, access: access.collect(), permissions: permissions.collect() }
    }
}

fn texts(patterns: &[Pattern]) -> Vec<String> {
    patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect()
}

fn patterns(texts: Vec<String>) -> Vec<Pattern> {
    texts.into_iter().map(Pattern::new).collect()
}

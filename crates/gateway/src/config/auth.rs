//! `[auth]`: the root key, which endpoints need no credential, and whose tokens are taken.

mod providers;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use auth::outside::ProviderSettings;
use catalog::endpoint::Secret;
use serde::{Deserialize, Serialize};

use super::units::Span;
use crate::small_file;

/// How long a browser may stay signed in. What a provider says of a person is as old as their session.
const SESSION_LIFE: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(30 * 24 * 3600);

#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    /// Endpoints anybody may use: `/context7`, `/virtual/dev-tools`.
    anonymous: Vec<String>,
    /// The key from which all others are derived, 64 hexadecimal digits; nodes of one installation share it. After it older
    /// ones, with blanks or commas between, while it replaces them.
    root_key: Option<String>,
    /// A file that holds it. Without either, `<data>/root.key` is made on first start.
    root_key_file: Option<PathBuf>,
    /// How long somebody who signed in with a browser stays so.
    session_life: Span,
    /// Identity providers, beside ourselves.
    providers: Vec<providers::Said>,
}

/// `[auth]`, checked.
#[derive(Debug)]
pub(crate) struct Auth {
    /// Short endpoint paths, lower-case.
    pub(crate) anonymous: Vec<String>,
    pub(crate) root_key: Option<Secret>,
    pub(crate) session_life: Duration,
    pub(crate) providers: Vec<ProviderSettings>,
    /// Where it came from, if that was a file.
    pub(crate) root_key_file: Option<PathBuf>,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            anonymous: Vec::new(),
            root_key: None,
            root_key_file: None,
            session_life: Span::seconds(8 * 3600),
            providers: Vec::new(),
        }
    }
}

impl Said {
    pub(super) fn resolve(self, faults: &mut Vec<String>) -> Auth {
        let mut anonymous = Vec::new();
        for text in &self.anonymous {
            if text.len() > 1 && text.starts_with('/') {
                anonymous.push(text.trim_end_matches('/').to_ascii_lowercase());
            } else {
                faults
                    .push(format!("auth.anonymous: {text:?} is no endpoint's path; give one like /context7"));
            }
        }
        let given = match (self.root_key, &self.root_key_file) {
            (Some(_), Some(_)) => {
                faults.push("auth.root_key and auth.root_key_file: give one of them, not both".into());
                None
            }
            (Some(text), None) => Some(text),
            (None, Some(file)) => small_file::secret(file)
                .inspect_err(|error| faults.push(format!("auth.root_key_file: {}: {error}", file.display())))
                .ok(),
            (None, None) => None,
        };
        let root_key = given.map(|text| text.trim().to_owned());
        if let Some(text) = &root_key
            && auth::RootKey::from_hex(text).is_err()
        {
            faults.push(
                "auth.root_key: must be 64 hexadecimal digits (openssl rand -hex 32), older keys after it"
                    .into(),
            );
        }
        let session_life = self.session_life.0;
        if !SESSION_LIFE.contains(&session_life) {
            faults.push("auth.session_life: must lie between a minute and 30 days".into());
        }
        let providers = providers::resolve(self.providers, faults);
        let root_key = root_key.map(Secret::new);
        Auth { anonymous, root_key, session_life, providers, root_key_file: self.root_key_file }
    }
}

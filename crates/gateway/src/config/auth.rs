//! `[auth]`: the root key, which endpoints need no credential, and whose tokens are taken.

mod providers;

use std::path::PathBuf;

use auth::outside::ProviderSettings;
use catalog::endpoint::Secret;
use serde::{Deserialize, Serialize};

use crate::small_file;

/// Digits of a root key: 32 bytes in hexadecimal.
const KEY_DIGITS: usize = 64;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    /// Endpoints anybody may use: `/context7`, `/virtual/dev-tools`.
    anonymous: Vec<String>,
    /// The key from which all others are derived, 64 hexadecimal digits; nodes of one installation share it.
    root_key: Option<String>,
    /// A file that holds it. Without either, `<data>/root.key` is made on first start.
    root_key_file: Option<PathBuf>,
    /// Identity providers, beside ourselves.
    providers: Vec<providers::Said>,
}

/// `[auth]`, checked.
#[derive(Debug)]
pub(crate) struct Auth {
    /// Short endpoint paths, lower-case.
    pub(crate) anonymous: Vec<String>,
    pub(crate) root_key: Option<Secret>,
    pub(crate) providers: Vec<ProviderSettings>,
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
            && (text.len() != KEY_DIGITS || !text.bytes().all(|b| b.is_ascii_hexdigit()))
        {
            faults.push(format!(
                "auth.root_key: must be {KEY_DIGITS} hexadecimal digits (openssl rand -hex 32)"
            ));
        }
        let providers = providers::resolve(self.providers, faults);
        Auth { anonymous, root_key: root_key.map(Secret::new), providers }
    }
}

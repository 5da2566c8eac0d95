//! `[search]`: what finds things by their meaning.

use std::path::PathBuf;

use catalog::endpoint::Secret;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::small_file;

/// Where the default model is published, at the revision whose files are known.
const DOWNLOAD_URL: &str =
    "https://huggingface.co/Xenova/all-MiniLM-L6-v2/resolve/751bff37182d3f1213fa05d7196b954e230abad9/";

#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    /// `local` for a model on this machine, `endpoint` for one behind a URL, `off` for words alone.
    embedder: String,
    /// Folder of a local model: `model.onnx` with `tokenizer.json` or `vocab.txt`. Without it, the default model in
    /// `<data>/model`.
    model_dir: Option<PathBuf>,
    /// Whether the default model is downloaded, once, where it is not there yet.
    download: bool,
    /// Where from; the files must be the very same.
    download_url: String,
    /// Address of an endpoint as OpenAI's: `https://api.openai.com/v1/embeddings`.
    endpoint_url: Option<String>,
    /// Name of the model it is asked for.
    endpoint_model: String,
    /// Key it is asked with.
    endpoint_key: Option<String>,
    /// A file that holds the key.
    endpoint_key_file: Option<PathBuf>,
}

/// `[search]`, checked.
#[derive(Clone, Debug)]
pub(crate) enum Search {
    /// Words alone.
    Off,
    /// A model in a folder that the user keeps.
    Folder(PathBuf),
    /// The default model, downloaded from here where it is missing, if from anywhere.
    Default(Option<Url>),
    /// A model behind a URL.
    Endpoint(EmbeddingEndpoint),
}

/// A model behind a URL.
#[derive(Clone, Debug)]
pub(crate) struct EmbeddingEndpoint {
    pub(crate) url: Url,
    pub(crate) model: String,
    pub(crate) key: Option<Secret>,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            embedder: "local".into(),
            model_dir: None,
            download: true,
            download_url: DOWNLOAD_URL.into(),
            endpoint_url: None,
            endpoint_model: "text-embedding-3-small".into(),
            endpoint_key: None,
            endpoint_key_file: None,
        }
    }
}

impl Said {
    pub(super) fn resolve(self, faults: &mut Vec<String>) -> Search {
        match (self.embedder.as_str(), self.model_dir) {
            ("off", _) => Search::Off,
            ("local", Some(folder)) => {
                if !folder.is_dir() {
                    faults.push(format!("search.model_dir: {} is no folder", folder.display()));
                }
                Search::Folder(folder)
            }
            ("local", None) if !self.download => Search::Default(None),
            ("local", None) => Search::Default(web("search.download_url", &self.download_url, faults)),
            ("endpoint", _) => {
                let key = match (self.endpoint_key, &self.endpoint_key_file) {
                    (Some(_), Some(_)) => {
                        faults.push(
                            "search.endpoint_key and search.endpoint_key_file: give one of them, not both"
                                .into(),
                        );
                        None
                    }
                    (Some(key), None) => Some(key),
                    (None, Some(file)) => small_file::secret(file)
                        .inspect_err(|error| {
                            faults.push(format!("search.endpoint_key_file: {}: {error}", file.display()));
                        })
                        .ok(),
                    (None, None) => None,
                };
                let key = key.map(|key| Secret::new(key.trim().to_owned()));
                let text = self.endpoint_url.unwrap_or_default();
                match web("search.endpoint_url", &text, faults) {
                    Some(url) => Search::Endpoint(EmbeddingEndpoint { url, model: self.endpoint_model, key }),
                    None => Search::Off,
                }
            }
            (other, _) => {
                faults.push(format!("search.embedder: {other:?} is none of local, endpoint, off"));
                Search::Off
            }
        }
    }
}

fn web(key: &str, text: &str, faults: &mut Vec<String>) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    if url.is_none() {
        faults.push(format!("{key}: {text:?} is no address that begins with https:// or http://"));
    }
    url
}

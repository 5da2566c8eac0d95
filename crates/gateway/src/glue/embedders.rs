//! Models that turn texts into vectors, and how the registry comes by one: beside everything else, since a start
//! waits for no model and fails for none.

mod download;
mod endpoint;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use backend::fetch::Fetcher;
use embedding::Model;
use registry::Registry;
use search::embed::Embedder;

use crate::config::search::Search;
use endpoint::Endpoint;

/// Folder of the default model in the data directory.
const MODEL_FOLDER: &str = "model";
/// File of vectors in the data directory.
const VECTORS_FILE: &str = "search.vectors";
/// Pause after a download that failed; a network that was closed is likely to stay so for a while.
const RETRY_PAUSE: Duration = Duration::from_secs(600);

/// Brings the registry the model that is configured. Ends when it has it, or when there will be none.
pub(crate) async fn bring(search: Search, data: PathBuf, fetcher: Arc<Fetcher>, registry: Arc<Registry>) {
    let model: Arc<dyn Embedder> = match search {
        Search::Off => return,
        Search::Endpoint(given) => Arc::new(Endpoint::new(given, fetcher)),
        Search::Folder(folder) => match load(&folder).await {
            Some(Ok(model)) => Arc::new(model),
            Some(Err(error)) => {
                tracing::warn!(error = %told(&error), "search goes by words alone: the model does not load");
                return;
            }
            None => return,
        },
        Search::Default(source) => match default_model(&data.join(MODEL_FOLDER), source, &fetcher).await {
            Some(model) => Arc::new(model),
            None => return,
        },
    };
    if let Err(error) = registry.embed_with(model, Some(data.join(VECTORS_FILE))) {
        tracing::warn!(%error, "search goes by words alone: no thread for the model");
    }
}

/// Loads the default model, downloaded first where it is missing and may be.
async fn default_model(folder: &Path, source: Option<url::Url>, fetcher: &Fetcher) -> Option<Model> {
    loop {
        match load(folder).await? {
            Ok(model) => return Some(model),
            Err(embedding::Error::Missing { .. }) => {}
            Err(error) => {
                tracing::warn!(error = %told(&error), "search goes by words alone: the model does not load");
                return None;
            }
        }
        let Some(source) = &source else {
            tracing::info!(
                folder = %folder.display(),
                "search goes by words alone: no model there, and search.download is off"
            );
            return None;
        };
        match download::missing(fetcher, source, folder, &download::PARTS).await {
            Ok(()) => tracing::info!(%source, "the search model was downloaded"),
            Err(error) => {
                tracing::warn!(
                    %error,
                    retry_s = RETRY_PAUSE.as_secs(),
                    "search goes by words alone: its model cannot be downloaded; set search.model_dir, or search.download = false"
                );
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

/// Loads a model on a thread that may take its time; `None` where the program is ending.
async fn load(folder: &Path) -> Option<Result<Model, embedding::Error>> {
    let folder = folder.to_path_buf();
    tokio::task::spawn_blocking(move || Model::load(&folder)).await.ok()
}

/// Returns an error with its cause.
fn told(error: &embedding::Error) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

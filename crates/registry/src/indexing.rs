//! The search index follows the catalog beside the publications, so that neither a start nor a change waits for
//! words to be counted; a search waits for what was written before it.

mod meaning;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use catalog::Catalog;
use search::embed::Embedder;
use search::vector::Vector;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::AbortHandle;

/// How long the index lets changes gather while nobody searches: of many that come together, following the last is
/// enough.
const GATHERING: Duration = Duration::from_millis(500);

/// Longest time a search waits for writes that came before it; after it, what is indexed answers. Only the first
/// index of a very large catalog takes longer.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// A tenth of the weight of a thread that is not nice.
#[cfg(target_os = "linux")]
const INDEX_NICENESS: i32 = 10;

/// The index and the task that keeps it in line with the catalog.
pub(crate) struct Indexing {
    work: Arc<Work>,
    task: AbortHandle,
}

#[derive(Default)]
struct Work {
    index: Arc<search::Index>,
    meanings: meaning::Meanings,
    /// The newest catalog, with its number among those noted.
    latest: Mutex<(u64, Arc<Catalog>)>,
    noted: Notify,
    /// Somebody searches and waits.
    asked: Notify,
    /// The number of the catalog that the index is in line with.
    done: watch::Sender<u64>,
}

impl Indexing {
    /// Starts the task. It ends with this value.
    pub(crate) fn start() -> Self {
        let work = Arc::new(Work::default());
        let task = tokio::spawn(follow(work.clone())).abort_handle();
        Self { work, task }
    }

    /// Has the index brought in line with a catalog soon. Of several that come quickly, the last is enough. Returns
    /// the one that was noted before, for the caller to let go of.
    pub(crate) fn note(&self, catalog: Arc<Catalog>) -> Arc<Catalog> {
        let mut latest = self.work.lock();
        latest.0 += 1;
        let before = std::mem::replace(&mut latest.1, catalog);
        drop(latest);
        self.work.noted.notify_one();
        before
    }

    /// Returns the index, in line with everything noted before, or as far as it is after a second.
    pub(crate) async fn caught_up(&self) -> &search::Index {
        let wanted = self.work.lock().0;
        let mut done = self.work.done.subscribe();
        self.work.asked.notify_one();
        // Neither lateness nor an ended task is a reason to find nothing.
        let _ = tokio::time::timeout(MAX_WAIT, done.wait_for(|done| *done >= wanted)).await;
        &self.work.index
    }

    /// Begins to search by meaning too. Vectors are kept in a file, if one is named.
    pub(crate) fn embed_with(&self, model: Arc<dyn Embedder>, file: Option<PathBuf>) -> std::io::Result<()> {
        self.work.meanings.begin(self.work.index.clone(), model, file)
    }

    /// Returns what a query means, read as the index says; `None` where words alone must do.
    pub(crate) async fn meaning_of(&self, reading: String) -> Option<Arc<Vector>> {
        if reading.is_empty() { None } else { self.work.meanings.of_query(reading).await }
    }

    /// Says whether all that is indexed has vectors.
    pub(crate) fn is_settled(&self) -> bool {
        self.work.meanings.is_settled()
    }
}

impl Drop for Indexing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Work {
    fn lock(&self) -> std::sync::MutexGuard<'_, (u64, Arc<Catalog>)> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn follow(work: Arc<Work>) {
    loop {
        work.noted.notified().await;
        // A search that waits is served at once; whether the sleep ends first makes no difference.
        let _ = tokio::time::timeout(GATHERING, work.asked.notified()).await;
        let (number, catalog) = work.lock().clone();
        let (indexing, (ended, end)) = (work.clone(), oneshot::channel());
        let thread = std::thread::Builder::new().name("index".to_owned()).spawn(move || {
            step_back();
            indexing.index.follow(&catalog);
            // Let go of here too, where nobody waits for it.
            drop((indexing, catalog));
            let _ = ended.send(());
        });
        let is_done = thread.is_ok() && end.await.is_ok();
        if !is_done {
            tracing::error!(error = ?thread.err(), "the search index could not follow the catalog");
        }
        work.meanings.note();
        work.done.send_replace(number);
    }
}

/// Has this thread leave the processor to others: the first index of a large catalog takes seconds, and all that is
/// wanted just after a start would take twice as long.
fn step_back() {
    // A system that refuses makes us no worse than we were. Elsewhere this would be said of the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(INDEX_NICENESS);
}

//! Vectors for what is indexed and for queries, made on threads of their own: a model computes for a hundredth of a
//! second and more, and neither requests nor data threads wait for that.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use quick_cache::sync::Cache;
use search::Index;
use search::embed::{Embedder, Error};
use search::memory::file::Keeper;
use search::vector::Vector;
use tokio::sync::{mpsc, oneshot};

/// Texts between two looks at what is wanted; of these, one may have become urgent.
const BATCH: usize = 32;
/// Queries that wait for the model. The next ones are answered from words alone, at once: with a model that takes
/// ten milliseconds, that is soon enough for all.
const MAX_WAITING: usize = 4;
/// Longest wait for a query's vector; after it, words alone answer.
const QUERY_WITHIN: Duration = Duration::from_secs(1);
/// Queries whose vectors are remembered, some 500 bytes each.
const REMEMBERED: usize = 10_000;
/// Pause after the model could not be reached.
const RETRY_PAUSE: Duration = Duration::from_secs(30);

/// What makes vectors, from the moment there is a model.
#[derive(Default)]
pub(super) struct Meanings {
    engine: OnceLock<Engine>,
    /// Whether all texts have their vectors, as far as the model can make them.
    is_settled: Arc<AtomicBool>,
}

struct Engine {
    queries: mpsc::Sender<Asked>,
    remembered: Arc<Cache<String, Arc<Vector>>>,
    texts: Thread,
    is_over: Arc<AtomicBool>,
}

/// A query that waits for its vector.
struct Asked {
    text: String,
    answer: oneshot::Sender<Option<Arc<Vector>>>,
}

impl Meanings {
    /// Begins to use a model; the first one stays. Vectors are kept in a file, if one is named.
    ///
    /// **Errors:** the system gives no more threads.
    pub(super) fn begin(
        &self,
        index: Arc<Index>,
        model: Arc<dyn Embedder>,
        file: Option<PathBuf>,
    ) -> std::io::Result<()> {
        let remembered = Arc::new(Cache::new(REMEMBERED));
        let (queries, asked) = mpsc::channel(MAX_WAITING);
        let answering = (model.clone(), remembered.clone());
        named("embed-queries").spawn(move || answer(&*answering.0, &answering.1, asked))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let learning =
            Learning { index, model, is_over: is_over.clone(), is_settled: self.is_settled.clone() };
        let texts: JoinHandle<()> = named("embed-texts").spawn(move || learning.run(file))?;
        let engine = Engine { queries, remembered, texts: texts.thread().clone(), is_over };
        // A second model is let go of, and its threads with it.
        let _ = self.engine.set(engine);
        Ok(())
    }

    /// Has texts looked at that are new in the index.
    pub(super) fn note(&self) {
        if let Some(engine) = self.engine.get() {
            self.is_settled.store(false, Ordering::Release);
            engine.texts.unpark();
        }
    }

    /// Says whether all texts have vectors.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled.load(Ordering::Acquire)
    }

    /// Returns the vector of a query; `None` where there is no model, or too much of a crowd before it.
    pub(super) async fn of_query(&self, text: String) -> Option<Arc<Vector>> {
        let engine = self.engine.get()?;
        if let Some(known) = engine.remembered.get(&text) {
            return Some(known);
        }
        let (answer, answered) = oneshot::channel();
        engine.queries.try_send(Asked { text, answer }).ok()?;
        tokio::time::timeout(QUERY_WITHIN, answered).await.ok()?.ok()?
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        self.texts.unpark();
    }
}

/// Makes vectors of queries until nobody can ask any more.
fn answer(model: &dyn Embedder, remembered: &Cache<String, Arc<Vector>>, mut asked: mpsc::Receiver<Asked>) {
    while let Some(Asked { text, answer }) = asked.blocking_recv() {
        let known = remembered.get(&text);
        let vector = known.or_else(|| match model.embed(&[&text]) {
            Ok(numbers) => numbers.first().and_then(|numbers| Vector::of(numbers)).map(Arc::new),
            Err(error) => {
                tracing::debug!(%error, "a query has no vector");
                None
            }
        });
        if let Some(vector) = &vector {
            remembered.insert(text, vector.clone());
        }
        // Whoever asked may have gone.
        let _ = answer.send(vector);
    }
}

/// The thread that makes vectors of texts.
struct Learning {
    index: Arc<Index>,
    model: Arc<dyn Embedder>,
    is_over: Arc<AtomicBool>,
    is_settled: Arc<AtomicBool>,
}

impl Learning {
    fn run(self, file: Option<PathBuf>) {
        super::step_back();
        let Some(mut keeper) = self.begin(file) else { return };
        let mut learnt = 0_usize;
        while !self.is_over() {
            // Before the look, so that a note that comes during it is not lost.
            self.is_settled.store(true, Ordering::Release);
            let wanted = self.index.wanted(BATCH);
            if wanted.is_empty() {
                if learnt > 0 {
                    tracing::info!(texts = learnt, "all texts of the search index have vectors");
                    learnt = 0;
                }
                self.tidy(&mut keeper);
                std::thread::park();
                continue;
            }
            self.is_settled.store(false, Ordering::Release);
            let texts: Vec<&str> = wanted.iter().map(|(_, text)| text.as_str()).collect();
            match self.vectors(&texts) {
                Ok(vectors) => {
                    learnt += vectors.len();
                    let vectors: Vec<_> = wanted.iter().map(|(digest, _)| *digest).zip(vectors).collect();
                    keep(&mut keeper, |keeper| {
                        keeper.add(vectors.iter().filter_map(|(digest, one)| Some((*digest, one.as_ref()?))))
                    });
                    self.index.learn(vectors);
                }
                Err(error) => self.pause(&error),
            }
        }
    }

    /// Reads what is kept of this model, once it says how long its vectors are.
    fn begin(&self, file: Option<PathBuf>) -> Option<Option<Keeper>> {
        let width = loop {
            match self.model.embed(&["a"]) {
                Ok(numbers) => break numbers.first().map_or(0, Vec::len),
                Err(error) => self.pause(&error),
            }
            if self.is_over() {
                return None;
            }
        };
        let opened = file.map(|file| {
            Keeper::open(&file, self.model.model(), width)
                .inspect_err(|error| tracing::warn!(%error, file = %file.display(), "vectors cannot be kept"))
        });
        let (keeper, known) = match opened {
            Some(Ok((keeper, known))) => (Some(keeper), known),
            _ => (None, Vec::new()),
        };
        tracing::info!(model = self.model.model(), kept = known.len(), "searching by meaning");
        self.index.remember(known);
        Some(keeper)
    }

    /// Asks for the vectors of texts, one by one where together they do not work; `None` for one that never does.
    fn vectors(&self, texts: &[&str]) -> Result<Vec<Option<Vector>>, Error> {
        match self.model.embed(texts) {
            Ok(vectors) if vectors.len() == texts.len() => {
                Ok(vectors.iter().map(|numbers| Vector::of(numbers)).collect())
            }
            Ok(_) => Err(Error::Unreachable("it gave another number of vectors than asked for".into())),
            Err(Error::Failed(reason)) if texts.len() == 1 => {
                tracing::warn!(reason, "a text has no vector; it is found by its words");
                Ok(vec![None])
            }
            Err(Error::Failed(_)) => {
                let each = texts.iter().map(|text| self.vectors(&[*text]));
                each.collect::<Result<Vec<_>, _>>().map(|vectors| vectors.into_iter().flatten().collect())
            }
            Err(error) => Err(error),
        }
    }

    fn tidy(&self, keeper: &mut Option<Keeper>) {
        let mut known = Vec::new();
        let in_memory = self.index.count_known();
        if keeper.as_ref().is_some_and(|keeper| keeper.is_wasteful(in_memory)) {
            self.index.known(|digest, vector| known.push((digest, vector.clone())));
            keep(keeper, |keeper| keeper.rewrite(known.iter().map(|(digest, vector)| (*digest, vector))));
        }
    }

    fn pause(&self, error: &Error) {
        tracing::warn!(%error, retry_s = RETRY_PAUSE.as_secs(), "texts get no vectors; they are found by their words");
        if !self.is_over() {
            std::thread::park_timeout(RETRY_PAUSE);
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// Writes to the file; one that cannot be written is not tried again.
fn keep(keeper: &mut Option<Keeper>, write: impl FnOnce(&mut Keeper) -> std::io::Result<()>) {
    if let Some(Err(error)) = keeper.as_mut().map(write) {
        tracing::warn!(%error, "vectors cannot be kept any more");
        *keeper = None;
    }
}

fn named(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned())
}

#[cfg(test)]
mod tests;

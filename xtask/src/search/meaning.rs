//! Vectors for an index, made once and kept in `target/`, so that a second run takes seconds.

use std::path::Path;

use anyhow::Context as _;
use embedding::Model;
use search::Index;
use search::embed::Embedder;
use search::memory::file::Keeper;
use search::vector::Vector;

/// Texts between two looks at what is still wanted.
const BATCH: usize = 64;

/// Gives all entries of an index their vectors.
pub(super) fn learn(index: &Index, model: &Model, file: &Path) -> anyhow::Result<()> {
    let width = vector(model, "a")?.map_or(0, |(_, width)| width);
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).context("folder of vectors")?;
    }
    let (mut keeper, known) = Keeper::open(file, model.model(), width).context("file of vectors")?;
    index.remember(known);
    loop {
        let wanted = index.wanted(BATCH);
        if wanted.is_empty() {
            return Ok(());
        }
        let mut learnt = Vec::new();
        for (digest, text) in wanted {
            learnt.push((digest, vector(model, &text)?.map(|(vector, _)| vector)));
        }
        keeper.add(learnt.iter().filter_map(|(digest, vector)| Some((*digest, vector.as_ref()?))))?;
        index.learn(learnt);
    }
}

/// Returns the vector of a text, and how many numbers it has.
pub(super) fn vector(model: &Model, text: &str) -> anyhow::Result<Option<(Vector, usize)>> {
    let numbers = model.embed(&[text])?.swap_remove(0);
    Ok(Vector::of(&numbers).map(|vector| (vector, numbers.len())))
}

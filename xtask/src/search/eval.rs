//! `search-eval`: ranks judged queries over a folder of server descriptions and says how good the ranking is.
//!
//! **Shape of the folder**, tab-separated, each file with a head line: `servers.tsv` (`path`, `name`, `description`),
//! `queries.tsv` (`query_id`, `query`), `judgements.tsv` (`query_id`, `path`, `grade` 1 to 3).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use catalog::Catalog;
use embedding::Model;
use search::Index;
use search::query::{Kinds, Query};
use search::vector::Vector;

use super::{catalogue, meaning};

/// Places that count.
const PLACES: usize = 10;

/// What the command was told.
struct Options {
    folder: PathBuf,
    /// Folder of a model; words alone without one.
    model: Option<PathBuf>,
    /// Whether to say how each query went.
    is_verbose: bool,
}

/// NDCG@10, MRR and Recall@10.
#[derive(Clone, Copy, Default)]
pub(super) struct Figures([f64; 3]);

/// Runs the command.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let options = options(root, arguments)?;
    let servers = rows(&options.folder.join("servers.tsv"), 3)?;
    let mut catalog = Catalog::default();
    for row in &servers {
        catalogue::add(&mut catalog, &row[0], &row[1], &row[2])?;
    }
    let index = Index::default();
    index.follow(&catalog);
    let model = options.model.as_deref().map(Model::load).transpose()?;
    if let Some(model) = &model {
        meaning::learn(&index, model, &root.join("target/search-eval.vectors"))?;
    }
    let mut judged: HashMap<String, HashMap<String, u32>> = HashMap::new();
    for row in rows(&options.folder.join("judgements.tsv"), 3)? {
        let [id, path, grade] = &row[..] else { continue };
        judged.entry(id.clone()).or_default().insert(path.clone(), grade.parse().context("grade")?);
    }
    let (mut shared, mut none) = (Vec::new(), Vec::new());
    for row in rows(&options.folder.join("queries.tsv"), 2)? {
        let [id, text] = &row[..] else { continue };
        let grades = judged.get(id).with_context(|| format!("nothing is judged for {id}"))?;
        let vector = match &model {
            Some(model) => meaning::vector(model, &index.reading(text))?.map(|(vector, _)| vector),
            None => None,
        };
        let found = ranked(&index, text, vector.as_ref());
        let figures = Figures::of(&found, grades);
        if options.is_verbose {
            println!("{figures}  {text}  {}", found.join(" "));
        }
        let part = if shares_words(text, grades, &servers) { &mut shared } else { &mut none };
        part.push(figures);
    }
    let all: Vec<_> = shared.iter().chain(&none).copied().collect();
    println!("{:<14} {:>7}  NDCG@10  MRR    Recall@10", "queries", "number");
    for (name, part) in [("all", &all), ("shared words", &shared), ("no words", &none)] {
        println!("{name:<14} {:>7}  {}", part.len(), Figures::mean(part));
    }
    Ok(())
}

fn ranked(index: &Index, text: &str, meaning: Option<&Vector>) -> Vec<String> {
    let kinds = Kinds { servers: true, tools: false, virtual_servers: false };
    let found = index.query(&Query { text, meaning, tags: &[], kinds, max_results: PLACES }, |_| true);
    found.servers.iter().map(|one| one.server.path.to_string()).collect()
}

impl Figures {
    /// Judges the first ten of a ranking.
    pub(super) fn of(found: &[String], grades: &HashMap<String, u32>) -> Self {
        let gain = |grade: u32| f64::from((1_u32 << grade) - 1);
        let sum = |grades: &mut dyn Iterator<Item = u32>| -> f64 {
            (2_u32..)
                .zip(grades.take(PLACES))
                .map(|(place, grade)| gain(grade) / f64::from(place).log2())
                .sum()
        };
        let grade = |path: &String| grades.get(path).copied().unwrap_or_default();
        let mut best: Vec<u32> = grades.values().copied().collect();
        best.sort_unstable_by(|one, other| other.cmp(one));
        let ndcg = sum(&mut found.iter().map(grade)) / sum(&mut best.into_iter());
        let first = found.iter().take(PLACES).position(|path| grade(path) >= 2);
        let mrr = first.map_or(0.0, |place| 1.0 / (place + 1) as f64);
        let good = found.iter().take(PLACES).filter(|path| grade(path) >= 2).count();
        let all = grades.values().filter(|grade| **grade >= 2).count();
        Self([ndcg, mrr, good as f64 / all.max(1) as f64])
    }

    fn mean(all: &[Self]) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.0.iter_mut().zip(one.0).for_each(|(sum, figure)| *sum += figure / all.len() as f64);
        }
        sum
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [ndcg, mrr, recall] = self.0;
        write!(out, "{ndcg:.3}    {mrr:.3}  {recall:.3}")
    }
}

/// Says whether a content word of a query, in any usual form, stands in the name or description of a best answer.
fn shares_words(query: &str, grades: &HashMap<String, u32>, servers: &[Vec<String>]) -> bool {
    let most = grades.values().max().copied().unwrap_or_default();
    let mut texts = servers.iter().filter(|row| grades.get(&row[0]) == Some(&most));
    let wanted = words(query);
    texts.any(|row| !words(&format!("{} {}", row[1], row[2])).is_disjoint(&wanted))
}

fn words(text: &str) -> HashSet<String> {
    const STOP: &[&str] = &[
        "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "did", "do", "for", "from", "has",
        "have", "how", "i", "in", "into", "is", "it", "me", "my", "of", "on", "or", "our", "should", "that",
        "the", "this", "to", "up", "what", "when", "where", "which", "who", "why", "will", "with", "without",
        "mcp", "server",
    ];
    let mut apart = String::new();
    let mut before = ' ';
    for c in text.chars() {
        if before.is_lowercase() && c.is_uppercase() {
            apart.push(' ');
        }
        apart.push(c);
        before = c;
    }
    let all = apart.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let all = all.filter(|word| !word.is_empty() && !STOP.contains(&&**word));
    all.map(|word| {
        let endings = ["ing", "ed", "s"];
        let stem = endings.iter().find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() >= 3));
        let stem = stem.unwrap_or(&word);
        stem.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(stem).to_owned()
    })
    .collect()
}

fn rows(file: &Path, columns: usize) -> anyhow::Result<Vec<Vec<String>>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        let row: Vec<String> = line.split('\t').map(str::to_owned).collect();
        anyhow::ensure!(
            row.len() >= columns,
            "{}:{}: {columns} columns expected",
            file.display(),
            number + 1
        );
        rows.push(row);
    }
    Ok(rows)
}

fn options(root: &Path, arguments: &[String]) -> anyhow::Result<Options> {
    let usage = "usage: cargo xtask search-eval FOLDER [--model FOLDER | --words-only] [--verbose]";
    let installed = root.join("peers/model");
    let mut options =
        Options { folder: PathBuf::new(), model: installed.is_dir().then_some(installed), is_verbose: false };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--verbose" => options.is_verbose = true,
            "--words-only" => options.model = None,
            "--model" => options.model = Some(rest.next().context(usage)?.into()),
            folder if !folder.starts_with('-') => options.folder = folder.into(),
            _ => anyhow::bail!(usage),
        }
    }
    anyhow::ensure!(options.folder.is_dir(), usage);
    Ok(options)
}

#[cfg(test)]
mod tests;

//! `search-bench`: a catalog of ten thousand servers with twenty tools each, indexed and asked by 32 clients at once.
//!
//! Measures the index alone, without HTTP. Vectors are sums of random vectors of words, so that going over them costs
//! what it costs with a model; what the model itself takes is measured where one is installed.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use catalog::Catalog;
use embedding::Model;
use search::Index;
use search::embed::Embedder as _;
use search::query::{Kinds, Query};
use search::vector::Vector;

use super::catalogue;

const SERVERS: usize = 10_000;
const TOOLS: usize = 20;
const CLIENTS: usize = 32;
/// Queries of each client.
const QUERIES: usize = 100;
/// Numbers of a vector.
const WIDTH: usize = 384;

const SUBJECTS: [&str; 40] = [
    "invoice",
    "calendar",
    "weather",
    "database",
    "ticket",
    "email",
    "repository",
    "container",
    "dashboard",
    "payment",
    "customer",
    "document",
    "translation",
    "image",
    "video",
    "music",
    "flight",
    "hotel",
    "map",
    "sensor",
    "contract",
    "employee",
    "salary",
    "recipe",
    "patient",
    "trial",
    "paper",
    "patent",
    "stock",
    "currency",
    "deployment",
    "secret",
    "certificate",
    "domain",
    "tunnel",
    "queue",
    "cluster",
    "notebook",
    "model",
    "dataset",
];
const ACTIONS: [&str; 20] = [
    "create",
    "list",
    "search",
    "delete",
    "update",
    "export",
    "import",
    "share",
    "archive",
    "restore",
    "approve",
    "reject",
    "assign",
    "schedule",
    "summarize",
    "convert",
    "compare",
    "validate",
    "monitor",
    "notify",
];

/// Runs the command.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let catalog = large()?;
    let before = resident_kib()?;
    let index = Index::default();
    let begun = Instant::now();
    index.follow(&catalog);
    let took = begun.elapsed();
    println!("servers {SERVERS}, tools each {TOOLS}, clients {CLIENTS}");
    println!(
        "indexed by words      {:.1} s, {:.0} servers/s, {} MiB",
        took.as_secs_f64(),
        SERVERS as f64 / took.as_secs_f64(),
        (resident_kib()? - before) / 1024
    );
    report("words alone", &ask(&index, false));

    let begun = Instant::now();
    let mut texts = 0;
    index.remember(Vec::new());
    loop {
        let wanted = index.wanted(50_000);
        if wanted.is_empty() {
            break;
        }
        texts += wanted.len();
        index.learn(wanted.into_iter().map(|(digest, text)| (digest, made_up(&text))).collect());
    }
    let took = begun.elapsed().as_secs_f64();
    println!("{texts} vectors taken    {took:.1} s, all in all {} MiB", (resident_kib()? - before) / 1024);
    report("words and meaning", &ask(&index, true));

    let mut changed = (*catalog).clone();
    catalogue::add(&mut changed, "/one-more", "One more", "Says something new")?;
    let begun = Instant::now();
    index.follow(&changed);
    println!("one server added      {:.1} ms", begun.elapsed().as_secs_f64() * 1000.0);
    if let Ok(model) = Model::load(&root.join("peers/model")) {
        time_model(&model)?;
    }
    Ok(())
}

fn large() -> anyhow::Result<Box<Catalog>> {
    let mut catalog = Box::new(Catalog::default());
    for number in 0..SERVERS {
        let (one, other) = (SUBJECTS[number % 40], SUBJECTS[number / 40 % 40]);
        let path = format!("/{one}-{other}-{number}");
        let name = format!("{one} {other} {number}");
        let description = format!("Connects {one} systems of team {number} with every {other} they keep");
        catalogue::add(&mut catalog, &path, &name, &description)?;
        let tool = |action: &&str| {
            let name = format!("{action}_{one}");
            let description =
                format!("Lets an agent {action} each {one} of team {number} and its {other}, one at a time");
            (name, description)
        };
        catalogue::offer(&mut catalog, &path, ACTIONS.iter().take(TOOLS).map(tool).collect())?;
    }
    Ok(catalog)
}

/// Asks by all clients at once; returns how long each answer took, shortest first.
fn ask(index: &Index, by_meaning: bool) -> Vec<Duration> {
    let client = |client: usize| {
        let mut took = Vec::with_capacity(QUERIES);
        for number in 0..QUERIES {
            let which = client * QUERIES + number;
            let text = format!("{} a {} for me", ACTIONS[which % 20], SUBJECTS[which / 20 % 40]);
            let meaning = if by_meaning { made_up(&index.reading(&text)) } else { None };
            let begun = Instant::now();
            let query = Query {
                text: &text,
                meaning: meaning.as_ref(),
                tags: &[],
                kinds: Kinds::ALL,
                max_results: 10,
            };
            std::hint::black_box(index.query(&query, |server| server.is_enabled));
            took.push(begun.elapsed());
        }
        took
    };
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || client(number))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap_or_default()).collect()
    });
    took.sort_unstable();
    took
}

fn report(what: &str, took: &[Duration]) {
    let at =
        |share: usize| took.get(took.len() * share / 100).map_or(0.0, |took| took.as_secs_f64() * 1000.0);
    println!("{what:<21} p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms", at(50), at(95), at(99));
}

fn time_model(model: &Model) -> anyhow::Result<()> {
    for (what, text) in [
        ("a query", "create a calendar for me"),
        (
            "a tool",
            "create invoice: Lets an agent create each invoice of team 17 and its calendar, one at a time",
        ),
    ] {
        let begun = Instant::now();
        let times = 50;
        for _ in 0..times {
            model.embed(&[text])?;
        }
        println!("the model, {what:<10} {:.1} ms", begun.elapsed().as_secs_f64() * 1000.0 / f64::from(times));
    }
    Ok(())
}

/// Returns the sum of the random vectors of a text's words.
fn made_up(text: &str) -> Option<Vector> {
    let mut sum = vec![0.0_f32; WIDTH];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut state = word.bytes().fold(5381_u32, |state, byte| state.wrapping_mul(33) ^ u32::from(byte));
        for number in &mut sum {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            *number += (state >> 8) as f32 / 8_388_608.0 - 1.0;
        }
    }
    Vector::of(&sum)
}

/// Returns how much memory this process holds.
fn resident_kib() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("this measures on Linux only")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("VmRSS")?;
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).context("VmRSS in KiB")
}

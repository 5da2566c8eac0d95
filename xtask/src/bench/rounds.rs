//! Contenders measured in turn, round after round, so that what disturbs the machine disturbs all of them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::process::Place;
use super::wrk::{Load, Run};

/// One thing that is loaded.
pub(super) struct Contender {
    pub(super) name: &'static str,
    /// The contender it is compared with.
    pub(super) beside: Option<&'static str>,
    pub(super) load: Load,
    /// Whose processor time is counted.
    pub(super) account: Option<PathBuf>,
}

/// Medians over the rounds.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    pub(super) name: &'static str,
    pub(super) beside: Option<&'static str>,
    pub(super) per_second: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) processor_us: Option<f64>,
    /// Processor time a request divided by that of `beside` in the same round.
    pub(super) ratio: Option<f64>,
}

/// Runs all contenders `rounds` times.
pub(super) fn measure(
    contenders: &[Contender],
    rounds: usize,
    seconds: u32,
    folder: &Path,
    place: Place,
) -> anyhow::Result<Vec<Measured>> {
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); contenders.len()];
    for contender in contenders {
        contender.load.check()?;
        contender.load.run(folder, place, 1, None)?;
    }
    for round in 1..=rounds {
        println!("  round {round} of {rounds}");
        for (contender, runs) in contenders.iter().zip(&mut runs) {
            runs.push(contender.load.run(folder, place, seconds, contender.account.as_deref())?);
        }
    }
    Ok(contenders
        .iter()
        .zip(&runs)
        .map(|(contender, own)| summary(contender, own, contenders, &runs))
        .collect())
}

fn summary(contender: &Contender, own: &[Run], all: &[Contender], runs: &[Vec<Run>]) -> Measured {
    let other = contender.beside.and_then(|name| all.iter().position(|other| other.name == name));
    let ratios = other.map(|at| {
        let pairs = own.iter().zip(&runs[at]);
        pairs.filter_map(|(run, other)| Some(run.processor_us? / other.processor_us?)).collect()
    });
    let processor: Vec<f64> = own.iter().filter_map(|run| run.processor_us).collect();
    Measured {
        name: contender.name,
        beside: contender.beside,
        per_second: median(own.iter().map(|run| run.per_second).collect()),
        p50_us: median(own.iter().map(|run| run.p50_us).collect()),
        p99_us: median(own.iter().map(|run| run.p99_us).collect()),
        processor_us: (!processor.is_empty()).then(|| median(processor)),
        ratio: ratios.filter(|ratios: &Vec<f64>| !ratios.is_empty()).map(median),
    }
}

/// Writes a line for each.
pub(super) fn write_table(page: &mut String, all: &[Measured]) -> std::fmt::Result {
    writeln!(
        page,
        "| | CPU a request | ratio | requests/s | p50 | p99 |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    )?;
    for one in all {
        let processor = one.processor_us.map_or("".to_owned(), |value| format!("{value:.1} µs"));
        let ratio = one.ratio.map_or("".to_owned(), |value| format!("**{value:.2}**"));
        let (name, rate, p50, p99) = (one.name, one.per_second, one.p50_us, one.p99_us);
        writeln!(page, "| {name} | {processor} | {ratio} | {rate:.0} | {p50:.0} µs | {p99:.0} µs |")?;
    }
    Ok(())
}

/// The middle one; the mean of both middle ones is not worth a branch here.
pub(super) fn median(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

/// The value that a share of all values does not exceed; 0 of none.
pub(super) fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len().saturating_sub(1) as f64 * share).round() as usize;
    values.get(at).copied().unwrap_or(0.0)
}

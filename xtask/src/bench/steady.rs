//! Latency while nothing is saturated: the first byte of a stream, and calls at half of the possible rate.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::backend::STREAM_PAUSE;
use super::http::Connection;
use super::rounds::{median, quantile};
use super::wrk::Load;

/// Connections of the half load, each with a thread that sleeps between calls.
const CALLERS: u32 = 8;

/// Two quantiles of a latency, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Latency {
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

/// Time to the first byte of the answers' bodies, and of all their bytes, one request after another and
/// contender after contender.
pub(super) fn first_byte(loads: &[&Load], times: usize) -> anyhow::Result<Vec<Latency>> {
    let mut callers = Vec::new();
    for load in loads {
        load.check()?;
        callers.push((load, Connection::open(load.address)?, Vec::new(), Vec::new()));
    }
    for _ in 0..times {
        for (load, connection, taken, pauses) in &mut callers {
            let answer = connection.send(&load.request())?;
            taken.push(answer.first_byte.as_secs_f64() * 1e6);
            pauses.push((answer.whole - answer.first_byte).as_secs_f64());
        }
    }
    let mut latencies = Vec::new();
    for (load, _, taken, pauses) in callers {
        let is_streamed = median(pauses) * 2.0 > STREAM_PAUSE.as_secs_f64();
        anyhow::ensure!(is_streamed, "{}: the answers came in one piece", load.path);
        latencies.push(latency(taken));
    }
    Ok(latencies)
}

/// Latency of calls at `per_second`, all contenders in turn, medians over the rounds.
pub(super) fn at_rate(
    loads: &[&Load],
    per_second: f64,
    rounds: usize,
    length: Duration,
) -> anyhow::Result<Vec<Latency>> {
    let mut all: Vec<Vec<Latency>> = vec![Vec::new(); loads.len()];
    for _ in 0..rounds {
        for (load, seen) in loads.iter().zip(&mut all) {
            seen.push(latency(hold(load, per_second, length)?));
        }
    }
    let middle = |seen: &[Latency], pick: fn(&Latency) -> f64| median(seen.iter().map(pick).collect());
    Ok(all
        .iter()
        .map(|seen| Latency { p50_us: middle(seen, |l| l.p50_us), p99_us: middle(seen, |l| l.p99_us) })
        .collect())
}

fn latency(taken: Vec<f64>) -> Latency {
    Latency { p50_us: quantile(taken.clone(), 0.5), p99_us: quantile(taken, 0.99) }
}

/// Keeps a rate up for a while; returns what each call took, in microseconds.
fn hold(load: &Load, per_second: f64, length: Duration) -> anyhow::Result<Vec<f64>> {
    let interval = Duration::from_secs_f64(f64::from(CALLERS) / per_second);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|number| {
                scope.spawn(move || {
                    caller(load, begun + interval * number / CALLERS, interval, begun + length)
                })
            })
            .collect();
        let mut taken = Vec::new();
        for caller in callers {
            taken.extend(caller.join().expect("a caller does not panic")?);
        }
        Ok(taken)
    })
}

/// Calls at fixed moments. A call that is due while the last one still runs is counted from when it was due.
#[expect(clippy::disallowed_methods, reason = "the thread does nothing but wait for its next call")]
fn caller(load: &Load, first: Instant, interval: Duration, end: Instant) -> anyhow::Result<Vec<f64>> {
    let mut connection = Connection::open(load.address)?;
    let mut taken = Vec::new();
    let mut due = first;
    while due < end {
        let early = due.saturating_duration_since(Instant::now());
        // The system wakes a sleeper late; that delay is not the gateway's.
        let begun = if early > Duration::ZERO {
            std::thread::sleep(early);
            Instant::now()
        } else {
            due
        };
        let answer = connection.send(&load.request())?;
        anyhow::ensure!(answer.status == 200, "{}: {}", load.path, answer.status);
        taken.push(begun.elapsed().as_secs_f64() * 1e6);
        due += interval;
    }
    Ok(taken)
}

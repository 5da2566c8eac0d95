//! Memory of calls whose backend asked their users something, and that wait for the answers.

use anyhow::ensure;
use serde::Serialize;

use super::gateway::{self, Gateway};
use super::http::Connection;
use super::process;
use super::wrk::Load;

/// Parked before the first look, so that pools and caches have their size and the sessions that are kept for the caller
/// are taken.
const WARM: usize = 100;

/// Of the arguments: parked calls hold no more of them than of short ones.
const ARGUMENT_BYTES: usize = 64 << 10;

/// Growth of the process's memory for each call, in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Parked {
    pub(super) calls: usize,
    pub(super) bytes: f64,
}

/// Calls the tool that asks and does not come back with answers. The arguments are long and the backend tells much before
/// it asks, so that whoever keeps either is found out.
pub(super) fn measure(gateway: &Gateway, path: &str, token: &str, calls: usize) -> anyhow::Result<Parked> {
    let mut load = gateway::modern_call(gateway.address, path, token, "ask", r#"{"elicitation":{}}"#);
    let long = format!(r#""query":"{} "#, "x".repeat(ARGUMENT_BYTES));
    load.body = load.body.replacen(r#""query":""#, &long, 1);
    park(gateway, &load, WARM)?;
    let before = process::resident_bytes(gateway.pid)?;
    park(gateway, &load, calls)?;
    let after = process::resident_bytes(gateway.pid)?;
    Ok(Parked { calls, bytes: after.saturating_sub(before) as f64 / calls as f64 })
}

fn park(gateway: &Gateway, load: &Load, calls: usize) -> anyhow::Result<()> {
    let mut connection = Connection::open(gateway.address)?;
    for _ in 0..calls {
        let answer = connection.send(&load.request())?;
        let is_asked = answer.status == 200 && answer.text().contains(r#""input_required""#);
        ensure!(is_asked, "{}: {} {}", load.path, answer.status, answer.text());
    }
    Ok(())
}

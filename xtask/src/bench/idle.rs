//! Memory of sessions that do nothing.

use anyhow::ensure;
use serde::Serialize;

use super::gateway::{self, Gateway};
use super::http::Connection;
use super::process;
use super::wrk::Load;

/// Opened before the first look, so that pools and caches have their size.
const WARM: usize = 500;

/// Growth of the process's memory for each session, in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Idle {
    pub(super) sessions: usize,
    /// Sessions that were opened and no more.
    pub(super) opened_bytes: f64,
    /// Sessions that also called a tool once, and so hold a backend session.
    pub(super) used_bytes: f64,
}

/// Opens sessions at a virtual server and leaves them.
pub(super) fn measure(gateway: &Gateway, call: &Load, token: &str, sessions: usize) -> anyhow::Result<Idle> {
    open(gateway, call, token, WARM, true)?;
    let before = process::resident_bytes(gateway.pid)?;
    open(gateway, call, token, sessions, false)?;
    let opened = process::resident_bytes(gateway.pid)?;
    open(gateway, call, token, sessions, true)?;
    let used = process::resident_bytes(gateway.pid)?;
    let growth = |from: u64, to: u64| to.saturating_sub(from) as f64 / sessions as f64;
    Ok(Idle { sessions, opened_bytes: growth(before, opened), used_bytes: growth(opened, used) })
}

fn open(gateway: &Gateway, call: &Load, token: &str, sessions: usize, is_used: bool) -> anyhow::Result<()> {
    let mut connection = Connection::open(gateway.address)?;
    for _ in 0..sessions {
        let headers = gateway::open_session(&mut connection, &call.path, Some(token))?;
        if is_used {
            let answer = connection.send(&Load { headers, ..call.clone() }.request())?;
            ensure!(answer.status == 200, "{}: {} {}", call.path, answer.status, answer.text());
        }
    }
    Ok(())
}

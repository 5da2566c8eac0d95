//! Saturating load by `wrk`, one run at a time.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;

use super::http::{Connection, Request};
use super::process::{self, Place};

/// As many as a handful of busy clients hold.
pub(super) const CONNECTIONS: usize = 16;

/// A request that is sent over and over.
#[derive(Clone)]
pub(super) struct Load {
    pub(super) address: SocketAddr,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    /// What a good answer contains.
    pub(super) expect: String,
}

/// What one run showed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Run {
    pub(super) per_second: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    /// Of the account that was watched, a request; `None` when none was.
    pub(super) processor_us: Option<f64>,
}

impl Load {
    pub(super) fn request(&self) -> Request<'_> {
        Request { method: "POST", path: &self.path, headers: &self.headers, body: &self.body }
    }

    /// Sends the request once and looks at the answer.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let answer = Connection::open(self.address)?.send(&self.request())?;
        let text = answer.text();
        ensure!(
            answer.status == 200 && text.contains(&self.expect),
            "{}: {} {text}",
            self.path,
            answer.status
        );
        Ok(())
    }

    /// Loads the address for some seconds, and reads an account of processor time around that.
    pub(super) fn run(
        &self,
        folder: &Path,
        place: Place,
        seconds: u32,
        account: Option<&Path>,
    ) -> anyhow::Result<Run> {
        let script = folder.join("load.lua");
        fs::write(&script, self.script())?;
        let before = account.map(process::processor_time).transpose()?;
        let output = place
            .command("wrk")
            .args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{seconds}s"), "--timeout", "10s", "-s"])
            .arg(&script)
            .arg(format!("http://{}{}", self.address, self.path))
            .output()
            .context("wrk")?;
        let after = account.map(process::processor_time).transpose()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let Some(line) = text.lines().find_map(|line| line.strip_prefix("RESULT ")) else {
            bail!("wrk: {text}{}", String::from_utf8_lossy(&output.stderr));
        };
        let numbers: Vec<f64> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
        let [requests, duration_us, p50_us, p99_us, failures] = numbers[..] else {
            bail!("wrk said {line:?}")
        };
        ensure!(failures == 0.0 && requests > 0.0, "{}: {failures} of {requests} requests failed", self.path);
        let used = before.zip(after).map(|(before, after)| (after - before).as_secs_f64() * 1e6 / requests);
        Ok(Run { per_second: requests * 1e6 / duration_us, p50_us, p99_us, processor_us: used })
    }

    fn script(&self) -> String {
        let mut script = format!("wrk.method = \"POST\"\nwrk.body = [==[{}]==]\n", self.body);
        for (name, value) in &self.headers {
            script.push_str(&format!("wrk.headers[\"{name}\"] = [==[{value}]==]\n"));
        }
        script.push_str(
            r#"done = function(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), failed))
end
"#,
        );
        script
    }
}

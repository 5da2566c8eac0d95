//! A catalog of ten thousand servers: how long a start takes, when a change is live, what a call costs.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use catalog::VersionKey;
use catalog::endpoint::{Endpoint, Era};
use catalog::inventory::{Inventory, Item, Reported};
use catalog::name::{ServerPath, VersionLabel};
use catalog::server::{Server, Version};
use catalog::time::Timestamp;
use serde::Serialize;
use serde_json::json;
use store::Store as _;
use store::change::{Change, Edit};
use store::embedded::EmbeddedStore;
use store::record::Sealer;

use super::backend;
use super::gateway::{self, Gateway};
use super::http::Connection;
use super::process::{self, Place};
use super::rounds::{self, quantile};
use super::wrk::{Load, Run};

const LABELS: [&str; 3] = ["v1.0.0", "v2.0.0", "v3.0.0"];
/// Servers in one change; a change is one transaction.
const BATCH: usize = 200;
/// The name of the gateway's only thread for MCP.
const DATA_THREAD: &str = "data-0";
/// Switches that are timed.
const SWITCHES: usize = 40;

/// What the large catalog showed.
#[derive(Debug, Serialize)]
pub(super) struct Large {
    pub(super) servers: usize,
    pub(super) ready_ms: f64,
    pub(super) resident_bytes: u64,
    /// From sending a switch to its answer, after which every call goes to the new version.
    pub(super) live_p50_ms: f64,
    pub(super) live_worst_ms: f64,
    pub(super) call: Run,
}

/// Nothing in this catalog is secret.
struct NoSecrets;

impl Sealer for NoSecrets {
    fn seal(&self, plain: &str) -> String {
        plain.to_owned()
    }

    fn open(&self, sealed: &str) -> Option<String> {
        Some(sealed.to_owned())
    }
}

/// Writes the catalog into `folder`, starts a gateway on it and measures.
pub(super) fn measure(
    program: &str,
    folder: &Path,
    backend: SocketAddr,
    servers: usize,
    places: (Place, Place),
) -> anyhow::Result<Large> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(write(&folder.join("data"), backend, servers))?;
    let gateway = Gateway::start(program, folder, places.0)?;
    let token = gateway.token()?;
    let path = "/team-05/server-00005";
    let call = gateway::call(gateway.address, path, Some(&token), "tool_03")?;
    let live = switches(&gateway, path, &call)?;
    let call = cost(&gateway, &call, folder, places.1)?;
    Ok(Large {
        servers,
        ready_ms: gateway.ready_after.as_secs_f64() * 1e3,
        resident_bytes: process::resident_bytes(gateway.pid)?,
        live_p50_ms: quantile(live.clone(), 0.5),
        live_worst_ms: quantile(live, 1.0),
        call,
    })
}

/// Switches the active version to and fro; returns what each switch took, in milliseconds.
fn switches(gateway: &Gateway, path: &str, call: &Load) -> anyhow::Result<Vec<f64>> {
    let mut taken = Vec::new();
    let mut connection = Connection::open(gateway.address)?;
    for number in 0..SWITCHES {
        let label = LABELS[(number + 1) % LABELS.len()];
        let begun = Instant::now();
        gateway.api("PUT", &format!("/api/servers{path}/versions/default"), &json!({ "version": label }))?;
        taken.push(begun.elapsed().as_secs_f64() * 1e3);
        // A fresh session goes to the version that is active now.
        let session = gateway::open_session(&mut connection, path, bearer_of(call))?;
        let answer = connection.send(&Load { headers: session, ..call.clone() }.request())?;
        let answered = answer.header("x-mcp-server-version").unwrap_or_default();
        ensure!(answered == label, "after the switch to {label}, {answered:?} answered: {}", answer.text());
    }
    Ok(taken)
}

fn bearer_of(call: &Load) -> Option<&str> {
    let header = call.headers.iter().find(|(name, _)| name == "Authorization")?;
    header.1.strip_prefix("Bearer ")
}

/// The median of three runs, by the processor time of the thread that serves: the others are reading thousands of
/// inventories meanwhile.
fn cost(gateway: &Gateway, call: &Load, folder: &Path, place: Place) -> anyhow::Result<Run> {
    call.check()?;
    let account = process::thread_account(gateway.pid, DATA_THREAD)?;
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(call.run(folder, place, 2, Some(&account))?);
    }
    let middle = rounds::median(runs.iter().filter_map(|run| run.processor_us).collect());
    runs.into_iter().find(|run| run.processor_us == Some(middle)).context("a run")
}

async fn write(data: &Path, backend: SocketAddr, servers: usize) -> anyhow::Result<()> {
    let store = EmbeddedStore::open(data, Arc::new(NoSecrets)).await?;
    let numbers: Vec<usize> = (0..servers).collect();
    for batch in numbers.chunks(BATCH) {
        let mut edits = Vec::new();
        for number in batch {
            server(*number, backend, &mut edits)?;
        }
        store.apply(Change::new(edits)).await?;
    }
    Ok(())
}

fn server(number: usize, backend: SocketAddr, edits: &mut Vec<Edit>) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let path = ServerPath::parse("path", &format!("/team-{:02}/server-{number:05}", number % 100))
        .expect("a good path");
    let versions = LABELS.map(|label| version(label, number, backend, now));
    let [first, others @ ..] = versions;
    let mut server = Server::new(path.clone(), format!("Server {number}"), first?, now);
    server.is_enabled = true;
    server.tags = vec!["bench".to_owned(), format!("team-{:02}", number % 100)];
    for other in others {
        server = server.add(other?, now)?;
    }
    let inventory = Arc::new(inventory(now));
    let keys: Vec<VersionKey> =
        server.versions().map(|version| VersionKey::new(&path, &version.label)).collect();
    edits.push(Edit::put_server(None, Arc::new(server)));
    edits.extend(keys.into_iter().map(|key| Edit::PutInventory(key, inventory.clone())));
    Ok(())
}

fn version(label: &str, number: usize, backend: SocketAddr, now: Timestamp) -> anyhow::Result<Version> {
    let url = format!("http://{backend}/{label}/{number}/mcp");
    Ok(Version {
        description: format!("Server number {number} of the benchmark's large catalog, version {label}."),
        ..Version::new(
            VersionLabel::parse("version", label).expect("a good label"),
            Endpoint::at(url.parse()?),
            now,
        )
    })
}

fn inventory(now: Timestamp) -> Inventory {
    let tool = |number| Item { name: format!("tool_{number:02}").into(), json: backend::tool(number).into() };
    Inventory {
        server_info: r#"{"name":"bench","version":"1.0.0"}"#.into(),
        capabilities: r#"{"tools":{}}"#.into(),
        tools: (0..backend::TOOLS).map(tool).collect(),
        reported: Reported { version: Some("1.0.0".to_owned()), previous: None, changed_at: None },
        ..Inventory::empty(Era::Legacy, "2025-06-18", now)
    }
}

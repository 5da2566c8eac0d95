//! `cargo xtask bench`: the gateway beside plain nginx, on one machine in one run.
//!
//! Both have one worker on one processor; the loader and the backend share another. What is compared is the processor
//! time a request costs, in turns, so that a busy machine disturbs both alike.

mod across;
pub(crate) mod backend;
mod gateway;
mod http;
mod idle;
mod large;
mod machine;
mod nginx;
mod parked;
mod process;
mod report;
mod rounds;
mod steady;
#[cfg(test)]
mod tests;
mod wrk;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use across::Across;
use gateway::Gateway;
use nginx::Nginx;
use process::{Place, Started};
use report::{Report, Timed};
use rounds::Contender;
use steady::Latency;
use wrk::Load;

const SERVERS: [&str; 3] = ["/bench-a", "/bench-b", "/bench-c"];

/// How much is done; the whole stays under seven minutes.
struct Effort {
    rounds: usize,
    seconds: u32,
    bridged_rounds: usize,
    streams: usize,
    steady_rounds: usize,
    sessions: usize,
    parked: usize,
    servers: usize,
}

const FULL: Effort = Effort {
    rounds: 7,
    seconds: 2,
    bridged_rounds: 5,
    streams: 60,
    steady_rounds: 3,
    sessions: 5_000,
    parked: 500,
    servers: 10_000,
};
/// To see whether the benchmark itself works; its numbers are worth little and are not written down.
const QUICK: Effort = Effort {
    rounds: 1,
    seconds: 1,
    bridged_rounds: 1,
    streams: 5,
    steady_rounds: 1,
    sessions: 200,
    parked: 50,
    servers: 200,
};

/// The parts that most measurements share.
struct Stage {
    folder: PathBuf,
    /// Of what is measured.
    front: Place,
    /// Of the loader and the backend.
    back: Place,
    backend: SocketAddr,
    _backend: Started,
}

/// Builds, measures, prints and writes `docs/benchmarks.md` and `docs/benchmarks.json`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let is_across = arguments.iter().any(|argument| argument == "--across");
    let unknown = arguments.iter().find(|argument| !["--quick", "--across"].contains(&argument.as_str()));
    ensure!(unknown.is_none(), "usage: cargo xtask bench [--quick] [--across]");
    let effort = if is_quick { QUICK } else { FULL };
    let programs = Programs::ready(root)?;
    let machine = machine::describe(root, &programs.nginx)?;
    let folder = std::env::temp_dir().join(format!("switchyard-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = Stage::set(&programs, &folder).and_then(|stage| {
        if is_across {
            return only_across(&programs, &stage, &effort);
        }
        let report = measure(&programs, &stage, &effort, machine)?;
        println!("\n{}", report.markdown());
        if is_quick {
            println!("This was a quick run; nothing was written.");
        } else {
            report.write(&root.join("docs"))?;
        }
        Ok(report.across)
    });
    let _ = std::fs::remove_dir_all(&folder);
    measured?.check()
}

/// Measures and prints that part alone.
fn only_across(programs: &Programs, stage: &Stage, effort: &Effort) -> anyhow::Result<Across> {
    let gateway = Gateway::start(&programs.gateway, &stage.folder.join("gateway"), stage.front)?;
    let across = stage.across(&gateway, &gateway.token()?, effort)?;
    let mut page = String::new();
    across.write(&mut page)?;
    println!("{page}");
    Ok(across)
}

/// What has to be there.
struct Programs {
    gateway: String,
    xtask: String,
    nginx: String,
}

impl Programs {
    fn ready(root: &Path) -> anyhow::Result<Self> {
        let nginx = ["nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"]
            .into_iter()
            .find(|program| starts(program, "-v"));
        let nginx =
            nginx.context("nginx is missing; install it (Debian, Ubuntu: apt install nginx-light)")?;
        ensure!(starts("wrk", "-v"), "wrk is missing; install it (Debian, Ubuntu: apt install wrk)");
        println!("Building the release binaries");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let build = [
            "build",
            "--release",
            "--quiet",
            "--package",
            "gateway",
            "--bin",
            "switchyard",
            "--package",
            "xtask",
            "--bin",
            "xtask",
        ];
        let status = Command::new(cargo).args(build).current_dir(root).status()?;
        ensure!(status.success(), "the build failed");
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let program = |name: &str| target.join("release").join(name).to_string_lossy().into_owned();
        Ok(Self { gateway: program("switchyard"), xtask: program("xtask"), nginx: nginx.to_owned() })
    }
}

fn starts(program: &str, argument: &str) -> bool {
    Command::new(program).arg(argument).output().is_ok()
}

impl Stage {
    fn set(programs: &Programs, folder: &Path) -> anyhow::Result<Self> {
        let is_pinned = starts("taskset", "--version") && std::thread::available_parallelism()?.get() > 1;
        let (front, back) =
            if is_pinned { (Place(Some(0)), Place(Some(1))) } else { (Place(None), Place(None)) };
        back.take_this_process()?;
        let mut command = back.command(&programs.xtask);
        let (started, line, _) = Started::with_first_line(command.arg("bench-backend"))?;
        let backend =
            line.trim().strip_prefix("listening on ").context("the backend did not say where it listens")?;
        Ok(Self { folder: folder.to_owned(), front, back, backend: backend.parse()?, _backend: started })
    }

    fn across(&self, gateway: &Gateway, token: &str, effort: &Effort) -> anyhow::Result<Across> {
        println!("Calls across eras");
        let task = across::Task {
            rounds: effort.bridged_rounds,
            parked: effort.parked,
            folder: &self.folder,
            place: self.back,
        };
        across::measure(gateway, self.backend, token, &task)
    }
}

fn measure(
    programs: &Programs,
    stage: &Stage,
    effort: &Effort,
    machine: machine::Machine,
) -> anyhow::Result<Report> {
    let nginx = Nginx::start(&programs.nginx, &stage.folder.join("nginx"), stage.backend, stage.front)?;
    let gateway = Gateway::start(&programs.gateway, &stage.folder.join("gateway"), stage.front)?;
    let token = furnish(&gateway, stage.backend)?;
    let calls = Calls::prepare(stage.backend, &nginx, &gateway, &token)?;

    println!("Calls and lists under full load");
    let contenders = contenders(&calls, &nginx, &gateway, &token)?;
    let saturated = rounds::measure(&contenders, effort.rounds, effort.seconds, &stage.folder, stage.back)?;

    println!("First byte of a stream");
    let streams = Calls::prepare_streams(stage.backend, &nginx, &gateway, &token)?;
    let first_byte = timed(steady::first_byte(&streams.all(), effort.streams)?);

    println!("Latency at half load");
    // The first contender is the backend alone, the next three are the calls through a proxy.
    let slowest = saturated[1..4].iter().map(|one| one.per_second).fold(f64::INFINITY, f64::min);
    let half = slowest / 2.0;
    let half_load = timed(steady::at_rate(&calls.all(), half, effort.steady_rounds, Duration::from_secs(2))?);

    println!("Memory of idle sessions");
    let idle = idle::measure(&gateway, &calls.composed, &token, effort.sessions)?;
    let across = stage.across(&gateway, &token, effort)?;
    drop(gateway);

    println!("A catalog of {} servers", effort.servers);
    let places = (stage.front, stage.back);
    let large = large::measure(
        &programs.gateway,
        &stage.folder.join("large"),
        stage.backend,
        effort.servers,
        places,
    )?;
    let machine = machine::Machine { load_after: machine::load(), ..machine };
    Ok(Report { machine, saturated, first_byte, half_load_per_second: half, half_load, idle, across, large })
}

/// Registers the servers, composes the virtual servers and returns a user's token.
fn furnish(gateway: &Gateway, backend: SocketAddr) -> anyhow::Result<String> {
    for server in SERVERS {
        gateway.register(server, backend)?;
    }
    let tools: Vec<String> = (0..backend::TOOLS).map(|number| format!("tool_{number:02}")).collect();
    let with_stream: Vec<String> = tools.iter().cloned().chain(["stream".to_owned()]).collect();
    gateway.compose("bench", &SERVERS[..1], &with_stream)?;
    gateway.compose("bench-wide", &SERVERS, &tools)?;
    gateway.token()
}

/// The same call by four ways.
struct Calls {
    alone: Load,
    nginx: Load,
    direct: Load,
    composed: Load,
}

impl Calls {
    fn prepare(backend: SocketAddr, nginx: &Nginx, gateway: &Gateway, token: &str) -> anyhow::Result<Self> {
        Ok(Self {
            alone: gateway::call(backend, "/bench-a/mcp", None, "tool_03")?,
            nginx: gateway::call(nginx.address, "/bench-a/mcp", None, "tool_03")?,
            direct: gateway::call(gateway.address, "/bench-a", Some(token), "tool_03")?,
            composed: gateway::call(gateway.address, "/virtual/bench", Some(token), "bench-a_tool_03")?,
        })
    }

    fn prepare_streams(
        backend: SocketAddr,
        nginx: &Nginx,
        gateway: &Gateway,
        token: &str,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            alone: streamed(gateway::call(backend, "/bench-a/mcp", None, "stream")?),
            nginx: streamed(gateway::call(nginx.address, "/unbuffered/mcp", None, "stream")?),
            direct: streamed(gateway::call(gateway.address, "/bench-a", Some(token), "stream")?),
            composed: streamed(gateway::call(
                gateway.address,
                "/virtual/bench",
                Some(token),
                "bench-a_stream",
            )?),
        })
    }

    fn all(&self) -> [&Load; 4] {
        [&self.alone, &self.nginx, &self.direct, &self.composed]
    }
}

/// Names the four ways of [`Calls::all`].
fn timed(latencies: Vec<Latency>) -> Vec<Timed> {
    let names = ["backend alone", "nginx", "direct", "virtual"];
    names.into_iter().zip(latencies).map(|(name, latency)| Timed { name, latency }).collect()
}

fn contenders(
    calls: &Calls,
    nginx: &Nginx,
    gateway: &Gateway,
    token: &str,
) -> anyhow::Result<Vec<Contender>> {
    let list = gateway::list(nginx.address, "/all/mcp", None)?;
    let composed_list = gateway::list(gateway.address, "/virtual/bench-wide", Some(token))?;
    let contender = |name, beside, load: &Load, pid: Option<u32>| Contender {
        name,
        beside,
        load: load.clone(),
        account: pid.map(process::account),
    };
    Ok(vec![
        contender("backend alone, call", None, &calls.alone, None),
        contender("nginx, call", None, &calls.nginx, Some(nginx.pid)),
        contender("direct call", Some("nginx, call"), &calls.direct, Some(gateway.pid)),
        contender("virtual call", Some("nginx, call"), &calls.composed, Some(gateway.pid)),
        contender("nginx, list of 60 tools", None, &list, Some(nginx.pid)),
        contender(
            "virtual list, 3 × 20 tools",
            Some("nginx, list of 60 tools"),
            &composed_list,
            Some(gateway.pid),
        ),
    ])
}

/// A streamed answer begins with progress and ends with the result.
fn streamed(load: Load) -> Load {
    Load { expect: "notifications/progress".to_owned(), ..load }
}

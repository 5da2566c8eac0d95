//! `[server]`: where to listen, where the data lies, what clients may send.

use std::path::PathBuf;
use std::time::Duration;

use catalog::name::RESERVED_ROOTS;
use serde::{Deserialize, Serialize};
use url::Url;

use super::units::{Size, Span};

/// Larger bodies would make the memory bound of one connection meaningless.
const MAX_BODY: u64 = 200_000_000;
/// Smaller limits would refuse ordinary tool calls.
const MIN_BODY: u64 = 64 << 10;
/// More threads than any machine has cores for would only take memory and turns from each other.
const MAX_DATA_THREADS: usize = 256;

#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    /// Address and port; port 0 takes a free one.
    listen: String,
    /// Everything that must outlive the process: catalog, root key, administrator's token.
    data_dir: PathBuf,
    /// The URL under which clients reach the gateway; else taken from each request's Host.
    public_url: Option<String>,
    /// A path that a proxy in front puts before ours: `/gateway`.
    path_prefix: String,
    /// Host names clients may use, `*` for any.
    allowed_hosts: Option<Vec<String>>,
    /// Origins whose pages may call us.
    allowed_origins: Vec<String>,
    /// Largest request body.
    max_body_bytes: Size,
    /// Most connections at once; more wait unaccepted.
    max_connections: usize,
    /// Threads that serve MCP requests; all cores where absent.
    data_threads: Option<usize>,
    /// How long running requests may go on after SIGTERM.
    shutdown_grace: Span,
}

/// `[server]`, checked.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) listen: String,
    pub(crate) data_dir: PathBuf,
    /// Without a trailing slash; its path is the `path_prefix` where that was not given.
    pub(crate) public_url: Option<String>,
    /// Empty, or `/` and segments without a trailing slash.
    pub(crate) path_prefix: String,
    /// Lower-case host names without ports, beside those of loopback; `*` alone lets any host in.
    pub(crate) allowed_hosts: Vec<String>,
    /// Origins as browsers write them, lower-case.
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_connections: usize,
    pub(crate) data_threads: usize,
    pub(crate) shutdown_grace: Duration,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            data_dir: "data".into(),
            public_url: None,
            path_prefix: String::new(),
            allowed_hosts: None,
            allowed_origins: Vec::new(),
            max_body_bytes: Size(16 << 20),
            max_connections: 20_000,
            data_threads: None,
            shutdown_grace: Span::seconds(30),
        }
    }
}

impl Said {
    pub(super) fn resolve(self, faults: &mut Vec<String>, warnings: &mut Vec<String>) -> Server {
        let host = self.listen.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
        let Some((host, Ok(_))) = host else {
            faults.push(format!(
                "server.listen: {:?} is no address and port; give one like 127.0.0.1:8080",
                self.listen
            ));
            return self.finish("", None, String::new());
        };
        if !(MIN_BODY..=MAX_BODY).contains(&self.max_body_bytes.0) {
            faults.push(format!("server.max_body_bytes: must lie between {MIN_BODY} and {MAX_BODY}"));
        }
        if self.data_dir.as_os_str().is_empty() {
            faults.push("server.data_dir: must not be empty; give a directory like data".into());
        }
        if self.data_threads.is_some_and(|threads| !(1..=MAX_DATA_THREADS).contains(&threads)) {
            faults.push(format!("server.data_threads: must lie between 1 and {MAX_DATA_THREADS}"));
        }
        if self.max_connections == 0 {
            faults.push("server.max_connections: must be at least 1".into());
        }
        let url = self.public_url.as_deref().and_then(|text| public_url(text, faults));
        let prefix = if self.path_prefix.is_empty() {
            url.as_ref().map(|url| path_prefix("server.public_url", url.path(), faults)).unwrap_or_default()
        } else {
            path_prefix("server.path_prefix", &self.path_prefix, faults)
        };
        for origin in &self.allowed_origins {
            if Url::parse(origin)
                .map_or(true, |url| url.origin().ascii_serialization() != origin.to_lowercase())
            {
                faults.push(format!(
                    "server.allowed_origins: {origin:?} is no origin; give one like https://app.example.com"
                ));
            }
        }
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        if self.allowed_hosts.is_none() && !is_loopback(&host) {
            warnings.push(format!(
                "listening on {host}, so any Host header is let in; set server.allowed_hosts to the names clients use"
            ));
        }
        self.finish(&host, url, prefix)
    }

    fn finish(self, host: &str, url: Option<Url>, prefix: String) -> Server {
        let public_host = url.as_ref().and_then(Url::host_str).map(str::to_ascii_lowercase);
        let allowed_hosts = match self.allowed_hosts {
            Some(hosts) if hosts.iter().any(|host| host == "*") => vec!["*".to_owned()],
            None if !is_loopback(host) => vec!["*".to_owned()],
            hosts => {
                let named = hosts.unwrap_or_default().into_iter().map(|host| host.to_ascii_lowercase());
                named.chain(public_host).collect()
            }
        };
        let own = url.as_ref().map(|url| url.origin().ascii_serialization());
        let origins = self.allowed_origins.iter().map(|origin| origin.to_lowercase());
        let cores = || std::thread::available_parallelism().map_or(1, usize::from).min(MAX_DATA_THREADS);
        Server {
            listen: self.listen,
            data_dir: self.data_dir,
            public_url: url.map(|url| url.as_str().trim_end_matches('/').to_owned()),
            path_prefix: prefix,
            allowed_hosts,
            allowed_origins: origins.chain(own).collect(),
            max_body_bytes: usize::try_from(self.max_body_bytes.0).unwrap_or(usize::MAX),
            max_connections: self.max_connections,
            data_threads: self.data_threads.unwrap_or_else(cores),
            shutdown_grace: self.shutdown_grace.0,
        }
    }
}

fn public_url(text: &str, faults: &mut Vec<String>) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let plain =
        url.filter(|url| url.query().is_none() && url.fragment().is_none() && url.username().is_empty());
    if plain.is_none() {
        faults.push(format!(
            "server.public_url: {text:?} is no plain http or https URL; give one like https://mcp.example.com"
        ));
    }
    plain
}

/// Takes a prefix as clients will send it: `/` and segments, without anything that they would resolve first.
fn path_prefix(key: &str, text: &str, faults: &mut Vec<String>) -> String {
    let Some(inner) = text.strip_prefix('/') else {
        faults.push(format!("{key}: {text:?} is no path; give one like /gateway"));
        return String::new();
    };
    if inner.is_empty() {
        return String::new();
    }
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
    if let Some(bad) =
        inner.split('/').find(|one| one.is_empty() || matches!(*one, "." | "..") || !one.bytes().all(fits))
    {
        let rule = "segments are letters, digits, `-`, `_`, `.`, `~`, and neither empty, `.` nor `..`";
        faults.push(format!("{key}: {text:?} has the segment {bad:?}; {rule}"));
    }
    if let Some(first) = inner.split('/').next().filter(|first| RESERVED_ROOTS.contains(first)) {
        faults.push(format!("{key}: /{first} belongs to the gateway; choose another prefix"));
    }
    format!("/{inner}")
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

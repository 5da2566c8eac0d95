//! The whole configuration: what was said in defaults, file, environment and flags, resolved once into
//! what the program needs. Nothing else in the program reads the environment for settings.

pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod backends;
pub(crate) mod health;
mod known;
mod limits;
pub(crate) mod log;
pub(crate) mod search;
pub(crate) mod server;
pub(crate) mod sessions;
mod source;
pub(crate) mod stdio;
mod units;
pub(crate) mod versions;

use figment::Figment;
use figment::providers::Serialized;
use serde::{Deserialize, Serialize};

pub(crate) use source::{DEFAULT_FILE, Sources};
pub(crate) use units::Span;

/// Everything the program was told, checked.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) server: server::Server,
    pub(crate) audit: audit::Audit,
    pub(crate) auth: auth::Auth,
    pub(crate) backends: backends::Backends,
    pub(crate) stdio: stdio::Stdio,
    pub(crate) health: health::Health,
    pub(crate) limits: ::limits::Limits,
    pub(crate) sessions: sessions::Sessions,
    pub(crate) versions: versions::Versions,
    pub(crate) log: log::Log,
    pub(crate) search: search::Search,
    /// Things worth a warning once the log is open.
    pub(crate) warnings: Vec<String>,
}

/// Every fault of the configuration, a sentence each.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub(crate) struct Faults(pub(crate) Vec<String>);

/// What the user said, section by section; the defaults where nothing was said.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Said {
    server: server::Said,
    audit: audit::Said,
    auth: auth::Said,
    backends: backends::Said,
    stdio: stdio::Said,
    health: health::Health,
    limits: limits::Said,
    sessions: sessions::Sessions,
    versions: versions::Versions,
    log: log::Log,
    search: search::Said,
}

impl Config {
    /// Merges all sources, the later over the earlier: defaults, file, environment, flags.
    pub(crate) fn load(sources: &Sources) -> Result<Self, Faults> {
        let defaults = Figment::from(Serialized::defaults(Said::default()));
        let known = known::Known::of(&defaults);
        let (layers, warnings) = sources.read(&known)?;
        let merged = layers.into_iter().fold(defaults, Figment::merge);
        let said: Said = merged
            .extract()
            .map_err(|errors| Faults(errors.into_iter().map(|error| error.to_string()).collect()))?;
        said.resolve(&sources.environment, warnings)
    }
}

impl Said {
    fn resolve(self, environment: &[(String, String)], mut warnings: Vec<String>) -> Result<Config, Faults> {
        let mut faults = Vec::new();
        self.health.check(&mut faults);
        self.sessions.check(&mut faults);
        self.log.check(&mut faults);
        let config = Config {
            server: self.server.resolve(&mut faults, &mut warnings),
            audit: self.audit.resolve(&mut faults),
            auth: self.auth.resolve(&mut faults),
            backends: self.backends.resolve(&mut faults),
            stdio: self.stdio.resolve(environment, &mut faults, &mut warnings),
            health: self.health,
            limits: self.limits.resolve(&mut faults),
            sessions: self.sessions,
            versions: self.versions,
            log: self.log,
            search: self.search.resolve(&mut faults),
            warnings,
        };
        if faults.is_empty() { Ok(config) } else { Err(Faults(faults)) }
    }
}

#[cfg(test)]
mod tests;

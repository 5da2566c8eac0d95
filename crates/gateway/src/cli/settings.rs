//! Flags that stand for settings, of the commands that read the configuration.

use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use crate::config::{Config, DEFAULT_FILE, Sources};

/// Settings as given on the command line.
///
/// Flags win over the environment (SWITCHYARD_LISTEN, SWITCHYARD_BACKENDS__ALLOW_PRIVATE, …), which wins over
/// the file, which wins over the defaults.
#[derive(Debug, Default, Args)]
pub(super) struct Given {
    /// Configuration file [default: switchyard.toml in the working directory, if there]
    #[arg(long, env = "SWITCHYARD_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address and port to listen on; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where the catalog and the keys are kept [default: data]
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<String>,
    /// The URL under which clients reach the gateway
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The path that a proxy in front puts before ours
    #[arg(long, value_name = "PATH")]
    path_prefix: Option<String>,
    /// error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// text or json [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// Any other setting: --set backends.allow_private=false (may be repeated)
    #[arg(long, value_name = "SECTION.KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
}

impl Given {
    /// Resolves the configuration from all sources.
    pub(super) fn load(&self) -> Result<Config, Failure> {
        let shortcuts = [
            ("server.listen", &self.listen),
            ("server.data_dir", &self.data_dir),
            ("server.public_url", &self.public_url),
            ("server.path_prefix", &self.path_prefix),
            ("log.level", &self.log_level),
            ("log.format", &self.log_format),
        ];
        let short = shortcuts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.clone()?)));
        // What is no UTF-8 is no setting of ours.
        let environment = std::env::vars_os()
            .filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)));
        let sources = Sources {
            file: self.config.clone(),
            environment: environment.collect(),
            flags: self.set.iter().cloned().chain(short).collect(),
        };
        Config::load(&sources).map_err(|faults| Failure::refused(faults.to_string()))
    }

    /// Names the file that is read, for people.
    pub(super) fn file(&self) -> String {
        match &self.config {
            Some(file) => file.display().to_string(),
            None => format!("{DEFAULT_FILE} if there, environment, flags"),
        }
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if key.contains('.') => Ok((key.trim().into(), value.into())),
        _ => Err("write it as section.key=value, for example backends.allow_private=false".into()),
    }
}

//! `switchyard server …`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use http::Method;
use serde_json::{Map, Value, json};

use super::address;
use super::client::{Speaker, query};
use super::failure::Failure;
use super::output::unexpected;
use crate::small_file;

const EXAMPLES: &str = "\
Examples:
  switchyard server register /context7 http://127.0.0.1:9000/mcp --version v1.5.0 --enable
  switchyard server register /jira https://jira.example.com/mcp --bearer-file jira.token --tag issues
  switchyard server edit /jira --description \"Our issues\" --scope jira-read";

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// List servers
    List {
        /// Words to look for in path and name
        #[arg(long)]
        query: Option<String>,
        /// Only servers with this tag
        #[arg(long)]
        tag: Option<String>,
        /// Disabled ones, too
        #[arg(long)]
        all: bool,
        /// Most to show
        #[arg(long)]
        limit: Option<usize>,
        /// How many to skip
        #[arg(long)]
        offset: Option<usize>,
    },
    /// Show a server
    Show {
        /// Path of the server: /github
        path: String,
    },
    /// Register a server, or another version of it
    #[command(after_help = EXAMPLES)]
    Register {
        /// Path of the server: /github
        path: String,
        /// Where its backend listens
        backend_url: String,
        /// Label of the version [default: v1.0.0]
        #[arg(long)]
        version: Option<String>,
        /// Replace the version of this label, if it is there
        #[arg(long)]
        overwrite: bool,
        #[command(flatten)]
        shared: Shared,
        #[command(flatten)]
        deployment: Deployment,
        /// Route it at once
        #[arg(long)]
        enable: bool,
    },
    /// Edit a server, and its active version
    Edit {
        /// Path of the server: /github
        path: String,
        /// Where the active version's backend listens
        #[arg(long)]
        backend_url: Option<String>,
        #[command(flatten)]
        shared: Shared,
        #[command(flatten)]
        deployment: Deployment,
    },
    /// Route a server
    Enable {
        /// Path of the server: /github
        path: String,
    },
    /// Stop routing a server
    Disable {
        /// Path of the server: /github
        path: String,
    },
    /// Delete a server with all its versions
    Delete {
        /// Path of the server: /github
        path: String,
    },
    /// Probe a server and read its tools again, now
    Refresh {
        /// Path of the server: /github
        path: String,
    },
    /// List the tools of a server
    Tools {
        /// Path of the server: /github
        path: String,
        /// Of this version instead of the active one
        #[arg(long)]
        version: Option<String>,
    },
}

/// What all versions of a server share.
#[derive(Debug, Args)]
pub(super) struct Shared {
    /// What people call it
    #[arg(long)]
    name: Option<String>,
    /// A word to find it by (may be repeated)
    #[arg(long)]
    tag: Vec<String>,
    /// A scope that callers need (may be repeated)
    #[arg(long)]
    scope: Vec<String>,
    /// Refuse unknown version labels: true or false
    #[arg(long, value_name = "BOOL")]
    strict_versions: Option<bool>,
}

/// What one version has for itself.
#[derive(Debug, Args)]
pub(super) struct Deployment {
    /// What it does
    #[arg(long)]
    description: Option<String>,
    /// stable, beta or deprecated
    #[arg(long)]
    status: Option<String>,
    /// The day it goes away: 2027-01-31
    #[arg(long, value_name = "DAY")]
    sunset: Option<String>,
    /// Speak with the backend in this era only: legacy or modern; auto goes by what it speaks
    #[arg(long, value_name = "ERA")]
    pinned_era: Option<String>,
    /// File with a bearer token for the backend
    #[arg(long, value_name = "FILE")]
    bearer_file: Option<PathBuf>,
    /// Header for the backend, the value read from a file: X-Team=team.txt (may be repeated)
    #[arg(long, value_name = "NAME=FILE")]
    header_file: Vec<String>,
}

impl Action {
    pub(super) async fn run(self, speaker: &Speaker) -> Result<(), Failure> {
        let output = speaker.output;
        match self {
            Self::List { query: words, tag, all, limit, offset } => {
                let pairs = [
                    ("query", words),
                    ("tag", tag),
                    ("include_disabled", all.then(|| "true".into())),
                    ("limit", limit.map(|limit| limit.to_string())),
                    ("offset", offset.map(|offset| offset.to_string())),
                ];
                let list = speaker.get(&format!("/api/servers{}", query(&pairs))).await?;
                let columns = [
                    ("PATH", "path"),
                    ("NAME", "server_name"),
                    ("VERSION", "version"),
                    ("ENABLED", "is_enabled"),
                    ("HEALTH", "health_status"),
                    ("TOOLS", "num_tools"),
                    ("BACKEND", "proxy_pass_url"),
                ];
                output.table(&list, "servers", &columns)?;
            }
            Self::Show { path } => output.fields(&speaker.get(&address::of_server(&path)?).await?)?,
            Self::Register { path, backend_url, version, overwrite, shared, deployment, enable } => {
                let mut body = Map::new();
                shared.write(&mut body);
                deployment.write(&mut body)?;
                let default_name = || path.trim_matches('/').replace('/', " ");
                body.entry("server_name").or_insert_with(|| default_name().into());
                body.insert("path".into(), path.clone().into());
                body.insert("proxy_pass_url".into(), backend_url.into());
                insert(&mut body, "version", version);
                insert(&mut body, "overwrite", overwrite.then_some(true));
                insert(&mut body, "is_enabled", enable.then_some(true));
                let answer = speaker.call(Method::POST, "/api/servers/register", Some(&body.into())).await?;
                output.done(&registered(&path, &answer)?, &answer)?;
            }
            Self::Edit { path, backend_url, shared, deployment } => {
                let mut body = Map::new();
                shared.write(&mut body);
                deployment.write(&mut body)?;
                insert(&mut body, "proxy_pass_url", backend_url);
                if body.is_empty() {
                    return Err(Failure::usage("nothing to edit; see switchyard server edit --help"));
                }
                let answer =
                    speaker.call(Method::PATCH, &address::of_server(&path)?, Some(&body.into())).await?;
                output.done(&format!("{path} is edited"), &answer)?;
            }
            Self::Enable { path } => toggle(speaker, &path, true).await?,
            Self::Disable { path } => toggle(speaker, &path, false).await?,
            Self::Delete { path } => {
                let answer = speaker.delete(&address::of_server(&path)?).await?;
                output.done(&format!("{path} is deleted with all its versions"), &answer)?;
            }
            Self::Refresh { path } => {
                let address = format!("{}/refresh", address::of_server(&path)?);
                let answer = speaker.call(Method::POST, &address, Some(&json!({}))).await?;
                output.fields(&answer)?;
            }
            Self::Tools { path, version } => {
                let address =
                    format!("{}/tools{}", address::of_server(&path)?, query(&[("version", version)]));
                let list = speaker.get(&address).await?;
                output.table(&list, "tools", &[("TOOL", "name"), ("DESCRIPTION", "description")])?;
            }
        }
        Ok(())
    }
}

impl Shared {
    fn write(self, body: &mut Map<String, Value>) {
        insert(body, "server_name", self.name);
        insert(body, "tags", (!self.tag.is_empty()).then_some(self.tag));
        insert(body, "required_scopes", (!self.scope.is_empty()).then_some(self.scope));
        insert(body, "strict_versions", self.strict_versions);
    }
}

impl Deployment {
    /// Writes what was given into a body. Secrets come from files, so that no list of processes shows them.
    pub(super) fn write(self, body: &mut Map<String, Value>) -> Result<(), Failure> {
        insert(body, "description", self.description);
        insert(body, "status", self.status);
        insert(body, "sunset_date", self.sunset);
        insert(body, "pinned_era", self.pinned_era);
        if let Some(file) = self.bearer_file {
            body.insert("auth_scheme".into(), "bearer".into());
            body.insert("auth_credential".into(), secret(&file)?.into());
        }
        let mut headers = Map::new();
        for pair in self.header_file {
            let Some((name, file)) = pair.split_once('=') else {
                return Err(Failure::usage(format!("--header-file: write {pair:?} as NAME=FILE")));
            };
            headers.insert(name.into(), secret(file.as_ref())?.into());
        }
        insert(body, "headers", (!headers.is_empty()).then_some(headers));
        Ok(())
    }
}

/// Puts a member into a body, if it was given.
pub(super) fn insert(body: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body.insert(name.into(), value.into());
    }
}

/// Says what a registration did.
pub(super) fn registered(path: &str, answer: &Value) -> Result<String, Failure> {
    let text = |key: &str| {
        let text = answer.get(key).and_then(Value::as_str);
        text.ok_or_else(|| unexpected(&format!("a registration with {key:?}")))
    };
    if answer.get("is_new_version") == Some(&Value::Bool(true)) {
        let label = text("version")?;
        let next = format!("make it active with: switchyard version use {path} {label}");
        return Ok(format!("version {label} is added to {path}; {next}"));
    }
    let is_off = answer.get("is_enabled") == Some(&Value::Bool(false));
    let next =
        if is_off { format!("; route it with: switchyard server enable {path}") } else { String::new() };
    Ok(format!("{}{next}", text("message")?))
}

async fn toggle(speaker: &Speaker, path: &str, enabled: bool) -> Result<(), Failure> {
    let address = format!("{}/toggle", address::of_server(path)?);
    let answer = speaker.call(Method::POST, &address, Some(&json!({ "enabled": enabled }))).await?;
    let word = if enabled { "enabled" } else { "disabled" };
    speaker.output.done(&format!("{path} is {word}"), &answer)
}

fn secret(file: &std::path::Path) -> Result<String, Failure> {
    small_file::secret(file).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))
}

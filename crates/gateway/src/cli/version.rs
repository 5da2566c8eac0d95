//! `switchyard version …`

use clap::Subcommand;
use http::Method;
use serde_json::{Map, Value, json};

use super::address;
use super::client::{Speaker, query};
use super::failure::Failure;
use super::server::{Deployment, insert, registered};

const EXAMPLES: &str = "\
Examples:
  switchyard version add /context7 v2.0.0 http://127.0.0.1:9001/mcp --status beta
  switchyard version diff /context7 v1.5.0 v2.0.0
  switchyard version use /context7 v2.0.0 --preflight
  switchyard version edit /context7 v1.5.0 --status deprecated --sunset 2027-01-31
  switchyard version remove /context7 v1.5.0";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum Action {
    /// List the versions of a server
    List {
        /// Path of the server: /github
        path: String,
    },
    /// Add a version, inactive until it is switched to
    Add {
        /// Path of the server: /github
        path: String,
        /// Label of the version: v2.0.0
        label: String,
        /// Where its backend listens
        backend_url: String,
        #[command(flatten)]
        deployment: Deployment,
    },
    /// Show a version
    Show {
        /// Path of the server: /github
        path: String,
        /// Label of the version: v2.0.0
        label: String,
    },
    /// Make a version the active one
    Use {
        /// Path of the server: /github
        path: String,
        /// Label of the version: v2.0.0
        label: String,
        /// Only if its backend answers
        #[arg(long)]
        preflight: bool,
    },
    /// Edit a version
    Edit {
        /// Path of the server: /github
        path: String,
        /// Label of the version: v2.0.0
        label: String,
        /// Where its backend listens
        #[arg(long)]
        backend_url: Option<String>,
        #[command(flatten)]
        deployment: Deployment,
    },
    /// Remove an inactive version
    Remove {
        /// Path of the server: /github
        path: String,
        /// Label of the version: v2.0.0
        label: String,
        /// Even if virtual servers pin it
        #[arg(long)]
        force: bool,
    },
    /// Compare the tools of two versions
    Diff {
        /// Path of the server: /github
        path: String,
        /// Label of the version to compare from
        from: String,
        /// Label of the version to compare to
        to: String,
    },
}

impl Action {
    pub(super) async fn run(self, speaker: &Speaker) -> Result<(), Failure> {
        let output = speaker.output;
        match self {
            Self::List { path } => {
                let list = speaker.get(&format!("{}/versions", address::of_server(&path)?)).await?;
                let columns = [
                    ("VERSION", "version"),
                    ("ACTIVE", "is_default"),
                    ("STATUS", "status"),
                    ("SUNSET", "sunset_date"),
                    ("ERA", "protocol_era"),
                    ("REPORTS", "mcp_server_version"),
                    ("BACKEND", "proxy_pass_url"),
                ];
                output.table(&list, "versions", &columns)?;
            }
            Self::Add { path, label, backend_url, deployment } => {
                let mut body = Map::new();
                deployment.write(&mut body)?;
                // A registration of an unknown path would make a server, which nobody asked for here.
                speaker.get(&address::of_server(&path)?).await?;
                body.insert("path".into(), path.clone().into());
                body.insert("version".into(), label.into());
                body.insert("proxy_pass_url".into(), backend_url.into());
                let answer = speaker.call(Method::POST, "/api/servers/register", Some(&body.into())).await?;
                output.done(&registered(&path, &answer)?, &answer)?;
            }
            Self::Show { path, label } => {
                output.fields(&speaker.get(&address::of_version(&path, &label)?).await?)?
            }
            Self::Use { path, label, preflight } => {
                let address = format!("{}/versions/default", address::of_server(&path)?);
                let mut body = Map::from_iter([("version".to_owned(), Value::from(label.clone()))]);
                insert(&mut body, "preflight", preflight.then_some(true));
                let answer = speaker.call(Method::PUT, &address, Some(&body.into())).await?;
                output.done(&format!("{label} is the active version of {path}"), &answer)?;
            }
            Self::Edit { path, label, backend_url, deployment } => {
                let mut body = Map::new();
                deployment.write(&mut body)?;
                insert(&mut body, "proxy_pass_url", backend_url);
                if body.is_empty() {
                    return Err(Failure::usage("nothing to edit; see switchyard version edit --help"));
                }
                let answer = speaker
                    .call(Method::PATCH, &address::of_version(&path, &label)?, Some(&json!(body)))
                    .await?;
                output.done(&format!("{path} {label} is edited"), &answer)?;
            }
            Self::Remove { path, label, force } => {
                let query = query(&[("force", force.then(|| "true".into()))]);
                let address = format!("{}{query}", address::of_version(&path, &label)?);
                let answer = speaker.delete(&address).await?;
                output.done(&format!("{path} {label} is removed"), &answer)?;
            }
            Self::Diff { path, from, to } => {
                output.fields(&speaker.get(&address::of_diff(&path, &from, &to)?).await?)?;
            }
        }
        Ok(())
    }
}

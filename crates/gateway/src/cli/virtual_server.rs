//! `switchyard virtual …`

mod row;

use std::path::PathBuf;

use clap::Subcommand;
use http::Method;
use serde_json::{Map, Value, json};

use super::address;
use super::client::{Speaker, query};
use super::failure::Failure;
use super::server::insert;
use crate::small_file;

const EXAMPLES: &str = "\
Examples:
  switchyard virtual create dev-tools --enable \\
      --tool /github:search,alias=github_search \\
      --tool /jira:search,alias=jira_search \\
      --tool /context7:get-library-docs,version=v1.5.0
  switchyard virtual show dev-tools --json > dev-tools.json
  switchyard virtual apply-file dev-tools.json
  switchyard virtual preview dev-tools --as alice";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum Action {
    /// List virtual servers
    List {
        /// Words to look for in path, name, description and tools
        #[arg(long)]
        query: Option<String>,
        /// Only those with this tag
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
    /// Show a virtual server
    Show {
        /// Its slug: dev-tools
        slug: String,
    },
    /// Create a virtual server of tools
    #[command(after_help = EXAMPLES)]
    Create {
        /// Its slug: dev-tools
        slug: String,
        /// What people call it
        #[arg(long)]
        name: Option<String>,
        /// What it is for
        #[arg(long)]
        description: Option<String>,
        /// A word to find it by (may be repeated)
        #[arg(long)]
        tag: Vec<String>,
        /// A scope that callers need (may be repeated)
        #[arg(long)]
        scope: Vec<String>,
        /// A tool of a server: /PATH:TOOL[,alias=NAME][,version=LABEL][,description=TEXT] (may be repeated)
        #[arg(long, required = true, value_parser = row::parse)]
        tool: Vec<Value>,
        /// A scope for one tool: NAME=SCOPE (may be repeated)
        #[arg(long, value_name = "NAME=SCOPE", value_parser = row::parse_scope)]
        tool_scope: Vec<(String, String)>,
        /// Route it at once
        #[arg(long)]
        enable: bool,
    },
    /// Create or replace a virtual server as a JSON file describes it (- for standard input)
    ApplyFile {
        /// The file, as `virtual show --json` prints it
        file: PathBuf,
    },
    /// Route a virtual server
    Enable {
        /// Its slug: dev-tools
        slug: String,
    },
    /// Stop routing a virtual server
    Disable {
        /// Its slug: dev-tools
        slug: String,
    },
    /// Delete a virtual server
    Delete {
        /// Its slug: dev-tools
        slug: String,
    },
    /// List its tools and where they lead
    Tools {
        /// Its slug: dev-tools
        slug: String,
    },
    /// Show what a caller would see, and why
    Preview {
        /// Its slug: dev-tools
        slug: String,
        /// The caller
        #[arg(long = "as", value_name = "SUBJECT")]
        subject: Option<String>,
        /// A group of the caller, instead of those of its token (may be repeated)
        #[arg(long)]
        group: Vec<String>,
        /// A scope of the caller's token (may be repeated)
        #[arg(long)]
        scope: Vec<String>,
    },
}

impl Action {
    pub(super) async fn run(self, speaker: &Speaker) -> Result<(), Failure> {
        let output = speaker.output;
        match self {
            Self::List { query: words, tag, all, limit, offset } => {
                let number = |number: Option<usize>| number.map(|number| number.to_string());
                let query = query(&[
                    ("query", words),
                    ("tag", tag),
                    ("include_disabled", all.then(|| "true".into())),
                    ("limit", number(limit)),
                    ("offset", number(offset)),
                ]);
                let list = speaker.get(&format!("/api/virtual-servers{query}")).await?;
                let columns = [
                    ("PATH", "path"),
                    ("NAME", "server_name"),
                    ("ENABLED", "is_enabled"),
                    ("TOOLS", "num_tools"),
                    ("SCOPES", "required_scopes"),
                    ("DESCRIPTION", "description"),
                ];
                output.table(&list, "virtual_servers", &columns)?;
            }
            Self::Show { slug } => output.fields(&speaker.get(&address(&slug)?).await?)?,
            Self::Create { slug, name, description, tag, scope, tool, tool_scope, enable } => {
                let (slug, mut body) = (address::slug(&slug)?, Map::new());
                body.insert("path".into(), slug.path().into());
                body.insert("server_name".into(), name.unwrap_or_else(|| slug.to_string()).into());
                insert(&mut body, "description", description);
                insert(&mut body, "tags", (!tag.is_empty()).then_some(tag));
                insert(&mut body, "required_scopes", (!scope.is_empty()).then_some(scope));
                body.insert("tool_mappings".into(), tool.into());
                body.insert("tool_scope_overrides".into(), row::overrides(&tool_scope));
                body.insert("is_enabled".into(), enable.into());
                let answer = speaker.call(Method::POST, "/api/virtual-servers", Some(&body.into())).await?;
                output.done(&format!("{} is created", slug.path()), &answer)?;
            }
            Self::ApplyFile { file } => apply(speaker, &file).await?,
            Self::Enable { slug } => toggle(speaker, &slug, true).await?,
            Self::Disable { slug } => toggle(speaker, &slug, false).await?,
            Self::Delete { slug } => {
                let slug = address::slug(&slug)?;
                let answer = speaker.delete(&address::of_virtual_server(&slug)?).await?;
                output.done(&format!("{} is deleted", slug.path()), &answer)?;
            }
            Self::Tools { slug } => {
                let list = speaker.get(&format!("{}/tools", address(&slug)?)).await?;
                let columns = [
                    ("TOOL", "name"),
                    ("SERVER", "backend_server_path"),
                    ("VERSION", "backend_version"),
                    ("ORIGINAL", "tool_name"),
                    ("MISSING", "missing"),
                    ("SCOPES", "required_scopes"),
                ];
                output.table(&list, "tools", &columns)?;
            }
            Self::Preview { slug, subject, group, scope } => {
                let words = |words: Vec<String>| (!words.is_empty()).then(|| words.join(","));
                let query = query(&[("as", subject), ("groups", words(group)), ("scopes", words(scope))]);
                output.fields(&speaker.get(&format!("{}/preview{query}", address(&slug)?)).await?)?;
            }
        }
        Ok(())
    }
}

/// Longest description of a virtual server; the gateway takes no longer bodies.
const MAX_DESCRIPTION_BYTES: u64 = 4 << 20;

/// Members of a shown document that are the gateway's own and no part of a description.
const NOT_WRITTEN: [&str; 10] = [
    "slug",
    "supported_transports",
    "num_tools",
    "backend_server_paths",
    "created_by",
    "created_at",
    "updated_at",
    "revision",
    "warnings",
    "suggested_aliases",
];

async fn apply(speaker: &Speaker, file: &std::path::Path) -> Result<(), Failure> {
    let text = if file.as_os_str() == "-" {
        small_file::text(std::io::stdin().lock(), MAX_DESCRIPTION_BYTES)
    } else {
        std::fs::File::open(file).and_then(|file| small_file::text(file, MAX_DESCRIPTION_BYTES))
    };
    let text = text.map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    let body: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{} is not JSON: {error}", file.display())))?;
    let Value::Object(mut body) = body else {
        return Err(Failure::usage(format!("{} holds no JSON object", file.display())));
    };
    NOT_WRITTEN.iter().for_each(|name| drop(body.remove(*name)));
    let Some(slug) = body.get("path").and_then(Value::as_str).map(address::slug).transpose()? else {
        return Err(Failure::usage(format!(
            "{} names no \"path\", for example /virtual/dev-tools",
            file.display()
        )));
    };
    let (body, address) = (Value::from(body), address::of_virtual_server(&slug)?);
    let (answer, word) = if speaker.is_there(&address).await? {
        (speaker.call(Method::PUT, &address, Some(&body)).await?, "replaced")
    } else {
        (speaker.call(Method::POST, "/api/virtual-servers", Some(&body)).await?, "created")
    };
    speaker.output.done(&format!("{} is {word}", slug.path()), &answer)
}

async fn toggle(speaker: &Speaker, slug: &str, enabled: bool) -> Result<(), Failure> {
    let slug = address::slug(slug)?;
    let address = format!("{}/toggle", address::of_virtual_server(&slug)?);
    let answer = speaker.call(Method::POST, &address, Some(&json!({ "enabled": enabled }))).await?;
    let word = if enabled { "enabled" } else { "disabled" };
    speaker.output.done(&format!("{} is {word}", slug.path()), &answer)
}

fn address(slug: &str) -> Result<String, Failure> {
    address::of_virtual_server(&address::slug(slug)?)
}

//! `switchyard explain`

use clap::Args;
use serde_json::Value;

use super::address;
use super::client::{Speaker, query};
use super::failure::Failure;
use super::output::{self, unexpected};
use super::visible::visible;

const EXAMPLES: &str = "\
Examples:
  switchyard explain /virtual/dev-tools --as alice
  switchyard explain /github --as ci --scope github-read
  switchyard explain /virtual/dev-tools --as alice --tool send_message";

/// Which endpoint to look at, with whose eyes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Wanted {
    /// The endpoint: /virtual/dev-tools, /github
    endpoint: String,
    /// The caller; yourself where absent
    #[arg(long = "as", value_name = "SUBJECT")]
    subject: Option<String>,
    /// A group of the caller, instead of those of its newest token (may be repeated)
    #[arg(long = "group", alias = "groups", value_delimiter = ',')]
    group: Vec<String>,
    /// A scope of the caller's token (may be repeated)
    #[arg(long = "scope", alias = "scopes", value_delimiter = ',')]
    scope: Vec<String>,
    /// The version of a server to look at; the active one where absent
    #[arg(long, value_name = "LABEL")]
    version: Option<String>,
    /// One tool, by the name clients see
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
}

impl Wanted {
    pub(super) async fn run(self, speaker: &Speaker) -> Result<(), Failure> {
        let Self { endpoint, subject, group, scope, version, tool } = self;
        let address = match endpoint.trim_start_matches('/').strip_prefix("virtual/") {
            Some(slug) => address::of_virtual_server(&address::slug(slug.trim_end_matches("/mcp"))?)?,
            None => address::of_server(endpoint.strip_suffix("/mcp").unwrap_or(&endpoint))?,
        };
        let words = |words: Vec<String>| (!words.is_empty()).then(|| words.join(","));
        let query = query(&[
            ("as", subject),
            ("groups", words(group)),
            ("scopes", words(scope)),
            ("version", version),
        ]);
        let mut preview = speaker.get(&format!("{address}/preview{query}")).await?;
        if let Some(tool) = &tool {
            let tools = preview.get_mut("tools").and_then(Value::as_array_mut);
            let tools = tools.ok_or_else(|| unexpected("a preview, with \"tools\""))?;
            tools.retain(|one| one.get("name").and_then(Value::as_str) == Some(tool));
            if tools.is_empty() {
                return Err(Failure::refused(format!("{endpoint} has no tool {tool}")));
            }
        }
        if speaker.output.is_json {
            return speaker.output.json(&preview);
        }
        tell(&preview)
    }
}

fn tell(preview: &Value) -> Result<(), Failure> {
    let word =
        |value: &Value, name: &str| visible(value.get(name).and_then(Value::as_str).unwrap_or_default());
    let (caller, path) = (word(preview, "as"), word(preview, "path"));
    let version = match preview.get("version").and_then(Value::as_str) {
        Some(label) => format!(" (version {})", visible(label)),
        None => String::new(),
    };
    let may = preview.get("may_enter").and_then(Value::as_bool);
    let may = may.ok_or_else(|| unexpected("a preview, with \"may_enter\""))?;
    let verb = if may { "may enter" } else { "may not enter" };
    output::line(&format!("{caller} {verb} {path}{version}, by {}", word(preview, "based_on")))?;
    for (title, name) in [("groups", "groups"), ("scopes", "scopes")] {
        let held = preview.get(name).and_then(Value::as_array).into_iter().flatten();
        let held: Vec<_> = held.filter_map(Value::as_str).map(visible).collect();
        if !held.is_empty() {
            output::line(&format!("  {title}: {}", held.join(", ")))?;
        }
    }
    for rule in preview.get("rules").and_then(Value::as_array).into_iter().flatten() {
        output::line(&format!("  {}: {}", word(rule, "rule"), word(rule, "detail")))?;
    }
    for tool in preview.get("tools").and_then(Value::as_array).into_iter().flatten() {
        let is_seen = tool.get("visible").and_then(Value::as_bool).unwrap_or_default();
        let mark = if is_seen { "sees " } else { "hides" };
        output::line(&format!("{mark} {}", word(tool, "name")))?;
        let rules = tool.get("rules").and_then(Value::as_array).into_iter().flatten();
        for rule in rules.filter(|_| !is_seen) {
            let (name, of) = (word(rule, "rule"), word(rule, "of"));
            output::line(&format!("      {name} of {of}: {}", word(rule, "detail")))?;
        }
    }
    Ok(())
}

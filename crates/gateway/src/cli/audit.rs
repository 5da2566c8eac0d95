//! `switchyard audit`

use clap::Args;

use super::client::{Speaker, query};
use super::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  switchyard audit --action version --since 2026-11-30T00:00:00Z
  switchyard audit --object /github --json
  switchyard audit --action mcp --outcome error --export > failed-calls.ndjson";

/// Which entries to show.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Wanted {
    /// Only what this subject did
    #[arg(long)]
    actor: Option<String>,
    /// Only this action; `version` stands for all of `version.…`, `mcp` for calls
    #[arg(long)]
    action: Option<String>,
    /// Only what was done to this path, slug, name or id
    #[arg(long)]
    object: Option<String>,
    /// Only what ended so: ok, refused, error
    #[arg(long)]
    outcome: Option<String>,
    /// Only what was done then or later: 2026-11-30T00:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only what was done before
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Most to show
    #[arg(long, conflicts_with = "export")]
    limit: Option<usize>,
    /// How many to skip
    #[arg(long, conflicts_with = "export")]
    offset: Option<usize>,
    /// Print all of it, an entry of JSON a line
    #[arg(long)]
    export: bool,
}

impl Wanted {
    pub(super) async fn run(self, speaker: &Speaker) -> Result<(), Failure> {
        let Self { actor, action, object, outcome, since, until, limit, offset, export } = self;
        let number = |number: Option<usize>| number.map(|number| number.to_string());
        let query = query(&[
            ("actor", actor),
            ("action", action),
            ("object", object),
            ("outcome", outcome),
            ("since", since),
            ("until", until),
            ("limit", number(limit)),
            ("offset", number(offset)),
        ]);
        if export {
            return speaker.copy(&format!("/api/audit/export{query}")).await;
        }
        let list = speaker.get(&format!("/api/audit{query}")).await?;
        let columns = [
            ("AT", "at"),
            ("ACTOR", "actor"),
            ("ACTION", "action"),
            ("OBJECT", "object"),
            ("OUTCOME", "outcome"),
            ("DETAIL", "detail"),
            ("FROM", "source"),
        ];
        speaker.output.table(&list, "entries", &columns)
    }
}

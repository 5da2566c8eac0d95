//! `switchyard token …`

use clap::Subcommand;
use http::Method;
use serde_json::{Map, Value};

use super::address;
use super::client::{Speaker, query};
use super::failure::Failure;
use super::output::{self, Output, unexpected};
use super::server::insert;
use super::visible::visible;
use crate::config::Span;

const EXAMPLES: &str = "\
Examples:
  switchyard token issue alice --group developers --expires-in 30d
  switchyard token issue ci --scope github-write --resource /virtual/dev-tools > ci.token
  switchyard token revoke 9f86d081884c7d65";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(super) enum Action {
    /// Issue a token and print it, this once
    #[command(after_help = EXAMPLES)]
    Issue {
        /// Who will present it; yourself where absent
        subject: Option<String>,
        /// A group it names (may be repeated)
        #[arg(long)]
        group: Vec<String>,
        /// A scope it carries itself (may be repeated)
        #[arg(long)]
        scope: Vec<String>,
        /// How long it is good for: 12h, 30d
        #[arg(long, value_name = "DURATION", value_parser = seconds)]
        expires_in: Option<u64>,
        /// The one endpoint it is good for: /virtual/dev-tools
        #[arg(long, value_name = "PATH")]
        resource: Option<String>,
        /// Make it an administrator's
        #[arg(long)]
        admin: bool,
        /// What it is for
        #[arg(long)]
        description: Option<String>,
    },
    /// List the tokens that were issued
    List {
        /// Only those of this subject
        #[arg(long)]
        subject: Option<String>,
        /// Revoked and expired ones, too
        #[arg(long)]
        all: bool,
        /// Most to show
        #[arg(long)]
        limit: Option<usize>,
        /// How many to skip
        #[arg(long)]
        offset: Option<usize>,
    },
    /// Revoke a token; it is refused from the next request on
    Revoke {
        /// Its id, as `token list` shows it
        id: String,
    },
}

impl Action {
    pub(super) async fn run(self, speaker: &Speaker) -> Result<(), Failure> {
        match self {
            Self::Issue { subject, group, scope, expires_in, resource, admin, description } => {
                if output::leads_nowhere() {
                    let hint = "it is closed or the null device";
                    return Err(Failure::refused(format!("standard output would lose the token: {hint}")));
                }
                let mut body = Map::new();
                insert(&mut body, "subject", subject);
                insert(&mut body, "groups", (!group.is_empty()).then_some(group));
                insert(&mut body, "scopes", (!scope.is_empty()).then_some(scope));
                insert(&mut body, "expires_in", expires_in);
                insert(&mut body, "resource", resource);
                insert(&mut body, "admin", admin.then_some(true));
                insert(&mut body, "description", description);
                let answer = speaker.call(Method::POST, "/api/tokens", Some(&body.into())).await?;
                print(speaker.output, &answer)?;
            }
            Self::List { subject, all, limit, offset } => {
                let number = |number: Option<usize>| number.map(|number| number.to_string());
                let query = query(&[
                    ("subject", subject),
                    ("include_revoked", all.then(|| "true".into())),
                    ("limit", number(limit)),
                    ("offset", number(offset)),
                ]);
                let list = speaker.get(&format!("/api/tokens{query}")).await?;
                let columns = [
                    ("ID", "id"),
                    ("SUBJECT", "subject"),
                    ("ADMIN", "admin"),
                    ("GROUPS", "groups"),
                    ("SCOPES", "scopes"),
                    ("RESOURCE", "resource"),
                    ("EXPIRES", "expires_at"),
                    ("LAST USED", "last_used_at"),
                    ("REVOKED", "revoked_at"),
                ];
                speaker.output.table(&list, "tokens", &columns)?;
            }
            Self::Revoke { id } => {
                let answer = speaker.delete(&address::of_token(&id)?).await?;
                speaker.output.done(&format!("token {id} is revoked"), &answer)?;
            }
        }
        Ok(())
    }
}

/// Prints a new token alone, so that it can be sent to a file. One that could not be printed is good all the
/// same, so it is said how to be rid of it.
fn print(output: Output, answer: &Value) -> Result<(), Failure> {
    let token = answer.get("token").and_then(Value::as_str);
    let token = token.ok_or_else(|| unexpected("a token that was issued, with \"token\""))?;
    let printed = if output.is_json { output.json(answer) } else { output::line(&visible(token)) };
    printed.map_err(|failure| {
        let id = answer.get("id").and_then(Value::as_str).unwrap_or_default();
        let hint = format!("the token is issued but lost; revoke it with: switchyard token revoke {id}");
        Failure { message: format!("{}; {}", failure.message, visible(&hint)), ..failure }
    })
}

fn seconds(text: &str) -> Result<u64, String> {
    let span = Span::parse(text).ok_or("write it as 3600, 12h or 30d")?;
    Ok(span.0.as_secs())
}

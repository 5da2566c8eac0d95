//! The administrator's first token: made on first start, kept as long as it is good.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use auth::{Authenticator, Issuer};
use catalog::Catalog;
use catalog::time::Timestamp;
use catalog::token::{IssuedToken, MAX_LIFE_SECONDS};
use registry::Registry;
use store::change::{Change, Edit};

/// Its name in the data directory.
const FILE: &str = "admin.token";

/// The token, kept.
pub(super) struct Kept {
    /// Where it lies.
    pub(super) file: PathBuf,
    /// Whether this is the first token that was ever made here, or is left.
    pub(super) is_first: bool,
}

/// Makes sure that a good administrator's token lies in the data directory. One that was lost, has expired or
/// was revoked is replaced by a new one; another good one is left alone.
pub(super) async fn keep(
    data: &Path,
    registry: &Arc<Registry>,
    authenticator: &Authenticator,
    issuer: &Issuer,
) -> anyhow::Result<Kept> {
    let file = data.join(FILE);
    let now = Timestamp::now();
    match fs::read_to_string(&file) {
        Ok(text) if is_good(text.trim(), &registry.catalog(), authenticator, now) => {
            return Ok(Kept { file, is_first: false });
        }
        Ok(_) => tracing::warn!("the token in {} is not good any more and is replaced", file.display()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
    let is_first = registry.catalog().tokens.is_empty();
    let token = IssuedToken {
        id: Issuer::new_id(),
        subject: "admin".into(),
        description: "made by the gateway on its start".into(),
        groups: Vec::new(),
        scopes: Vec::new(),
        is_admin: true,
        resource: None,
        subject_issuer: None,
        created_by: "switchyard".into(),
        made_with: None,
        created_at: now,
        expires_at: now.plus_seconds(MAX_LIFE_SECONDS),
        revoked_at: None,
    };
    let signed = issuer.sign(&token);
    // The record first: a token without one would be unknown to revocation.
    registry.apply(|_| Ok((Change::new(vec![Edit::PutToken(Arc::new(token))]), ()))).await?;
    write_private(&file, &signed).with_context(|| format!("cannot write {}", file.display()))?;
    tracing::info!("the administrator's token is in {}", file.display());
    Ok(Kept { file, is_first })
}

fn is_good(text: &str, catalog: &Catalog, authenticator: &Authenticator, now: Timestamp) -> bool {
    let Ok(principal) = authenticator.authenticate(text, now) else { return false };
    let record = principal.token.as_ref().and_then(|id| catalog.tokens.get(id));
    principal.is_admin && record.is_some_and(|record| record.is_live(now))
}

/// Writes a line to a file that its owner alone can read, whole or not at all.
fn write_private(file: &Path, line: &str) -> io::Result<()> {
    let aside = file.with_extension("token.new");
    // What an earlier attempt may have left could have another mode.
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut target = options.open(&aside)?;
    writeln!(target, "{line}")?;
    target.sync_all()?;
    fs::rename(&aside, file)
}

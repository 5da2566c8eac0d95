//! What a given caller would see of a virtual server, and why.

use std::sync::Arc;

use catalog::Catalog;
use catalog::access::{Grants, Principal, Scope};
use catalog::error::{Invalid, Refusal};
use catalog::rights::{Guard, Rights};
use catalog::time::Timestamp;
use catalog::token::IssuedToken;
use catalog::virtual_server::VirtualServer;
use serde::Serialize;
use utoipa::ToSchema;

use super::document::words;
use super::resolved::{all_scopes, source};

/// What a caller would see of a virtual server, and why.
#[derive(Serialize, ToSchema)]
#[schema(as = VirtualServerPreview)]
pub(super) struct Preview {
    /// The virtual server.
    path: String,
    /// The caller.
    r#as: String,
    /// Where the groups and scopes were taken from.
    based_on: String,
    /// The caller's groups.
    groups: Vec<String>,
    /// All scopes the caller holds, those of the groups among them.
    scopes: Vec<String>,
    /// Whether it is an administrator, who may do everything.
    is_admin: bool,
    /// Whether the virtual server is routed at all.
    is_enabled: bool,
    /// Whether the caller may use the virtual server.
    may_enter: bool,
    /// Scopes the caller lacks for that.
    missing_scopes: Vec<String>,
    /// Every mapped tool, in the order clients see.
    tools: Vec<Tool>,
    /// How many of them the caller sees.
    visible_count: usize,
}

/// One tool and whether the caller sees it.
#[derive(Serialize, ToSchema)]
#[schema(as = PreviewedTool)]
struct Tool {
    /// The name clients see.
    name: String,
    /// The tool's name on its server.
    tool_name: String,
    /// Path of the server.
    backend_server_path: String,
    /// Whether the caller sees it and may call it.
    visible: bool,
    /// Scopes a caller needs, those of the virtual server among them.
    required_scopes: Vec<String>,
    /// Scopes the caller lacks.
    missing_scopes: Vec<String>,
    /// Whether the tool is gone, so that nobody sees it.
    missing: bool,
    /// Why the caller does not see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// For whom a preview is made.
pub(super) struct Viewer {
    principal: Principal,
    based_on: String,
}

impl Viewer {
    /// Whoever asks.
    pub(super) fn caller(principal: &Principal) -> Self {
        Self { principal: principal.clone(), based_on: "your own token".into() }
    }

    /// A subject with given groups and scopes, else with those of its newest live token.
    pub(super) fn subject(
        catalog: &Catalog,
        subject: &str,
        groups: Option<&str>,
        scopes: Option<&str>,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let mut principal = Principal { subject: subject.into(), ..Principal::anonymous() };
        if groups.is_some() || scopes.is_some() {
            principal.groups = listed(groups).map(str::to_owned).collect();
            let (good, bad): (Vec<_>, Vec<_>) =
                listed(scopes).map(|text| Scope::parse("scopes", text)).partition(Result::is_ok);
            let faults: Vec<Invalid> = bad.into_iter().filter_map(Result::err).collect();
            if !faults.is_empty() {
                return Err(Refusal::Invalid(faults));
            }
            principal.scopes = good.into_iter().filter_map(Result::ok).collect();
            return Ok(Self { principal, based_on: "the groups and scopes that were given".into() });
        }
        let live = catalog.tokens.values().filter(|token| token.subject == subject && token.is_live(now));
        let Some(token) = live.max_by_key(|token| token.created_at) else {
            let based_on = format!("nothing: no live token was issued to {subject}; give groups or scopes");
            return Ok(Self { principal, based_on });
        };
        Ok(Self { based_on: format!("the token {}", token.id), principal: holder(token) })
    }
}

impl Preview {
    /// Looks at a virtual server with the eyes of a viewer.
    pub(super) fn of(catalog: &Catalog, server: &VirtualServer, viewer: Viewer) -> Self {
        let Viewer { principal, based_on } = viewer;
        let grants = Grants::of(&principal, &catalog.groups);
        let path = server.slug.path();
        let bound_elsewhere = principal.resource.as_deref().filter(|resource| *resource != path);
        let based_on = match bound_elsewhere {
            Some(resource) => format!("{based_on}, which is good for {resource} alone"),
            None => based_on,
        };
        let (rights, holds) = (Rights::of(&catalog.scopes), |scope: &Scope| lacking_none(&grants, scope));
        let own = rights.guard(&path).filter(|_| !grants.is_everything());
        let mut missing_scopes = lacking(&grants, &server.required_scopes);
        let is_admitted = own.is_none_or(|guard| guard.admits(holds));
        missing_scopes
            .extend(own.filter(|_| !is_admitted).and_then(Guard::entry_scope).map(ToString::to_string));
        let may_enter = missing_scopes.is_empty() && is_admitted && bound_elsewhere.is_none();
        let mut scopes: Vec<String> = grants.scopes().map(ToString::to_string).collect();
        scopes.sort();
        let tools: Vec<Tool> = (server.mappings.iter())
            .map(|row| {
                let needed = all_scopes(server, row);
                let (mut missing_scopes, gone) = (lacking(&grants, &needed), source(catalog, row).item.err());
                let (guard, name) = match own {
                    Some(guard) => (Some(guard), row.exposed()),
                    None => (rights.guard(row.server.as_str()), row.tool.as_str()),
                };
                let guard = guard.filter(|guard| !grants.is_everything() && !guard.shows(holds, name));
                let asked = guard.and_then(|guard| guard.scope_for("tools/call", Some(name)));
                missing_scopes.extend(asked.map(ToString::to_string));
                let is_shown = missing_scopes.is_empty() && guard.is_none() && is_admitted;
                let visible = bound_elsewhere.is_none() && is_shown && gone.is_none();
                let closed = || guard.map(|_| "no scope allows it".to_owned());
                let lacks = || format!("missing required scope: {}", missing_scopes.join(", "));
                let elsewhere =
                    || bound_elsewhere.map(|resource| format!("the token is good for {resource} alone"));
                let reason = (!missing_scopes.is_empty())
                    .then(lacks)
                    .or_else(closed)
                    .or_else(elsewhere)
                    .or_else(|| gone.clone());
                Tool {
                    name: row.exposed().to_owned(),
                    tool_name: row.tool.clone(),
                    backend_server_path: row.server.to_string(),
                    visible,
                    required_scopes: words(&needed),
                    missing: gone.is_some(),
                    reason,
                    missing_scopes,
                }
            })
            .collect();
        Self {
            path,
            r#as: principal.subject.to_string(),
            based_on,
            groups: principal.groups,
            scopes,
            is_admin: principal.is_admin,
            is_enabled: server.is_enabled,
            may_enter,
            missing_scopes,
            visible_count: tools.iter().filter(|tool| tool.visible).count(),
            tools,
        }
    }
}

/// Returns whom a token stands for.
fn holder(token: &Arc<IssuedToken>) -> Principal {
    Principal {
        subject: token.subject.as_str().into(),
        groups: token.groups.clone(),
        scopes: token.scopes.clone(),
        is_admin: token.is_admin,
        token: Some(token.id.clone()),
        resource: token.resource.as_deref().map(Into::into),
        expires_at: Some(token.expires_at),
        ..Principal::anonymous()
    }
}

fn lacking_none(grants: &Grants, scope: &Scope) -> bool {
    grants.missing(std::slice::from_ref(scope)).is_none()
}

fn lacking(grants: &Grants, needed: &[Scope]) -> Vec<String> {
    let lacks = |scope: &&Scope| grants.missing(std::slice::from_ref(*scope)).is_some();
    needed.iter().filter(lacks).map(ToString::to_string).collect()
}

fn listed(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split(',').map(str::trim).filter(|one| !one.is_empty())
}

//! What a given caller would see of an endpoint, and which rules hide the rest.

use std::sync::Arc;

use catalog::Catalog;
use catalog::access::{Grants, Principal, Scope};
use catalog::error::{Invalid, Refusal};
use catalog::rights::Rights;
use catalog::time::Timestamp;
use catalog::token::IssuedToken;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::error::Problem;
use super::extract::Caller;

/// For whom a preview is made.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct For {
    /// The caller to stand in for; oneself where absent.
    r#as: Option<String>,
    /// Groups of that caller, with commas between.
    groups: Option<String>,
    /// Scopes that caller's token carries, with commas between.
    scopes: Option<String>,
}

/// What a caller would see of an endpoint, and why.
#[derive(Serialize, ToSchema)]
#[schema(as = Preview)]
pub(super) struct Preview {
    /// The endpoint.
    path: String,
    /// The version of a server that is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
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
    /// Whether the endpoint is routed at all.
    is_enabled: bool,
    /// Whether the caller may use the endpoint.
    may_enter: bool,
    /// Why not, or why nobody can.
    rules: Vec<Rule>,
    /// Scopes the caller lacks for that.
    missing_scopes: Vec<String>,
    /// Every tool, in the order clients see.
    tools: Vec<Tool>,
    /// How many of them the caller sees.
    visible_count: usize,
}

/// One tool and whether the caller sees it.
#[derive(Serialize, ToSchema)]
#[schema(as = PreviewedTool)]
pub(super) struct Tool {
    /// The name clients see.
    name: String,
    /// The tool's name on its server.
    tool_name: String,
    /// Path of the server.
    backend_server_path: String,
    /// Whether the caller sees it and may call it.
    visible: bool,
    /// Scopes a caller needs, those of the endpoint among them.
    required_scopes: Vec<String>,
    /// Scopes the caller lacks.
    missing_scopes: Vec<String>,
    /// Whether the tool is gone, so that nobody sees it.
    missing: bool,
    /// Each rule that hides it, those of the endpoint among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<Rule>,
    /// Why the caller does not see it: what the first of the tool's own rules says, else the first of the endpoint's.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A rule that hides something.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = HidingRule)]
pub(super) struct Rule {
    /// `disabled`, `token_bound`, `endpoint_scopes`, `server_access`, `tool_scopes` or `unavailable`.
    #[schema(examples("tool_scopes"))]
    rule: &'static str,
    /// What sets it: an endpoint, or a tool of one.
    of: String,
    /// What it says.
    detail: String,
}

/// A tool as its endpoint has it, before anybody looks.
pub(super) struct Shown {
    /// The name clients see.
    pub(super) name: String,
    /// The tool's name on its server.
    pub(super) tool: String,
    /// Path of the server.
    pub(super) server: String,
    /// Scopes it needs beside those of the endpoint.
    pub(super) needs: Vec<Scope>,
    /// Why nobody can use it.
    pub(super) gone: Option<String>,
}

/// An endpoint before anybody looks.
pub(super) struct Endpoint<'a> {
    /// Its short path.
    pub(super) path: String,
    /// The version that is looked at, of a server.
    pub(super) version: Option<String>,
    /// Scopes a caller needs to enter.
    pub(super) required_scopes: &'a [Scope],
    /// Whether it is routed.
    pub(super) is_enabled: bool,
    /// Its tools.
    pub(super) tools: Vec<Shown>,
}

/// Whose eyes a preview is made with.
pub(super) struct Viewer {
    principal: Principal,
    based_on: String,
}

impl For {
    /// Finds out whose eyes are meant. Only an administrator may look with those of others.
    pub(super) fn viewer(&self, catalog: &Catalog, caller: &Caller) -> Result<Viewer, Problem> {
        let own = &caller.principal;
        let is_other = self.r#as.as_deref().is_some_and(|subject| subject != &*own.subject)
            || self.groups.is_some()
            || self.scopes.is_some();
        if is_other && !own.is_admin {
            let detail = format!("{} may only preview as themselves", own.subject);
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        let (groups, scopes) = (self.groups.as_deref(), self.scopes.as_deref());
        match &self.r#as {
            // Who is no administrator sees what their own token shows, not what their newest one would.
            _ if !is_other && (self.r#as.is_none() || !own.is_admin) => Ok(Viewer::caller(own)),
            subject => {
                let subject = subject.as_deref().unwrap_or(&own.subject);
                Ok(Viewer::subject(catalog, subject, groups, scopes, Timestamp::now())?)
            }
        }
    }
}

impl Viewer {
    /// Whoever asks.
    fn caller(principal: &Principal) -> Self {
        Self { principal: principal.clone(), based_on: "your own token".into() }
    }

    /// A subject with given groups and scopes, else with those of its newest live token.
    fn subject(
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
    /// Looks at an endpoint with the eyes of a viewer.
    pub(super) fn of(catalog: &Catalog, endpoint: Endpoint<'_>, viewer: Viewer) -> Self {
        let Viewer { principal, based_on } = viewer;
        let grants = Grants::of(&principal, &catalog.groups);
        let Endpoint { path, version, required_scopes, is_enabled, tools } = endpoint;
        let mut missing_scopes = lacking(&grants, required_scopes);
        let rights = Rights::of(&catalog.scopes);
        let own = rights.guard(&path).filter(|_| !grants.is_everything());
        let mut rules = Vec::new();
        let mut add = |rule, detail| rules.push(Rule { rule, of: path.clone(), detail });
        if !is_enabled {
            add("disabled", format!("{path} is disabled"));
        }
        let bound_elsewhere = principal.resource.as_deref().filter(|resource| *resource != path);
        if let Some(resource) = bound_elsewhere {
            add("token_bound", format!("the token is good for {resource} alone"));
        }
        if !missing_scopes.is_empty() {
            add("endpoint_scopes", format!("missing required scope: {}", missing_scopes.join(", ")));
        }
        let shut = own.filter(|guard| !guard.admits(|scope| holds(&grants, scope)));
        if let Some(guard) = shut {
            let scope = guard.entry_scope();
            add("server_access", asking(scope, || format!("no scope allows anything at {path}")));
            missing_scopes.extend(scope.map(ToString::to_string));
        }
        let based_on = match bound_elsewhere {
            Some(resource) => format!("{based_on}, which is good for {resource} alone"),
            None => based_on,
        };
        let may_enter = missing_scopes.is_empty() && shut.is_none() && bound_elsewhere.is_none();
        let mut scopes: Vec<String> = grants.scopes().map(ToString::to_string).collect();
        scopes.sort();
        let tools = tools.into_iter().map(|tool| {
            // Who guards an endpoint guards its tools under the names it shows; else the server behind does.
            let guarded = match own {
                Some(guard) => Some((guard, path.clone(), tool.name.clone())),
                None => {
                    rights.guard(&tool.server).map(|guard| (guard, tool.server.clone(), tool.tool.clone()))
                }
            };
            let closed = guarded.filter(|(guard, _, name)| {
                !grants.is_everything() && !guard.shows(|scope| holds(&grants, scope), name)
            });
            let closed = closed.map(|(guard, of, name)| (of, guard.scope_for("tools/call", Some(&name))));
            Tool::of(tool, required_scopes, &rules, closed, &grants)
        });
        let tools: Vec<_> = tools.collect();
        Self {
            path,
            version,
            r#as: principal.subject.to_string(),
            based_on,
            groups: principal.groups,
            scopes,
            is_admin: principal.is_admin,
            is_enabled,
            may_enter,
            rules,
            missing_scopes,
            visible_count: tools.iter().filter(|tool| tool.visible).count(),
            tools,
        }
    }
}

impl Tool {
    /// Looks at one tool. `closed` names the endpoint whose scope documents hide it, and the scope that would show it.
    fn of(
        shown: Shown,
        required: &[Scope],
        of_endpoint: &[Rule],
        closed: Option<(String, Option<&Scope>)>,
        grants: &Grants,
    ) -> Self {
        let Shown { name, tool, server, needs, gone } = shown;
        let own: Vec<_> = needs.into_iter().filter(|scope| !required.contains(scope)).collect();
        let lacking_here = lacking(grants, &own);
        let mut rules = Vec::new();
        if !lacking_here.is_empty() {
            let detail = format!("missing required scope: {}", lacking_here.join(", "));
            rules.push(Rule { rule: "tool_scopes", of: name.clone(), detail });
        }
        let needed: Vec<_> = required.iter().chain(&own).cloned().collect();
        let mut missing_scopes = lacking(grants, &needed);
        if let Some((of, scope)) = closed {
            rules.push(Rule {
                rule: "server_access",
                of,
                detail: asking(scope, || "no scope allows it".into()),
            });
            missing_scopes.extend(scope.map(ToString::to_string));
        }
        let missing = gone.is_some();
        if let Some(reason) = gone {
            rules.push(Rule { rule: "unavailable", of: server.clone(), detail: reason });
        }
        let first = rules.first().or(of_endpoint.first());
        let reason = first.map(|rule| rule.detail.clone());
        // A tool stays visible to those who may see it while its endpoint is switched off for a while.
        let hides = |rule: &&Rule| rule.rule != "disabled";
        let visible = rules.is_empty() && of_endpoint.iter().find(hides).is_none();
        rules.extend(of_endpoint.iter().cloned());
        Self {
            visible,
            required_scopes: needed.iter().map(ToString::to_string).collect(),
            missing_scopes,
            name,
            tool_name: tool,
            backend_server_path: server,
            missing,
            rules,
            reason,
        }
    }
}

/// Returns whom a token stands for.
fn holder(token: &Arc<IssuedToken>) -> Principal {
    Principal {
        subject: token.subject.as_str().into(),
        issuer: token.subject_issuer.as_deref().unwrap_or_default().into(),
        groups: token.groups.clone(),
        scopes: token.scopes.clone(),
        is_admin: token.is_admin,
        token: Some(token.id.clone()),
        resource: token.resource.as_deref().map(Into::into),
        expires_at: Some(token.expires_at),
        ..Principal::anonymous()
    }
}

fn holds(grants: &Grants, scope: &Scope) -> bool {
    grants.missing(std::slice::from_ref(scope)).is_none()
}

/// Says which scope would open what documents of scopes close, where one does.
fn asking(scope: Option<&Scope>, or: impl FnOnce() -> String) -> String {
    scope.map_or_else(or, |scope| format!("missing required scope: {scope}"))
}

fn lacking(grants: &Grants, needed: &[Scope]) -> Vec<String> {
    let lacks = |scope: &&Scope| grants.missing(std::slice::from_ref(*scope)).is_some();
    needed.iter().filter(lacks).map(ToString::to_string).collect()
}

fn listed(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split(',').map(str::trim).filter(|one| !one.is_empty())
}

//! What changes between two versions of a server: which tools, prompts and resources come, go and change,
//! whether that breaks callers, and which virtual servers notice.

mod schema;

use std::collections::BTreeMap;

use catalog::Catalog;
use catalog::error::{Invalid, Refusal};
use catalog::inventory::{Inventory, Item};
use catalog::name::{ServerPath, VersionLabel};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use schema::{Findings, Side};

/// The way from one version of a server to another.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Diff {
    /// Path of the server.
    #[schema(examples("/context7"))]
    pub(crate) path: String,
    /// Label of the version compared from.
    #[schema(examples("v1.5.0"))]
    pub(crate) from: String,
    /// Label of the version compared to.
    #[schema(examples("v2.0.0"))]
    pub(crate) to: String,
    /// Whether anything at all breaks callers of the first version.
    pub(crate) breaking: bool,
    /// What happens to tools.
    #[serde(flatten)]
    pub(crate) tools: Changes,
    /// What happens to prompts.
    pub(crate) prompts: Changes,
    /// What happens to resources, by URI.
    pub(crate) resources: Changes,
    /// What happens to resource templates, by URI template.
    pub(crate) resource_templates: Changes,
    /// Virtual servers that map a tool which goes away or changes in a breaking way.
    pub(crate) virtual_servers: Vec<Touched>,
}

/// What happens to one kind of item, each by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Changes {
    /// Only the second version has these.
    pub(crate) added: Vec<OneChange>,
    /// Only the first version has these.
    pub(crate) removed: Vec<OneChange>,
    /// Both have these, but not alike.
    pub(crate) changed: Vec<OneChange>,
}

/// One item that comes, goes or changes.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct OneChange {
    /// Its name, URI or URI template.
    pub(crate) name: String,
    /// Whether a caller made for the first version may fail with the second.
    pub(crate) breaking: bool,
    /// What is different, as a person would say it; what breaks comes first.
    pub(crate) reasons: Vec<String>,
}

/// A virtual server that maps a tool which goes away or breaks.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Touched {
    /// Its endpoint.
    #[schema(examples("/virtual/dev-tools"))]
    pub(crate) path: String,
    /// Its name.
    pub(crate) server_name: String,
    /// The original names of the tools concerned.
    pub(crate) tools: Vec<String>,
    /// Whether every one of its rows is pinned to the first version, so that a switch alone changes nothing.
    pub(crate) pinned: bool,
}

/// Compares two versions of a registered server.
///
/// **Errors:** no such server or version, or a version whose backend was never read.
pub(crate) fn of_versions(
    catalog: &Catalog,
    path: &ServerPath,
    from: &str,
    to: &str,
) -> Result<Diff, Refusal> {
    let server = catalog.servers.get(path).ok_or_else(|| Refusal::NoSuch {
        kind: "server",
        name: path.to_string(),
        known: Vec::new(),
    })?;
    let (from, to) = (&server.require(from)?.label, &server.require(to)?.label);
    let unread = |label: &VersionLabel| {
        let reason = format!("the tools of {path} {label} are not known yet; refresh it first");
        Invalid::new("version", reason)
    };
    match (catalog.inventory(path, from), catalog.inventory(path, to)) {
        (Some(old), Some(new)) => {
            let mut diff = between(old, new);
            (diff.path, diff.from, diff.to) = (path.to_string(), from.to_string(), to.to_string());
            diff.virtual_servers = touched(catalog, path, from, &diff.tools);
            Ok(diff)
        }
        (old, new) => {
            let faults = [(old, from), (new, to)].into_iter().filter(|(known, _)| known.is_none());
            Err(Refusal::Invalid(faults.map(|(_, label)| unread(label)).collect()))
        }
    }
}

/// Compares two inventories alone: no path, no labels and no virtual servers in the answer.
pub(crate) fn between(old: &Inventory, new: &Inventory) -> Diff {
    let tools = changes("tool", old.all_tools(), new.all_tools(), tool);
    let prompts = changes("prompt", &old.prompts, &new.prompts, prompt);
    let resources = changes("resource", &old.resources, &new.resources, resource);
    let resource_templates = changes("resource template", &old.templates, &new.templates, resource);
    let all = [&tools, &prompts, &resources, &resource_templates];
    let breaking = all.into_iter().any(Changes::is_breaking);
    Diff {
        path: String::new(),
        from: String::new(),
        to: String::new(),
        breaking,
        tools,
        prompts,
        resources,
        resource_templates,
        virtual_servers: Vec::new(),
    }
}

impl Changes {
    fn is_breaking(&self) -> bool {
        self.breaking().next().is_some()
    }

    fn breaking(&self) -> impl Iterator<Item = &OneChange> {
        self.removed.iter().chain(&self.changed).filter(|one| one.breaking)
    }
}

fn changes<'a>(
    kind: &str,
    old: impl IntoIterator<Item = &'a Item>,
    new: impl IntoIterator<Item = &'a Item>,
    compare: fn(&Map<String, Value>, &Map<String, Value>, &mut Findings),
) -> Changes {
    let (old, new): (Vec<_>, Vec<_>) = (old.into_iter().collect(), new.into_iter().collect());
    let by_name = |items: &[&Item]| -> BTreeMap<String, Map<String, Value>> {
        items.iter().map(|item| (item.name.to_string(), object(item))).collect()
    };
    let (before, after) = (by_name(&old), by_name(&new));
    let mut found = Changes::default();
    for item in new.iter().filter(|item| !before.contains_key(&*item.name)) {
        let reasons = vec![format!("the {kind} is new")];
        found.added.push(OneChange { name: item.name.to_string(), breaking: false, reasons });
    }
    for item in old {
        let name = item.name.to_string();
        let Some(next) = after.get(&name) else {
            let reasons = vec![format!("the {kind} is gone")];
            found.removed.push(OneChange { name, breaking: true, reasons });
            continue;
        };
        let mut findings = Findings::default();
        compare(&before[&name], next, &mut findings);
        let breaking = !findings.breaking.is_empty();
        let reasons: Vec<String> = findings.breaking.into_iter().chain(findings.harmless).collect();
        if !reasons.is_empty() {
            found.changed.push(OneChange { name, breaking, reasons });
        }
    }
    found
}

/// Returns an item as an object; a backend's item that is none counts as empty.
fn object(item: &Item) -> Map<String, Value> {
    serde_json::from_str(&item.json).unwrap_or_default()
}

fn tool(old: &Map<String, Value>, new: &Map<String, Value>, found: &mut Findings) {
    let anything = Value::Bool(true);
    let input = |of: &'_ Map<String, Value>| of.get("inputSchema").cloned().unwrap_or(anything.clone());
    schema::compare(&input(old), &input(new), Side::Input, found);
    match (old.get("outputSchema"), new.get("outputSchema")) {
        (Some(before), Some(after)) => schema::compare(before, after, Side::Output, found),
        (Some(_), None) => found.breaking.push("output: its schema is gone".into()),
        (None, Some(_)) => found.harmless.push("output: it has a schema now".into()),
        (None, None) => {}
    }
    others(old, new, &["name", "inputSchema", "outputSchema"], found);
}

fn prompt(old: &Map<String, Value>, new: &Map<String, Value>, found: &mut Findings) {
    let (before, after) = (arguments(old), arguments(new));
    for (name, required) in &after {
        match before.get(name) {
            None if *required => found.breaking.push(format!("the new argument `{name}` is required")),
            None => found.harmless.push(format!("the argument `{name}` is new")),
            Some(false) if *required => found.breaking.push(format!("the argument `{name}` is now required")),
            Some(true) if !required => {
                found.harmless.push(format!("the argument `{name}` is no longer required"));
            }
            Some(_) => {}
        }
    }
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    found.breaking.extend(gone.map(|name| format!("the argument `{name}` is gone")));
    if before == after && old.get("arguments") != new.get("arguments") {
        found.harmless.push("the arguments are described differently".into());
    }
    others(old, new, &["name", "arguments"], found);
}

/// Returns a prompt's arguments and whether each is required.
fn arguments(prompt: &Map<String, Value>) -> BTreeMap<&str, bool> {
    let list = prompt.get("arguments").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let named = list.iter().filter_map(|one| Some((one.get("name")?.as_str()?, one)));
    named.map(|(name, one)| (name, one.get("required").and_then(Value::as_bool).unwrap_or(false))).collect()
}

fn resource(old: &Map<String, Value>, new: &Map<String, Value>, found: &mut Findings) {
    let kind = |of: &'_ Map<String, Value>| {
        of.get("mimeType").and_then(Value::as_str).map_or_else(|| "unsaid".to_owned(), str::to_owned)
    };
    if kind(old) != kind(new) {
        found.breaking.push(format!("its media type changed from {} to {}", kind(old), kind(new)));
    }
    others(old, new, &["uri", "uriTemplate", "mimeType"], found);
}

/// Says which of the remaining members differ. None of them can break a call.
fn others(old: &Map<String, Value>, new: &Map<String, Value>, compared: &[&str], found: &mut Findings) {
    let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    for key in keys.filter(|key| !compared.contains(&key.as_str())) {
        match (old.get(key), new.get(key)) {
            (Some(before), Some(after)) if before != after => {
                found.harmless.push(format!("its {key} changed"));
            }
            (Some(_), None) => found.harmless.push(format!("its {key} is gone")),
            (None, Some(_)) => found.harmless.push(format!("its {key} is new")),
            _ => {}
        }
    }
}

/// Returns the virtual servers with rows that follow the first version, by pin or by default, and name a
/// tool that goes away or breaks.
fn touched(catalog: &Catalog, path: &ServerPath, from: &VersionLabel, tools: &Changes) -> Vec<Touched> {
    let broken: Vec<&str> = tools.breaking().map(|one| one.name.as_str()).collect();
    let mut found = Vec::new();
    for server in catalog.virtual_servers.values() {
        let follows = |pin: &Option<VersionLabel>| pin.as_ref().is_none_or(|label| label == from);
        let rows: Vec<_> = (server.mappings.iter())
            .filter(|row| row.server == *path && follows(&row.pin) && broken.contains(&row.tool.as_str()))
            .collect();
        if !rows.is_empty() {
            let mut tools: Vec<String> = rows.iter().map(|row| row.tool.clone()).collect();
            tools.dedup();
            let pinned = rows.iter().all(|row| row.pin.is_some());
            found.push(Touched { path: server.slug.path(), server_name: server.name.clone(), tools, pinned });
        }
    }
    found
}

#[cfg(test)]
mod tests;

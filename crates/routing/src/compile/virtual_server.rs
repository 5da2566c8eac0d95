//! A virtual server compiled: names to backends, and lists ready to be sent.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use catalog::endpoint::Era;
use catalog::inventory::{Item, Side};
use catalog::name::ServerPath;
use catalog::virtual_server::{Mapping, VirtualServer};
use mcp::message::quote;

use super::LeftOut;
use crate::face::Face;
use crate::names::{Listing, Prefix, Resource, Template, Tool};
use crate::target::{ServerTarget, VirtualTarget};
use crate::version::VersionTarget;

type Servers = HashMap<ServerPath, Arc<ServerTarget>>;

/// Compiles one virtual server, or takes it over when neither it nor any of its backends changed.
pub(super) fn compile(
    source: &Arc<VirtualServer>,
    servers: &Servers,
    old: Option<&Arc<VirtualTarget>>,
    left_out: &mut Vec<LeftOut>,
) -> Arc<VirtualTarget> {
    let (backends, rows) = resolve(source, servers);
    let missing = missing(source, &rows, &backends, left_out);
    // Which backend a row has can change while the backends stay the same: one pinned, one that follows.
    if let Some(old) = old
        && Arc::ptr_eq(&old.source, source)
        && old.rows == rows
        && old.backends.len() == backends.len()
        && old.backends.iter().zip(&backends).all(|(old, new)| Arc::ptr_eq(old, new))
    {
        return old.clone();
    }
    let legacy = Arc::new(face(source, &rows, &backends, Era::Legacy, None));
    let modern = if backends.iter().all(|backend| backend.is_alike()) {
        legacy.clone()
    } else {
        Arc::new(face(source, &rows, &backends, Era::Modern, Some(&legacy)))
    };
    Arc::new(VirtualTarget {
        slug: source.slug.clone(),
        path: source.slug.path(),
        binding: format!("{}@{}", source.slug.path(), source.created_at.0),
        required_scopes: source.required_scopes.clone(),
        is_enabled: source.is_enabled,
        server_info: server_info(source),
        missing,
        wants_caller: backends.iter().any(|backend| backend.wants_caller()),
        legacy,
        modern,
        backends,
        rows,
        source: source.clone(),
    })
}

/// Compiles what clients of `front` see. What is the same in `other`, which clients of the other era see, is shared.
fn face(
    source: &VirtualServer,
    rows: &[Option<usize>],
    backends: &[Arc<VersionTarget>],
    front: Era,
    other: Option<&Face>,
) -> Face {
    let sides: Vec<_> = backends.iter().map(|backend| backend.side(front)).collect();
    let mut tools = compile_tools(source, rows, backends, &sides);
    for tool in &mut tools {
        let twin = other.and_then(|other| other.tool(&tool.exposed)).filter(|twin| twin.json == tool.json);
        tool.json = twin.map_or(tool.json.take(), |twin| twin.json.clone());
    }
    let by_tool =
        tools.iter().enumerate().map(|(index, tool)| (tool.exposed.clone(), index as u32)).collect();
    let (by_prompt, prompts) =
        if source.exposes_prompts { compile_prompts(&sides) } else { Default::default() };
    let (by_uri, resources, templates, template_list) =
        if source.exposes_resources { compile_resources(&sides) } else { Default::default() };
    let has_resources = |index: &usize| backends[*index].offers(front, "resources");
    let all = if source.exposes_resources { 0..backends.len() } else { 0..0 };
    let mut lists = [
        Listing::new(
            tools.iter().filter_map(|tool| Some((tool.backend as u16, tool.json.clone()?))).collect(),
        ),
        prompts,
        resources,
        template_list,
    ];
    for (list, twin) in lists.iter_mut().zip(other.iter().flat_map(|other| &other.lists)) {
        if list.all == twin.all && list.owners == twin.owners {
            *list = twin.clone();
        }
    }
    Face {
        capabilities: capabilities(source, backends, front),
        instructions: instructions(source, backends, front).map(|text| quote(&text)),
        by_tool,
        by_prompt,
        by_uri,
        templates,
        prefixes: if source.exposes_resources { prefixes(source, backends) } else { Vec::new() },
        with_resources: all.filter(has_resources).collect(),
        lists,
        tools,
    }
}

/// Finds the distinct versions behind the mappings, and for each mapping the index of its own.
fn resolve(source: &VirtualServer, servers: &Servers) -> (Vec<Arc<VersionTarget>>, Vec<Option<usize>>) {
    let mut backends: Vec<Arc<VersionTarget>> = Vec::new();
    let mut find = |mapping: &Mapping| {
        let server = servers.get(&mapping.server).filter(|server| server.is_enabled)?;
        let version = match &mapping.pin {
            Some(pin) => server.version(pin.as_str())?,
            None => server.active(),
        };
        let known = backends.iter().position(|backend| backend.key == version.key);
        Some(known.unwrap_or_else(|| {
            backends.push(version.clone());
            backends.len() - 1
        }))
    };
    let rows = source.mappings.iter().map(&mut find).collect();
    (backends, rows)
}

/// Names the rows that lead nowhere; the rest is served.
fn missing(
    source: &VirtualServer,
    rows: &[Option<usize>],
    backends: &[Arc<VersionTarget>],
    left_out: &mut Vec<LeftOut>,
) -> Vec<String> {
    let mut missing = Vec::new();
    for (mapping, row) in source.mappings.iter().zip(rows) {
        let reason =
            match row.map(|backend| (unfit(&backends[backend], mapping), &backends[backend].inventory)) {
                None => "its server or version is gone or disabled",
                Some((Some(reason), _)) => reason,
                Some((None, Some(inventory))) if inventory.tool(&mapping.tool).is_none() => {
                    "its server no longer offers it"
                }
                // Never read yet: the backend may well have it.
                Some(_) => continue,
            };
        let what = format!("{}: {} of {}", source.slug.path(), mapping.exposed(), mapping.server);
        left_out.push(LeftOut { what, reason: reason.into() });
        missing.push(mapping.exposed().into());
    }
    missing
}

fn compile_tools(
    source: &VirtualServer,
    rows: &[Option<usize>],
    backends: &[Arc<VersionTarget>],
    sides: &[Option<Side<'_>>],
) -> Vec<Tool> {
    let mut tools = Vec::with_capacity(rows.len());
    for (mapping, row) in source.mappings.iter().zip(rows) {
        let Some(backend) = *row else { continue };
        let version = &backends[backend];
        if unfit(version, mapping).is_some() {
            continue;
        }
        let mut made = match &sides[backend] {
            Some(side) => {
                let Some(item) = side.tool(&mapping.tool) else { continue };
                tool(source, mapping, backend, Some(item))
            }
            // Callable, but nothing to list.
            None => tool(source, mapping, backend, None),
        };
        made.marks = version.params.as_ref().and_then(|params| params.marks(&mapping.tool).cloned());
        tools.push(made);
    }
    tools
}

/// Why no client may use a tool.
fn unfit<'a>(version: &'a VersionTarget, mapping: &Mapping) -> Option<&'a str> {
    version.params.as_ref()?.unfit(&mapping.tool)
}

fn tool(source: &VirtualServer, mapping: &Mapping, backend: usize, item: Option<&Item>) -> Tool {
    let alias = mapping.alias.as_ref().map(|alias| alias.as_str());
    let definition = |item: &Item| match (alias, &mapping.description) {
        (None, None) => Bytes::copy_from_slice(item.json.as_bytes()),
        (alias, description) => mcp::list::renamed(&item.json, alias, description.as_deref()).into(),
    };
    Tool {
        exposed: mapping.exposed().into(),
        original: mapping.tool.as_str().into(),
        original_json: quote(&mapping.tool).into(),
        backend,
        needs: source.tool_scopes(mapping),
        json: item.map(definition),
        marks: None,
    }
}

fn each_item<'a>(
    sides: &'a [Option<Side<'a>>],
    items: impl Fn(&Side<'a>) -> &'a [Item] + 'a,
) -> impl Iterator<Item = (u16, &'a Item)> {
    let known = sides.iter().enumerate().filter_map(|(at, side)| Some((at, side.as_ref()?)));
    known.flat_map(move |(at, side)| items(side).iter().map(move |item| (at as u16, item)))
}

fn raw(item: &Item) -> Bytes {
    Bytes::copy_from_slice(item.json.as_bytes())
}

/// Prompts of all backends; of two with one name the first in mapping order stays.
fn compile_prompts(sides: &[Option<Side<'_>>]) -> (HashMap<Box<str>, u16>, Listing) {
    let (mut owners, mut items) = (HashMap::new(), Vec::new());
    for (backend, item) in each_item(sides, |side| side.prompts) {
        if !owners.contains_key(&item.name) {
            owners.insert(item.name.clone(), backend);
            items.push((backend, raw(item)));
        }
    }
    (owners, Listing::new(items))
}

type Resources = (HashMap<Box<str>, Resource>, Listing, Vec<Template>, Listing);

/// Resources and templates of all backends; of two with one URI the first in mapping order stays.
fn compile_resources(sides: &[Option<Side<'_>>]) -> Resources {
    let (mut owners, mut items) = (HashMap::new(), Vec::new());
    for (backend, item) in each_item(sides, |side| side.resources) {
        if !owners.contains_key(&item.name) {
            owners.insert(item.name.clone(), Resource { backend });
            items.push((backend, raw(item)));
        }
    }
    let (mut templates, mut template_items, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for (backend, item) in each_item(sides, |side| side.templates) {
        if seen.insert(&item.name) {
            templates.push(Template { text: item.name.clone(), backend });
            template_items.push((backend, raw(item)));
        }
    }
    (owners, Listing::new(items), templates, Listing::new(template_items))
}

/// Routes set by hand, the longest prefix first. Of two versions of one server the one mapped first has them; those of a
/// server that is gone lead nowhere.
fn prefixes(source: &VirtualServer, backends: &[Arc<VersionTarget>]) -> Vec<Prefix> {
    let mut prefixes: Vec<_> = source
        .resource_routes
        .iter()
        .filter_map(|route| {
            let backend = backends.iter().position(|backend| backend.key.path == route.server)?;
            Some(Prefix { text: route.prefix.as_str().into(), backend: backend as u16 })
        })
        .collect();
    prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.text.len()));
    prefixes
}

/// The union of what the backends can do, as far as it passes through us. Changes of lists are always
/// promised, since an alias or a switch of version can change them too.
fn capabilities(source: &VirtualServer, backends: &[Arc<VersionTarget>], front: Era) -> String {
    let any = |name: &str| backends.iter().any(|backend| backend.offers(front, name));
    let mut offered = vec![r#""tools":{"listChanged":true}"#.to_owned()];
    if source.exposes_prompts && any("prompts") {
        offered.push(r#""prompts":{"listChanged":true}"#.into());
    }
    if source.exposes_resources && any("resources") {
        let subscribe = backends.iter().any(|backend| backend.offers_switch(front, "resources", "subscribe"));
        offered.push(format!(r#""resources":{{"subscribe":{subscribe},"listChanged":true}}"#));
    }
    for name in ["completions", "logging"] {
        if any(name) {
            offered.push(format!(r#""{name}":{{}}"#));
        }
    }
    format!("{{{}}}", offered.join(","))
}

fn server_info(source: &VirtualServer) -> String {
    let (name, title) = (quote(source.slug.as_str()), quote(&source.name));
    format!(r#"{{"name":{name},"title":{title},"version":"{}"}}"#, env!("CARGO_PKG_VERSION"))
}

/// Its own instructions, else the backends' joined under headings.
fn instructions(source: &VirtualServer, backends: &[Arc<VersionTarget>], front: Era) -> Option<String> {
    if let Some(own) = &source.instructions {
        return Some(own.clone());
    }
    let mut parts = Vec::new();
    for backend in backends {
        if let Some(text) = backend.side(front).and_then(|side| side.instructions) {
            parts.push(format!("## {}\n\n{text}", backend.key.path));
        }
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

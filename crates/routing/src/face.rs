//! What clients of one era see of a virtual server: names to backends, and lists ready to be sent.

use std::collections::HashMap;

use mcp::list::ListKind;
use mcp::method::Method;

use crate::names::{Listing, Prefix, Resource, Template, Tool};

/// A virtual server as clients of one era see it. Numbers of backends point into `VirtualTarget::backends`.
#[derive(Debug)]
pub struct Face {
    /// Its tools in mapping order, missing ones left out.
    pub tools: Vec<Tool>,
    /// Capabilities it offers, a JSON object: the union of what its backends can do through us.
    pub capabilities: String,
    /// Its instructions as a JSON string, quotes and all.
    pub instructions: Option<String>,
    pub(crate) by_tool: HashMap<Box<str>, u32>,
    pub(crate) by_prompt: HashMap<Box<str>, u16>,
    pub(crate) by_uri: HashMap<Box<str>, Resource>,
    pub(crate) templates: Vec<Template>,
    /// How URIs begin whose owner is set by hand, the longest first.
    pub(crate) prefixes: Vec<Prefix>,
    /// Backends with resources, in order; none where resources are not exposed.
    pub with_resources: Vec<usize>,
    pub(crate) lists: [Listing; 4],
}

impl Face {
    /// Finds a tool by its exposed name.
    pub fn tool(&self, exposed: &str) -> Option<&Tool> {
        self.by_tool.get(exposed).map(|&index| &self.tools[index as usize])
    }

    /// Finds the backend that owns a prompt.
    pub fn prompt_owner(&self, name: &str) -> Option<usize> {
        self.by_prompt.get(name).map(|&backend| usize::from(backend))
    }

    /// Finds the backend that owns a resource: by its exact URI, then by a template that fits, then by how the URI
    /// begins. `None`: any of those with resources may have it.
    pub fn resource_owner(&self, uri: &str) -> Option<usize> {
        let listed = self.by_uri.get(uri).map(|resource| resource.backend);
        let template = || self.templates.iter().find(|template| template.fits(uri)).map(|fit| fit.backend);
        let prefix =
            || self.prefixes.iter().find(|prefix| uri.starts_with(&*prefix.text)).map(|fit| fit.backend);
        listed.or_else(template).or_else(prefix).map(usize::from)
    }

    /// Finds the backend that owns a resource template, by its exact text.
    pub fn template_owner(&self, uri_template: &str) -> Option<usize> {
        self.templates.iter().find(|t| &*t.text == uri_template).map(|t| usize::from(t.backend))
    }

    /// Returns a list as clients see it.
    pub fn list(&self, kind: ListKind) -> &Listing {
        &self.lists[list_index(kind)]
    }

    /// Says whether a method is of a kind it offers at all; others are unknown to it.
    pub fn answers(&self, method: Method) -> bool {
        let offers = |name| mcp::message::member(self.capabilities.as_bytes(), name).is_some();
        match method {
            Method::PromptsList | Method::PromptsGet => offers("prompts"),
            Method::ResourcesList
            | Method::TemplatesList
            | Method::ResourcesRead
            | Method::Subscribe
            | Method::Unsubscribe => offers("resources"),
            Method::Complete => offers("completions"),
            _ => true,
        }
    }

    /// Says whether any tool needs more than the endpoint, so that lists differ between callers.
    pub fn has_guarded_tools(&self) -> bool {
        self.tools.iter().any(|tool| !tool.needs.is_empty())
    }
}

fn list_index(kind: ListKind) -> usize {
    match kind {
        ListKind::Tools => 0,
        ListKind::Prompts => 1,
        ListKind::Resources => 2,
        ListKind::Templates => 3,
    }
}

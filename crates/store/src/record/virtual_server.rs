//! Virtual servers as they are stored.

use catalog::name::{ServerPath, Slug, ToolName, VersionLabel};
use catalog::virtual_server::resource_route::ResourceRoute;
use catalog::virtual_server::{Mapping, ScopeOverride, VirtualServer};
use serde::{Deserialize, Serialize};

use super::moment::Moment;
use super::{Unreadable, scopes_in, scopes_out};

/// A virtual server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VirtualServerRecord {
    path: String,
    server_name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    tool_mappings: Vec<MappingRecord>,
    #[serde(default)]
    required_scopes: Vec<String>,
    #[serde(default)]
    tool_scope_overrides: Vec<OverrideRecord>,
    #[serde(default)]
    instructions: Option<String>,
    exposes_prompts: bool,
    exposes_resources: bool,
    #[serde(default)]
    resource_routes: Vec<RouteRecord>,
    is_enabled: bool,
    #[serde(default)]
    created_by: Option<String>,
    revision: u64,
    created_at: Moment,
    updated_at: Moment,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct MappingRecord {
    tool_name: String,
    backend_server_path: String,
    #[serde(default)]
    alias: Option<String>,
    #[serde(default)]
    backend_version: Option<String>,
    #[serde(default)]
    description_override: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct OverrideRecord {
    tool_alias: String,
    required_scopes: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct RouteRecord {
    prefix: String,
    backend_server_path: String,
}

impl VirtualServerRecord {
    /// Takes down a virtual server.
    pub fn of(one: &VirtualServer) -> Self {
        let override_record = |o: &ScopeOverride| OverrideRecord {
            tool_alias: o.name.clone(),
            required_scopes: scopes_out(&o.required_scopes),
        };
        Self {
            path: one.slug.path(),
            server_name: one.name.clone(),
            description: one.description.clone(),
            tags: one.tags.clone(),
            tool_mappings: one.mappings.iter().map(MappingRecord::of).collect(),
            required_scopes: scopes_out(&one.required_scopes),
            tool_scope_overrides: one.overrides.iter().map(override_record).collect(),
            instructions: one.instructions.clone(),
            exposes_prompts: one.exposes_prompts,
            exposes_resources: one.exposes_resources,
            resource_routes: one.resource_routes.iter().map(RouteRecord::of).collect(),
            is_enabled: one.is_enabled,
            created_by: one.owner.clone(),
            revision: one.revision,
            created_at: Moment(one.created_at),
            updated_at: Moment(one.updated_at),
        }
    }

    /// Reads it back. Whether what it maps exists is not checked here.
    pub fn into_virtual_server(self) -> Result<VirtualServer, Unreadable> {
        let scope_override = |o: OverrideRecord| {
            let required_scopes = scopes_in("tool_scope_overrides", o.required_scopes)?;
            Ok(ScopeOverride { name: o.tool_alias, required_scopes })
        };
        let overrides = self.tool_scope_overrides.into_iter().map(scope_override);
        let routes = self.resource_routes.into_iter().map(RouteRecord::into_route);
        Ok(VirtualServer {
            slug: Slug::parse("path", &self.path)?,
            name: self.server_name,
            description: self.description,
            tags: self.tags,
            mappings: self
                .tool_mappings
                .into_iter()
                .map(MappingRecord::into_mapping)
                .collect::<Result<_, _>>()?,
            required_scopes: scopes_in("required_scopes", self.required_scopes)?,
            overrides: overrides.collect::<Result<_, Unreadable>>()?,
            instructions: self.instructions,
            exposes_prompts: self.exposes_prompts,
            exposes_resources: self.exposes_resources,
            resource_routes: routes.collect::<Result<_, _>>()?,
            is_enabled: self.is_enabled,
            owner: self.created_by,
            revision: self.revision,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
        })
    }
}

impl RouteRecord {
    fn of(route: &ResourceRoute) -> Self {
        Self { prefix: route.prefix.clone(), backend_server_path: route.server.to_string() }
    }

    fn into_route(self) -> Result<ResourceRoute, Unreadable> {
        let server = ServerPath::parse("backend_server_path", &self.backend_server_path)?;
        Ok(ResourceRoute { prefix: self.prefix, server })
    }
}

impl MappingRecord {
    fn of(mapping: &Mapping) -> Self {
        Self {
            tool_name: mapping.tool.clone(),
            backend_server_path: mapping.server.to_string(),
            alias: mapping.alias.as_ref().map(ToolName::to_string),
            backend_version: mapping.pin.as_ref().map(VersionLabel::to_string),
            description_override: mapping.description.clone(),
        }
    }

    fn into_mapping(self) -> Result<Mapping, Unreadable> {
        let pin = self.backend_version.map(|label| VersionLabel::parse("backend_version", &label));
        Ok(Mapping {
            tool: self.tool_name,
            server: ServerPath::parse("backend_server_path", &self.backend_server_path)?,
            alias: self.alias.map(|name| ToolName::parse("alias", &name)).transpose()?,
            pin: pin.transpose()?,
            description: self.description_override,
        })
    }
}

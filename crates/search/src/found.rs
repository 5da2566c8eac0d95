//! What was found.

use std::sync::Arc;

use catalog::inventory::Inventory;
use catalog::server::Server;
use catalog::virtual_server::VirtualServer;

/// The best of each kind, best first, and how many fit in all.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Servers.
    pub servers: Vec<FoundServer>,
    /// Tools.
    pub tools: Vec<FoundTool>,
    /// Virtual servers.
    pub virtual_servers: Vec<FoundVirtualServer>,
    /// Number of servers that fit.
    pub total_servers: usize,
    /// Number of tools that fit.
    pub total_tools: usize,
    /// Number of virtual servers that fit.
    pub total_virtual_servers: usize,
}

/// A server, by its active version.
#[derive(Clone, Debug)]
pub struct FoundServer {
    /// The server.
    pub server: Arc<Server>,
    /// What its active version offers, if that was ever read.
    pub inventory: Option<Arc<Inventory>>,
    /// How well it fits, 0 to 1; 1 is an exact name or path.
    pub relevance: f32,
    /// The text that fits.
    pub context: String,
    /// Its tools that fit, best first, the first few.
    pub tools: Vec<FoundTool>,
}

/// A tool.
#[derive(Clone, Debug)]
pub struct FoundTool {
    /// The server it belongs to.
    pub server: Arc<Server>,
    /// Its original name.
    pub name: String,
    /// What its backend says of it.
    pub description: String,
    /// How well it fits, 0 to 1.
    pub relevance: f32,
    /// The text that fits.
    pub context: String,
}

/// A virtual server.
#[derive(Clone, Debug)]
pub struct FoundVirtualServer {
    /// The virtual server.
    pub virtual_server: Arc<VirtualServer>,
    /// How well it fits, 0 to 1.
    pub relevance: f32,
    /// The text that fits.
    pub context: String,
}

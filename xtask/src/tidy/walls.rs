//! Which crate may depend on which, and what each must never see.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use serde::Deserialize;

/// What a crate's `[dependencies]` may hold.
struct Wall {
    package: &'static str,
    /// Crates of this workspace.
    ours: &'static [&'static str],
    /// Everybody else's.
    theirs: Theirs,
}

enum Theirs {
    /// Nothing but these: the crate is pure.
    Only(&'static [&'static str]),
    /// Anything but these.
    Never(&'static [&'static str]),
}

use Theirs::{Never, Only};

/// Imports point down a level: `mcp`, `http1`, `catalog`, then `routing`, `backend`, `auth`, `store`, `search`, then `proxy`, `registry`,
/// `embedding`, then `gateway`. The planes do not see each other, and only one crate sees each heavy library.
const WALLS: &[Wall] = &[
    Wall {
        package: "mcp",
        ours: &[],
        theirs: Only(&["base64", "bytes", "http", "memchr", "serde", "serde_json", "thiserror"]),
    },
    Wall {
        package: "http1",
        ours: &[],
        theirs: Only(&["bytes", "http", "http-body", "httpdate", "memchr", "thiserror", "tokio"]),
    },
    Wall { package: "catalog", ours: &[], theirs: Only(&["thiserror", "url", "zeroize"]) },
    Wall {
        package: "routing",
        ours: &["catalog", "mcp"],
        theirs: Only(&["arc-swap", "bytes", "http", "httpdate", "memchr", "serde_json", "thiserror"]),
    },
    Wall {
        package: "backend",
        ours: &["catalog", "http1", "mcp"],
        theirs: Never(&["axum", "jsonwebtoken", "mongodb", "rusqlite"]),
    },
    Wall { package: "auth", ours: &["catalog"], theirs: Never(&["axum", "hyper", "mongodb", "rusqlite"]) },
    Wall { package: "store", ours: &["catalog"], theirs: Never(&["axum", "http", "hyper", "mongodb"]) },
    Wall { package: "limits", ours: &["catalog"], theirs: Only(&["metrics", "thiserror"]) },
    Wall {
        package: "search",
        ours: &["catalog"],
        theirs: Never(&["axum", "http", "hyper", "mongodb", "rusqlite"]),
    },
    Wall {
        package: "embedding",
        ours: &["search"],
        theirs: Never(&["axum", "http", "hyper", "mongodb", "rusqlite", "tokio"]),
    },
    Wall {
        package: "store-mongo",
        ours: &["catalog", "store"],
        theirs: Never(&["axum", "hyper", "rusqlite"]),
    },
    Wall {
        package: "proxy",
        ours: &["auth", "backend", "catalog", "limits", "mcp", "routing"],
        theirs: Never(&["axum", "mongodb", "rusqlite"]),
    },
    Wall {
        package: "registry",
        ours: &["auth", "backend", "catalog", "limits", "mcp", "routing", "search", "store"],
        theirs: Never(&["mongodb", "rusqlite"]),
    },
    Wall {
        package: "gateway",
        ours: &[
            "auth",
            "backend",
            "catalog",
            "embedding",
            "http1",
            "limits",
            "mcp",
            "proxy",
            "registry",
            "routing",
            "search",
            "store",
            "store-mongo",
        ],
        theirs: Never(&["mongodb", "rusqlite"]),
    },
    Wall { package: "testkit", ours: &["catalog", "mcp"], theirs: Never(&["axum", "mongodb", "rusqlite"]) },
    Wall {
        package: "xtask",
        ours: &["catalog", "embedding", "registry", "search", "store"],
        theirs: Never(&["mongodb", "rusqlite"]),
    },
];

/// What `cargo metadata` says, as far as we look.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, `build`, or nothing for an ordinary one.
    kind: Option<String>,
    /// Set for crates of the workspace.
    path: Option<String>,
}

/// Returns a fault for each dependency that the table does not allow.
pub(super) fn faults(root: &Path) -> anyhow::Result<Vec<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    anyhow::ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    Ok(metadata.packages.iter().flat_map(package_faults).collect())
}

fn package_faults(package: &Listed) -> Vec<String> {
    let Some(wall) = WALLS.iter().find(|wall| wall.package == package.name) else {
        return vec![format!("{}: has no row in the table of walls (xtask/src/tidy/walls.rs)", package.name)];
    };
    let forbidden = package.dependencies.iter().filter(|dependency| !is_allowed(wall, dependency));
    forbidden
        .map(|dependency| format!("{}: must not depend on `{}`", package.name, dependency.name))
        .collect()
}

fn is_allowed(wall: &Wall, dependency: &Dependency) -> bool {
    let name = dependency.name.as_str();
    if dependency.path.is_some() {
        return wall.ours.contains(&name) || (name == "testkit" && dependency.kind.as_deref() == Some("dev"));
    }
    if dependency.kind.is_some() {
        return true;
    }
    match wall.theirs {
        Only(allowed) => allowed.contains(&name),
        Never(banned) => !banned.contains(&name),
    }
}

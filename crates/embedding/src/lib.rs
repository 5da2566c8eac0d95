//! A sentence model on this machine: text to vector by an ONNX file, in pure Rust.
//!
//! The only crate that knows the inference engine. Deliberately knows nothing of where the files come from, of
//! the network, and of what the vectors are for.
#![warn(missing_docs)]

mod model;
mod words;

use std::path::PathBuf;

pub use model::Model;

/// Why a folder holds no model that works.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is not there. Names all that would do.
    #[error("no {wanted} in {}", .folder.display())]
    Missing {
        /// Where it was looked for.
        folder: PathBuf,
        /// File names.
        wanted: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}", .file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what its name says, or of a kind this program does not know.
    #[error("{} is of no use: {reason}", .file.display())]
    Unfit {
        /// Which.
        file: PathBuf,
        /// Why.
        reason: String,
    },
}

//! Why a body is not a message.

use crate::error::code;

/// Why a body is not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes are not UTF-8.
    #[error("the body is not UTF-8")]
    NotUtf8,
    /// The text is not JSON; says where it ceases to be.
    #[error("the body is not JSON: {0}")]
    NotJson(String),
    /// The top level is an array.
    #[error("the body is a batch, one message is expected")]
    Batch,
    /// The top level is neither an object nor an array.
    #[error("the body is not a JSON object")]
    NotObject,
    /// Arrays and objects nest deeper than `MAX_DEPTH`.
    #[error("the body nests deeper than 128 levels")]
    TooDeep,
    /// A member that we route by stands there twice; with the raw id where it was readable.
    #[error("{0} stands there twice")]
    Duplicate(&'static str, Option<Box<str>>),
    /// The envelope is not JSON-RPC 2.0; with the raw id where it was readable.
    #[error("not a JSON-RPC message: {0}")]
    Invalid(String, Option<Box<str>>),
}

impl Malformed {
    /// Returns the JSON-RPC code to answer with.
    pub fn code(&self) -> i32 {
        match self {
            Malformed::NotUtf8 | Malformed::NotJson(_) => code::PARSE,
            _ => code::INVALID_REQUEST,
        }
    }

    /// Returns the raw id of the message where it could be read.
    pub fn id(&self) -> Option<&str> {
        match self {
            Malformed::Duplicate(_, id) | Malformed::Invalid(_, id) => id.as_deref(),
            _ => None,
        }
    }
}

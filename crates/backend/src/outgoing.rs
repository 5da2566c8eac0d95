//! What is sent to a backend.

use bytes::Bytes;
use http::{HeaderMap, Method};

/// A request to a backend.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// `POST`, `GET` or `DELETE`.
    pub method: Method,
    /// All headers but `Host`, those that frame the body, and the endpoint's own. Nothing else is taken out.
    pub headers: HeaderMap,
    /// The body, whole.
    pub body: Bytes,
}

//! A backend of both eras at one address: each request is answered in the era it speaks.

use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;

use crate::backend::Era;
use crate::inbound::{Arrived, arrive};
use crate::legacy;
use crate::modern;
use crate::record::Seen;
use crate::stub::Stub;
use crate::wire::Answer;

/// Both eras.
pub struct Both;

impl Era for Both {
    async fn serve(stub: Arc<Stub>, request: Request<Incoming>) -> Answer {
        match arrive(&stub, request).await {
            Arrived::Answer(answer) => answer,
            Arrived::Seen(seen) if is_modern(&seen) => modern::answer_seen(stub, seen).await,
            Arrived::Seen(seen) => legacy::answer_seen(stub, seen).await,
        }
    }
}

/// A request says its era by its `_meta`, or by a version header that no older revision knows.
fn is_modern(seen: &Seen) -> bool {
    let version = seen.header("mcp-protocol-version");
    let names_legacy = version.is_empty() || legacy::REVISIONS.contains(&version);
    let meta = &seen.params()["_meta"]["io.modelcontextprotocol/protocolVersion"];
    meta.is_string() || (!names_legacy && seen.session.is_none())
}

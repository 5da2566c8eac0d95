//! The audit trail as one text, a line an entry, for programs that keep it elsewhere.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::header;
use store::Store;
use store::audit::{Kept, Query};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Document, Filter, unreadable};
use crate::Registry;
use crate::api::error::Problem;
use crate::api::extract::{Admin, Params};

/// Entries read at once; what is in memory of an export, some megabytes at the worst.
const PAGE: usize = 200;

/// Makes the routes of this file.
pub(super) fn routes() -> OpenApiRouter<Arc<Registry>> {
    OpenApiRouter::new().routes(routes!(export_audit))
}

/// What is left to export.
struct Export {
    store: Arc<dyn Store>,
    query: Query,
    page: VecDeque<Kept>,
    /// Whether nothing is left to read.
    is_read: bool,
}

/// Exports what was done
///
/// As lines of JSON (NDJSON), newest first, all of it. It is read as it is sent. An export that cannot be read to its end
/// breaks off, and the connection with it.
#[utoipa::path(get, path = "/api/audit/export", tag = "audit", params(Filter),
    responses((status = 200, description = "An entry a line", content_type = "application/x-ndjson", body = String),
        (status = 403, description = "The caller is not an administrator", body = crate::api::error::ProblemDocument,
            content_type = "application/problem+json"),
        (status = 422, description = "A parameter is bad", body = crate::api::error::ProblemDocument,
            content_type = "application/problem+json")))]
async fn export_audit(
    State(registry): State<Arc<Registry>>,
    _: Admin,
    Params(filter): Params<Filter>,
) -> Result<Response, Problem> {
    // From the highest id downwards, which what is added meanwhile does not move.
    let query = Query { below: Some(i64::MAX as u64), ..filter.read(PAGE, 0)? };
    let store = registry.parts.store.clone();
    let mut export = Export { store, query, page: VecDeque::new(), is_read: false };
    export.read().await.map_err(unreadable)?;
    let lines = stream::unfold(export, async |mut export| match export.next().await {
        Ok(Some(lines)) => Some((Ok(lines), export)),
        Ok(None) => None,
        Err(error) => {
            tracing::error!(%error, "an export of the audit trail broke off");
            export.is_read = true;
            Some((Err(error), export))
        }
    });
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(lines)).into_response())
}

impl Export {
    /// Reads the next page.
    async fn read(&mut self) -> Result<(), store::Error> {
        let entries = self.store.audit(self.query.clone()).await?.entries;
        self.is_read = entries.len() < PAGE;
        self.query.below = entries.last().map(|kept| kept.id);
        self.page = entries.into();
        Ok(())
    }

    /// Returns the lines of a page; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, store::Error> {
        if self.page.is_empty() && !self.is_read {
            self.read().await?;
        }
        if self.page.is_empty() {
            return Ok(None);
        }
        let mut lines = Vec::new();
        for kept in self.page.drain(..) {
            serde_json::to_writer(&mut lines, &Document::of(kept)).expect("a document is JSON");
            lines.push(b'\n');
        }
        Ok(Some(lines.into()))
    }
}

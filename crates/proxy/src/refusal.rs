//! Errors told in the name of an endpoint: what a refusal says of it besides the error.

use catalog::access::Scope;
use http::{HeaderValue, Response};
use routing::Table;
use routing::target::Target;

use crate::error::Error;
use crate::metadata;
use crate::outbound::Body;
use crate::reply::{self, Asker};
use crate::shared::Settings;

/// Where a client asked, for what an answer says of the endpoint.
pub(crate) struct Place<'a> {
    /// The host the client named.
    pub(crate) host: Option<&'a HeaderValue>,
    /// The endpoint's short path; the path asked for where it leads nowhere.
    pub(crate) path: &'a str,
    pub(crate) table: Option<&'a Table>,
}

/// Turns an error into the answer the client gets of an endpoint.
pub(crate) fn answer(
    error: &Error,
    id: Option<&[u8]>,
    is_modern: bool,
    place: &Place<'_>,
    settings: &Settings,
) -> Response<Body> {
    let metadata_url = || metadata::url(&metadata::base_url(place.host, settings), place.path);
    let scope = || {
        let target = place.table.and_then(|table| table.target(place.path));
        let required = target.as_ref().map_or(&[][..], Target::required_scopes);
        required.iter().map(Scope::as_str).collect::<Vec<_>>().join(" ")
    };
    reply::refuse(error, &Asker { id, is_modern, metadata_url: &metadata_url, scope: &scope })
}

//! An endpoint made ready for requests: URI, host and headers parsed once.

use std::sync::Arc;

use catalog::endpoint::{Endpoint, Header};
use http::header::HOST;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri};

use crate::error::Error;
use crate::pool::Host;

/// An endpoint made ready for requests.
pub(crate) struct Route {
    /// Whom to connect to.
    pub(crate) host: Arc<Host>,
    authority: HeaderValue,
    /// Path and query, as HTTP/1 wants it.
    path: Uri,
    /// With scheme and authority, as HTTP/2 wants it.
    whole: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// What `headers` were made of.
    source: Vec<Header>,
}

impl Route {
    /// Prepares an endpoint. Fails, as unreachable, where its headers cannot be sent.
    pub(crate) fn new(endpoint: &Endpoint, host: Arc<Host>) -> Result<Self, Error> {
        let url = &endpoint.url;
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let authority = authority(endpoint);
        let whole = format!("{}://{authority}{path}", url.scheme());
        let unusable = |what: &str| Error::unreachable(format!("the endpoint's {what} cannot be sent"));
        let headers = endpoint.headers.iter().map(|header| {
            let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
            let mut value = HeaderValue::from_str(header.value.reveal()).ok()?;
            value.set_sensitive(true);
            Some((name, value))
        });
        Ok(Self {
            host,
            authority: HeaderValue::from_str(&authority).map_err(|_| unusable("host"))?,
            path: path.parse().map_err(|_| unusable("path"))?,
            whole: whole.parse().map_err(|_| unusable("URL"))?,
            headers: headers.collect::<Option<_>>().ok_or_else(|| unusable("headers"))?,
            source: endpoint.headers.clone(),
        })
    }

    /// Says whether the endpoint's headers are still those the route was made of.
    pub(crate) fn is_of(&self, endpoint: &Endpoint) -> bool {
        self.source == endpoint.headers
    }

    /// Adds the endpoint's own headers; they win over the caller's.
    pub(crate) fn dress(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
    }

    /// Gives a request its HTTP/1 form.
    pub(crate) fn aim_http1<B>(&self, request: &mut Request<B>) {
        *request.uri_mut() = self.path.clone();
        request.headers_mut().insert(HOST, self.authority.clone());
    }

    /// Gives a request its HTTP/2 form.
    pub(crate) fn aim_http2<B>(&self, request: &mut Request<B>) {
        *request.uri_mut() = self.whole.clone();
        request.headers_mut().remove(HOST);
    }
}

/// Returns host and port, the port only where it is not the scheme's own.
pub(crate) fn authority(endpoint: &Endpoint) -> String {
    let host = endpoint.url.host_str().unwrap_or_default();
    match endpoint.url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

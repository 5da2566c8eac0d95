//! An endpoint made ready for requests: URI, host and headers parsed once.

use std::sync::Arc;

use bytes::Bytes;
use catalog::endpoint::{Endpoint, Header};
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;

use crate::error::Error;
use crate::host::Host;
use crate::outgoing::Outgoing;
use crate::tokens::{Place, Tokens};

/// An endpoint made ready for requests.
pub(crate) struct Route {
    /// Whom to connect to.
    pub(crate) host: Arc<Host>,
    /// What follows the method in an HTTP/1 head: path, version, host, and the endpoint's headers.
    head: Vec<u8>,
    /// With scheme and authority, as HTTP/2 wants it.
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// What `headers` were made of.
    source: Vec<Header>,
    /// Where requests get their token, where they need one.
    pub(crate) tokens: Option<Arc<Place>>,
}

impl Route {
    /// Prepares an endpoint. Fails, as unreachable, where its headers cannot be sent.
    pub(crate) fn new(
        endpoint: &Endpoint,
        host: Arc<Host>,
        tokens: Option<&Arc<Tokens>>,
    ) -> Result<Self, Error> {
        let unusable = |what: &str| Error::unreachable(format!("the endpoint's {what} cannot be sent"));
        let url = &endpoint.url;
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let authority = authority(endpoint);
        let uri = format!("{}://{authority}{path}", url.scheme()).parse().map_err(|_| unusable("URL"))?;
        let headers = endpoint.headers.iter().map(|header| {
            let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
            let mut value = HeaderValue::from_str(header.value.reveal()).ok()?;
            value.set_sensitive(true);
            Some((name, value))
        });
        let headers: Vec<_> = headers.collect::<Option<_>>().ok_or_else(|| unusable("headers"))?;
        let mut head = format!(" {path} HTTP/1.1\r\nhost: {authority}\r\n").into_bytes();
        for (name, value) in &headers {
            write_header(name, value, &mut head);
        }
        let tokens = match (&endpoint.authorization, tokens) {
            (None, _) => None,
            (Some(authorization), Some(tokens)) => Some(tokens.place(endpoint, authorization)),
            (Some(_), None) => return Err(Error::NoToken { reason: "none are had here".into() }),
        };
        Ok(Self { host, head, uri, headers, source: endpoint.headers.clone(), tokens })
    }

    /// Says whether the endpoint's headers and tokens are still those the route was made of.
    pub(crate) fn is_of(&self, endpoint: &Endpoint) -> bool {
        let same_tokens = match (&self.tokens, &endpoint.authorization) {
            (None, None) => true,
            (Some(place), Some(authorization)) => place.is_of(authorization),
            _ => false,
        };
        same_tokens && self.source == endpoint.headers
    }

    /// Writes a request's HTTP/1 head. The endpoint's headers and those that frame the body are ours.
    pub(crate) fn write_head(&self, outgoing: &Outgoing, head: &mut Vec<u8>) {
        head.extend_from_slice(outgoing.method.as_str().as_bytes());
        head.extend_from_slice(&self.head);
        for (name, value) in &outgoing.headers {
            let is_ours = [HOST, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name) || self.sets(name);
            if !is_ours {
                write_header(name, value, head);
            }
        }
        if !outgoing.body.is_empty() || outgoing.method == Method::POST {
            head.extend_from_slice(b"content-length: ");
            head.extend_from_slice(outgoing.body.len().to_string().as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
    }

    /// Makes an HTTP/2 request.
    pub(crate) fn to_request(&self, outgoing: &Outgoing) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(outgoing.body.clone()));
        *request.method_mut() = outgoing.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = outgoing.headers.clone();
        let headers = request.headers_mut();
        for ours in [HOST, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.remove(ours);
        }
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        request
    }

    fn sets(&self, name: &HeaderName) -> bool {
        self.headers.iter().any(|(ours, _)| ours == name)
    }
}

fn write_header(name: &HeaderName, value: &HeaderValue, head: &mut Vec<u8>) {
    head.extend_from_slice(name.as_str().as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value.as_bytes());
    head.extend_from_slice(b"\r\n");
}

/// Returns host and port, the port only where it is not the scheme's own.
pub(crate) fn authority(endpoint: &Endpoint) -> String {
    let host = endpoint.url.host_str().unwrap_or_default();
    match endpoint.url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

//! What an authorization server is asked with, and how the gateway proves who it is.

use catalog::authorization::Authorization;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use url::form_urlencoded::{Serializer, byte_serialize};

use super::answer::{self, Granted};
use super::discovery::Server;
use super::{Failure, MAX_ANSWER_BYTES};
use crate::fetch::Fetcher;
use crate::outgoing::Outgoing;

const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// A form that is being filled in.
pub(super) type Form = Vec<(&'static str, String)>;

/// Asks in the gateway's own name (RFC 6749, section 4.4).
pub(super) fn client_credentials(authorization: &Authorization) -> Form {
    let mut form = vec![("grant_type", "client_credentials".into())];
    add_wishes(&mut form, authorization);
    form
}

/// Asks for a token that stands for the holder of another (RFC 8693, section 2.1).
pub(super) fn exchange(authorization: &Authorization, subject_token: &str) -> Form {
    let mut form = vec![
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange".into()),
        ("subject_token", subject_token.into()),
        ("subject_token_type", ACCESS_TOKEN.into()),
        ("requested_token_type", ACCESS_TOKEN.into()),
    ];
    add_wishes(&mut form, authorization);
    form
}

/// Sends a form and reads the answer.
pub(super) async fn ask(
    fetcher: &Fetcher,
    authorization: &Authorization,
    server: &Server,
    mut form: Form,
) -> Result<Granted, Failure> {
    let mut headers = HeaderMap::new();
    let id = authorization.client_id.reveal();
    match &authorization.client_secret {
        Some(secret) if !server.wants_secret_in_form => {
            headers.insert(AUTHORIZATION, basic(id, secret.reveal()));
        }
        secret => {
            form.push(("client_id", id.into()));
            if let Some(secret) = secret {
                form.push(("client_secret", secret.reveal().into()));
            }
        }
    }
    let encoded = Serializer::new(String::new()).extend_pairs(&form).finish();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let outgoing = Outgoing { method: Method::POST, headers, body: encoded.into() };
    let asked = fetcher.fetch(&server.token.url, server.token.trust, outgoing, MAX_ANSWER_BYTES).await;
    let fetched = asked.map_err(|error| Failure::server(format_args!("failed: {}", error.reason())))?;
    answer::read(fetched.status, &fetched.body)
}

fn add_wishes(form: &mut Form, authorization: &Authorization) {
    if !authorization.scope.is_empty() {
        form.push(("scope", authorization.scope.clone()));
    }
    for (name, value) in [("resource", &authorization.resource), ("audience", &authorization.audience)] {
        if let Some(value) = value {
            form.push((name, value.clone()));
        }
    }
}

/// Both parts are form-encoded before they are joined (RFC 6749, section 2.3.1).
fn basic(id: &str, secret: &str) -> HeaderValue {
    use base64::Engine;
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encode(id), encode(secret));
    let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
    let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).expect("base64 is printable");
    value.set_sensitive(true);
    value
}

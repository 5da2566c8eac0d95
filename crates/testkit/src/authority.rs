//! An authorization server: gives tokens that say in plain words for whom they are, to whoever asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::wire::{Answer, Broken, json_answer, status};

/// An authorization server on a port of its own. Dropping it closes the port.
///
/// Its tokens are `token-<number>-<holder>`: the holder is the client's id, what a subject token was, or whoever
/// allowed it at `/authorize`, who is always `account`. It trusts everybody.
pub struct Authority {
    stage: Stage,
    state: Arc<Mutex<State>>,
}

struct State {
    asked: Vec<Asked>,
    /// Tokens given so far.
    given: usize,
    /// Seconds a token lives.
    life: u64,
    /// Answers all who want a token.
    refusal: Option<(u16, String)>,
    /// Who allows what is asked at `/authorize`.
    account: String,
    /// Refresh tokens that are good.
    refresh: Vec<String>,
}

/// A request for a token.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Members of the form.
    pub form: BTreeMap<String, String>,
    /// All headers.
    pub headers: HeaderMap,
}

impl Authority {
    /// Starts one.
    pub async fn start() -> Self {
        let state = State {
            asked: Vec::new(),
            given: 0,
            life: 300,
            refusal: None,
            account: "octocat".into(),
            refresh: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        let stage = Stage::open(move |request| answer(shared.clone(), request)).await;
        Self { stage, state }
    }

    /// Returns its issuer, `http://127.0.0.1:PORT`.
    pub fn issuer(&self) -> String {
        format!("http://{}", self.stage.address())
    }

    /// Returns where it gives tokens.
    pub fn token_url(&self) -> String {
        format!("{}/token", self.issuer())
    }

    /// Returns all requests for tokens, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    /// Sets how long tokens live from now on.
    pub fn set_life(&self, seconds: u64) {
        self.state().life = seconds;
    }

    /// Sets who allows what is asked.
    pub fn set_account(&self, account: &str) {
        self.state().account = account.into();
    }

    /// Answers requests for tokens always like this; `None` ends it.
    pub fn refuse(&self, refusal: Option<(u16, &str)>) {
        self.state().refusal = refusal.map(|(status, body)| (status, body.into()));
    }

    /// Forgets all refresh tokens, as when its user takes back what they allowed.
    pub fn forget_refresh_tokens(&self) {
        self.state().refresh.clear();
    }

    /// Goes down: connections break, new ones are refused.
    pub async fn down(&self) {
        self.stage.down().await;
    }

    /// Comes back on the same port.
    pub async fn up(&self) {
        self.stage.up().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

async fn answer(state: Arc<Mutex<State>>, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Err(Broken) };
    let host = head.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let issuer = format!("http://{host}");
    let mut state = state.lock().expect("no holder panics");
    Ok(match (&head.method, head.uri.path()) {
        (&Method::GET, "/.well-known/oauth-authorization-server") => {
            json_answer(StatusCode::OK, &metadata(&issuer))
        }
        (&Method::GET, "/authorize") => {
            let query = read_form(head.uri.query().unwrap_or_default());
            let code = format!("code.{}.{}", state.account, state.given);
            let issuer = encoded(&issuer);
            let back = format!(
                "{}?code={code}&state={}&iss={issuer}",
                query["redirect_uri"],
                encoded(&query["state"])
            );
            let mut response = status(StatusCode::FOUND);
            response.headers_mut().insert(header::LOCATION, back.parse().expect("a URL is a header value"));
            response
        }
        (&Method::POST, "/token") => {
            let form = read_form(&String::from_utf8_lossy(&body.to_bytes()));
            state.asked.push(Asked { form: form.clone(), headers: head.headers.clone() });
            match state.refusal.clone() {
                Some((code, body)) => {
                    let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
                    json_answer(StatusCode::from_u16(code).expect("the test gives a status"), &body)
                }
                None => state.give(&form, &head.headers),
            }
        }
        _ => status(StatusCode::NOT_FOUND),
    })
}

fn metadata(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "code_challenge_methods_supported": ["S256"],
        "response_types_supported": ["code"],
        "authorization_response_iss_parameter_supported": true,
    })
}

impl State {
    fn give(
        &mut self,
        form: &BTreeMap<String, String>,
        headers: &HeaderMap,
    ) -> http::Response<crate::wire::Body> {
        let of = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let (holder, may_refresh) = match of("grant_type") {
            "client_credentials" => (client(form, headers), false),
            "authorization_code" => (of("code").split('.').nth(1).unwrap_or_default().to_owned(), true),
            "refresh_token" => {
                // Each is good once.
                let Some(at) = self.refresh.iter().position(|known| known == of("refresh_token")) else {
                    return json_answer(StatusCode::BAD_REQUEST, &json!({ "error": "invalid_grant" }));
                };
                let token = self.refresh.remove(at);
                (token.rsplit('-').next().unwrap_or_default().to_owned(), true)
            }
            _ => (of("subject_token").to_owned(), false),
        };
        self.given += 1;
        let mut answer = json!({ "access_token": format!("token-{}-{holder}", self.given), "token_type": "Bearer",
            "expires_in": self.life });
        if may_refresh {
            let refresh = format!("refresh-{}-{holder}", self.given);
            answer["refresh_token"] = json!(refresh);
            self.refresh.push(refresh);
        }
        json_answer(StatusCode::OK, &answer)
    }
}

/// Returns the id of the client, from the header or the form.
fn client(form: &BTreeMap<String, String>, headers: &HeaderMap) -> String {
    let basic =
        headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Basic "));
    let pair = basic.and_then(|text| base64::engine::general_purpose::STANDARD.decode(text).ok());
    let pair = pair.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let id = pair.as_deref().and_then(|pair| pair.split(':').next());
    id.or(form.get("client_id").map(String::as_str)).unwrap_or_default().to_owned()
}

fn read_form(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let (bytes, mut plain, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(if bytes[at] == b'+' { b' ' } else { bytes[at] });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

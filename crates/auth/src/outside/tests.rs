//! Identity providers that exist only here: their keys, what they answer, and tokens good and forged.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeySize, PublicKeyComponents};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::fetch::{Answer, Question, Unanswered};
use super::*;
use crate::altered::with;
use crate::{Authenticator, RootKey};

mod claims;
mod forgeries;
mod keys;
mod opaque;
mod sign_in;

const ISSUER: &str = "https://idp.example.com/realms/main";
const ENDPOINT: &str = "https://mcp.example.com/virtual/dev-tools";

/// A provider's signing key.
enum SigningKey {
    Ec(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    fn ec() -> Self {
        Self::Ec(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())
    }

    fn public(&self, id: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Ec(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": text(x), "y": text(y) })
            }
            Self::Rsa(pair) => {
                let parts: PublicKeyComponents<Vec<u8>> = pair.public_key().into();
                json!({ "kty": "RSA", "kid": id, "alg": "RS256", "n": text(&parts.n), "e": text(&parts.e) })
            }
        }
    }

    /// Signs any header and claims.
    fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let random = SystemRandom::new();
        let signature = match self {
            Self::Ec(pair) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let padding: &dyn aws_lc_rs::signature::RsaEncoding =
                    if header["alg"] == "RS512" { &RSA_PKCS1_SHA512 } else { &RSA_PKCS1_SHA256 };
                pair.sign(padding, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// What the providers' URLs answer.
#[derive(Default)]
struct Web {
    answers: Mutex<HashMap<String, (u16, Value)>>,
    asked: Mutex<Vec<Question>>,
}

impl Web {
    fn says(&self, url: &str, status: u16, body: Value) {
        self.answers.lock().unwrap().insert(url.into(), (status, body));
    }

    fn is_gone(&self) {
        self.answers.lock().unwrap().clear();
    }

    fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }
}

impl Fetch for Web {
    fn fetch(
        &self,
        question: Question,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, Unanswered>> + Send + '_>> {
        let answer = self.answers.lock().unwrap().get(&question.url).cloned();
        self.asked.lock().unwrap().push(question);
        Box::pin(async move {
            let (status, body) = answer.ok_or(Unanswered("connection refused".into()))?;
            Ok(Answer { status, max_age_seconds: None, body: body.to_string().into_bytes() })
        })
    }
}

/// A gateway with one provider.
struct World {
    web: Arc<Web>,
    key: SigningKey,
    authenticator: Arc<Authenticator>,
}

impl World {
    /// With its keys fetched, as they are a moment after the start.
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(edit: impl FnOnce(&mut ProviderSettings)) -> Self {
        let world = Self::before_keys(edit);
        world.fetch_keys(now()).await;
        world
    }

    fn before_keys(edit: impl FnOnce(&mut ProviderSettings)) -> Self {
        let (web, key) = (Arc::new(Web::default()), SigningKey::ec());
        let mut settings = ProviderSettings::new(ISSUER);
        edit(&mut settings);
        let root = RootKey::from_hex(&"0f".repeat(32)).unwrap();
        let authenticator = Arc::new(Authenticator::with_providers(&root, vec![settings], web.clone()));
        let world = Self { web, key, authenticator };
        world.publish(&[world.key.public("one")]);
        world
    }

    fn publish(&self, keys: &[Value]) {
        let about = json!({ "issuer": ISSUER, "jwks_uri": "https://idp.example.com/keys",
            "introspection_endpoint": "https://idp.example.com/introspect",
            "authorization_endpoint": "https://idp.example.com/authorize?tenant=1",
            "token_endpoint": "https://idp.example.com/token",
            "userinfo_endpoint": "https://idp.example.com/me",
            "end_session_endpoint": "https://idp.example.com/leave" });
        self.web.says(&format!("{ISSUER}/.well-known/openid-configuration"), 200, about);
        self.web.says("https://idp.example.com/keys", 200, json!({ "keys": keys }));
    }

    async fn fetch_keys(&self, now: Timestamp) {
        self.authenticator.fetch_keys_once(now).await;
    }

    async fn check(&self, token: &str, expected: Result<(), Refused>, what: &str) {
        let found = self.authenticator.identify(token, now()).await.map(|_| ());
        assert_eq!(found, expected, "{what}: {token}");
    }

    fn token(&self, claims: &Value) -> String {
        self.key.sign(&header(), claims)
    }
}

fn now() -> Timestamp {
    // Fetches go by the system's clock, so tokens do as well.
    Timestamp::now()
}

fn header() -> Value {
    json!({ "alg": "ES256", "typ": "at+jwt", "kid": "one" })
}

fn claims() -> Value {
    let seconds = now().as_seconds();
    json!({ "iss": ISSUER, "aud": ENDPOINT, "sub": "alice", "iat": seconds, "exp": seconds + 300,
        "scope": "mcp-access github-read", "groups": ["developers"] })
}

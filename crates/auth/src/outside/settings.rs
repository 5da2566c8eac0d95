//! What an operator says of an identity provider.

use std::time::Duration;

use catalog::endpoint::Secret;
use jsonwebtoken::Algorithm;

use super::claim_name::ClaimName;

/// The algorithms a provider may sign with. None of them takes a shared secret, so that a public key can never pass for
/// one.
pub const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// An identity provider whose tokens are taken.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// Its name, exactly as its tokens and its metadata give it (`iss`).
    pub issuer: String,
    /// Audiences that are good for every endpoint, beside each endpoint's own URL.
    pub audiences: Vec<String>,
    /// The algorithms it may sign with; those of [`ALGORITHMS`] at most.
    pub algorithms: Vec<Algorithm>,
    /// How far its clock may be from ours.
    pub leeway: Duration,
    /// Least time between two fetches of its keys.
    pub refetch_every: Duration,
    /// How long keys are good for after they were last fetched.
    pub keys_keep: Duration,
    /// How its claims are read.
    pub claims: ClaimRules,
    /// How it is asked about tokens that are not signed; without it such tokens are refused.
    pub introspection: Option<IntrospectionSettings>,
    /// How people sign in there with a browser; without it they cannot.
    pub sign_in: Option<SignInSettings>,
}

/// How the claims of a provider become a caller.
#[derive(Clone, Debug)]
pub struct ClaimRules {
    /// The claim that names the caller.
    pub subject: ClaimName,
    /// Claims that name groups: text or a list of texts.
    pub groups: Vec<ClaimName>,
    /// Claims that name scopes: words with blanks between, or a list of them.
    pub scopes: Vec<ClaimName>,
    /// Put before each group, so that those of two providers are not taken for one another.
    pub group_prefix: String,
    /// Groups, prefix and all, whose members are administrators.
    pub admin_groups: Vec<String>,
}

/// How a provider is asked about tokens (RFC 7662).
#[derive(Clone, Debug)]
pub struct IntrospectionSettings {
    /// Where; as the provider's metadata says where absent.
    pub endpoint: Option<String>,
    /// Who we are there.
    pub client_id: String,
    /// And the proof.
    pub client_secret: Secret,
    /// How long an answer is good for.
    pub keep: Duration,
}

/// How people sign in with a browser (OpenID Connect, authorization code).
#[derive(Clone, Debug)]
pub struct SignInSettings {
    /// What people call the provider.
    pub name: String,
    /// Who we are there.
    pub client_id: String,
    /// And the proof, where there is one.
    pub client_secret: Option<Secret>,
    /// The scopes that are asked for, beside `openid`.
    pub scopes: Vec<String>,
}

impl ProviderSettings {
    /// Makes the settings of a provider of which only its issuer is known.
    pub fn new(issuer: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audiences: Vec::new(),
            algorithms: ALGORITHMS.to_vec(),
            leeway: Duration::from_secs(60),
            refetch_every: Duration::from_secs(30),
            keys_keep: Duration::from_secs(24 * 3600),
            claims: ClaimRules::default(),
            introspection: None,
            sign_in: None,
        }
    }
}

impl Default for ClaimRules {
    fn default() -> Self {
        Self {
            subject: ClaimName::new("sub"),
            groups: vec![ClaimName::new("groups"), ClaimName::new("roles")],
            scopes: vec![ClaimName::new("scope"), ClaimName::new("scp")],
            group_prefix: String::new(),
            admin_groups: Vec::new(),
        }
    }
}

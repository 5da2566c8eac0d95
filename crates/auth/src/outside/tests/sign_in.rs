//! Browser sign-in: what goes to the provider, and which answers are believed.

use url::Url;

use super::*;
use crate::cookie::Cookies;

const TOKEN: &str = "https://idp.example.com/token";
const BACK: &str = "https://mcp.example.com/login/callback";

struct Scene {
    world: World,
    sign_in: SignIn,
    flow: Flow,
    query: HashMap<String, String>,
}

impl Scene {
    async fn set() -> Self {
        let world = World::with(|settings| {
            settings.sign_in = Some(SignInSettings {
                name: "Example".into(),
                client_id: "gateway".into(),
                client_secret: None,
                scopes: vec!["profile".into()],
            });
        })
        .await;
        let sign_in = world.authenticator.sign_in();
        let (url, flow) = sign_in.begin(ISSUER, BACK, "/ui/", now()).unwrap();
        let query = Url::parse(&url).unwrap().query_pairs().into_owned().collect();
        Self { world, sign_in, flow, query }
    }

    /// The claims of the ID token that the provider should give.
    fn claims(&self) -> Value {
        let seconds = now().as_seconds();
        json!({ "iss": ISSUER, "aud": "gateway", "sub": "alice", "iat": seconds, "exp": seconds + 300,
            "nonce": self.query["nonce"], "groups": ["developers"] })
    }

    fn gives(&self, id_token: &str) {
        self.world.web.says(TOKEN, 200, json!({ "id_token": id_token, "access_token": "at" }));
    }

    fn returned(&self) -> Returned {
        let state = Some(self.query["state"].clone());
        Returned { code: Some("c0de".into()), state, iss: None, error: None }
    }

    async fn finish(&self, returned: &Returned) -> Result<Principal, SignInFailed> {
        self.sign_in.finish(&self.flow, returned, now()).await
    }

    fn asked(&self, url: &str) -> Vec<Question> {
        self.world.web.asked().into_iter().filter(|one| one.url == url).collect()
    }
}

fn head() -> Value {
    json!({ "alg": "ES256", "kid": "one" })
}

#[tokio::test]
async fn a_code_becomes_a_person() {
    let scene = Scene::set().await;
    let query = &scene.query;
    assert_eq!((&*query["tenant"], &*query["response_type"], &*query["client_id"]), ("1", "code", "gateway"));
    assert_eq!((&*query["scope"], &*query["redirect_uri"]), ("openid profile", BACK));
    scene.gives(&scene.world.key.sign(&head(), &scene.claims()));
    let alice = scene.finish(&scene.returned()).await.unwrap();
    assert_eq!((&*alice.subject, &*alice.issuer), ("alice", ISSUER));
    assert_eq!((alice.groups, alice.audiences, alice.is_admin), (vec!["developers".to_owned()], None, false));
    let asked = scene.asked(TOKEN);
    let form = asked[0].form.as_ref().unwrap().reveal();
    let form: HashMap<String, String> = url::form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    assert_eq!((&*form["code"], &*form["redirect_uri"], &*form["client_id"]), ("c0de", BACK, "gateway"));
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, form["code_verifier"].as_bytes());
    assert_eq!(
        (&*query["code_challenge_method"], &query["code_challenge"]),
        ("S256", &URL_SAFE_NO_PAD.encode(digest))
    );
    assert!(scene.asked("https://idp.example.com/me").is_empty(), "the groups were there");
}

#[tokio::test]
async fn groups_that_the_id_token_does_not_name_are_asked_for() {
    let scene = Scene::set().await;
    let mut claims = scene.claims();
    claims.as_object_mut().unwrap().remove("groups");
    scene.gives(&scene.world.key.sign(&head(), &claims));
    let me = "https://idp.example.com/me";
    for (who, groups) in [("alice", vec!["ops".to_owned()]), ("mallory", vec![])] {
        scene.world.web.says(me, 200, json!({ "sub": who, "groups": ["ops"] }));
        assert_eq!(scene.finish(&scene.returned()).await.unwrap().groups, groups, "said of {who}");
    }
    assert_eq!(scene.asked(me)[0].authorization.as_ref().unwrap().reveal(), "Bearer at");
}

#[tokio::test]
async fn answers_to_somebody_elses_question_are_refused() {
    let scene = Scene::set().await;
    scene.gives(&scene.world.key.sign(&head(), &scene.claims()));
    let good = scene.returned();
    let wrong = [
        ("no state", Returned { state: None, ..good.clone() }),
        ("another state", Returned { state: Some("x".repeat(64)), ..good.clone() }),
        ("another issuer", Returned { iss: Some("https://evil.example.com".into()), ..good.clone() }),
        ("no code", Returned { code: None, ..good.clone() }),
    ];
    for (what, returned) in wrong {
        assert!(matches!(scene.finish(&returned).await, Err(SignInFailed::NotOurs)), "{what}");
    }
    let declined = Returned { error: Some("access_denied<script>".into()), ..good.clone() };
    let said = scene.finish(&declined).await.unwrap_err().to_string();
    assert!(said.contains("access_denied") && !said.contains('<'), "{said}");
    let late = scene.sign_in.finish(&scene.flow, &good, now().plus_seconds(601)).await;
    assert!(matches!(late, Err(SignInFailed::Late)));
    assert!(scene.asked(TOKEN).is_empty(), "no code was redeemed for any of them");
    scene.finish(&good).await.unwrap();
}

#[tokio::test]
async fn id_tokens_that_are_not_for_this_sign_in_are_refused() {
    let scene = Scene::set().await;
    let wrong = [
        ("another client's", json!({ "aud": "other" }), head()),
        ("for several, asked by another", json!({ "aud": ["gateway", "other"], "azp": "other" }), head()),
        ("of another sign-in", json!({ "nonce": "another" }), head()),
        ("without nonce", json!({ "nonce": null }), head()),
        ("of another issuer", json!({ "iss": "https://evil.example.com" }), head()),
        ("expired", json!({ "exp": 1 }), head()),
        ("without subject", json!({ "sub": null }), head()),
        ("an access token", json!({}), header()),
    ];
    for (what, change, head) in wrong {
        let mut claims = scene.claims();
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        scene.gives(&scene.world.key.sign(&head, &claims));
        let found = scene.finish(&scene.returned()).await;
        assert!(matches!(found, Err(SignInFailed::Unbelieved(_))), "{what}: {found:?}");
    }
    scene.gives(&SigningKey::ec().sign(&head(), &scene.claims()));
    let forged = scene.finish(&scene.returned()).await;
    assert!(matches!(forged, Err(SignInFailed::Unbelieved(Refused::BadSignature))));
    scene.world.web.says(TOKEN, 400, json!({ "error": "invalid_grant" }));
    assert!(
        matches!(scene.finish(&scene.returned()).await, Err(SignInFailed::Declined(_))),
        "redeemed before"
    );
}

#[tokio::test]
async fn a_sign_in_under_way_is_sealed_and_no_session() {
    let scene = Scene::set().await;
    let cookies = Cookies::new(&RootKey::from_hex(&"0f".repeat(32)).unwrap());
    let sealed = cookies.seal_flow(&scene.flow);
    assert!(!sealed.contains(&scene.query["state"]));
    assert_eq!(cookies.open_flow(&sealed).unwrap().next, "/ui/");
    assert!(cookies.open_session(&sealed).is_none());
    let leave = scene.sign_in.sign_out_url(ISSUER, "https://mcp.example.com/login").unwrap();
    assert!(leave.starts_with("https://idp.example.com/leave?client_id=gateway&post_logout_redirect_uri="));
    assert!(scene.sign_in.begin("https://evil.example.com", BACK, "/", now()).is_err());
}

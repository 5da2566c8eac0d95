//! Tokens are fetched once, renewed in time, replaced when refused, and never shared between callers.

use std::sync::atomic::{AtomicUsize, Ordering};

use catalog::authorization::Flow;
use catalog::connection::User;
use catalog::endpoint::{Endpoint, Secret};
use catalog::name::ServerPath;
use futures_util::future::join_all;

use super::*;
use crate::pool::Backends;
use crate::stub::{self, Said, Stub, Wire, json, post, whole};

/// An authorization server whose tokens are numbered, and a backend that takes them.
struct Scene {
    server: Stub,
    backend: Stub,
    backends: Arc<Backends>,
    flow: Flow,
}

impl Scene {
    async fn start(flow: Flow, life: u64) -> Self {
        let count = Arc::new(AtomicUsize::new(0));
        let server = Stub::start(move |mut wire: Wire| {
            let count = count.clone();
            async move {
                while let Some(said) = wire.request().await {
                    let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                    // Long enough for others to come meanwhile.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    let token = match said.body.contains("subject_token=bob") {
                        true => format!("bobs-{number}"),
                        false => format!("t{number}"),
                    };
                    let body =
                        format!(r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":{life}}}"#);
                    wire.say(&json(&body)).await;
                }
            }
        })
        .await;
        Self::with(flow, server, Stub::answering(json("{}")).await)
    }

    fn with(flow: Flow, server: Stub, backend: Stub) -> Self {
        let mut settings = stub::settings();
        settings.tokens = Some(Tokens::new(Fetcher::new(&settings)));
        Self { server, backend, backends: Arc::new(Backends::new(Arc::new(settings))), flow }
    }

    fn endpoint(&self) -> Endpoint {
        let authorization = Authorization {
            flow: self.flow,
            server: ServerPath::parse("path", "/a").unwrap(),
            issuer: None,
            token_url: Some(format!("http://127.0.0.1:{}/token", self.server.port).parse().unwrap()),
            authorization_url: None,
            client_id: Secret::new("our name"),
            client_secret: Some(Secret::new("s3cret:%")),
            scope: "read write".into(),
            resource: None,
            audience: Some("them".into()),
        };
        Endpoint { authorization: Some(Arc::new(authorization)), ..self.backend.endpoint() }
    }

    async fn send(&self, backends: &Backends) -> Result<u16, Error> {
        Ok(backends.send(&self.endpoint(), post("{}")).await?.status().as_u16())
    }

    /// What the backend was sent, request by request.
    fn sent(&self) -> Vec<String> {
        self.backend.requests().iter().map(|said| header(said, "authorization")).collect()
    }
}

fn header(said: &Said, name: &str) -> String {
    let found: Vec<_> = said
        .head
        .lines()
        .filter_map(|line| line.split_once(": ").filter(|(known, _)| known.eq_ignore_ascii_case(name)))
        .map(|(_, value)| value)
        .collect();
    found.join(" and ")
}

#[tokio::test]
async fn many_calls_at_once_fetch_one_token() {
    let scene = Scene::start(Flow::Service, 300).await;
    let sent = join_all((0..20).map(|_| scene.send(&scene.backends))).await;
    assert!(sent.iter().all(|status| matches!(status, Ok(200))));
    assert_eq!(scene.sent(), vec!["Bearer t1"; 20]);
    let asked = scene.server.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].body, "grant_type=client_credentials&scope=read+write&audience=them");
    // our+name:s3cret%3A%25
    assert_eq!(header(&asked[0], "authorization"), "Basic b3VyK25hbWU6czNjcmV0JTNBJTI1");
}

#[tokio::test]
async fn a_token_in_use_is_renewed_before_it_ends_and_an_unused_one_is_not() {
    let scene = Scene::start(Flow::Service, 1).await;
    scene.send(&scene.backends).await.unwrap();
    // Used, so it is renewed after 0.8 of its second; the one after it is used by nobody.
    while scene.server.requests().len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(scene.server.requests().len(), 2, "nobody used the second");
    scene.send(&scene.backends).await.unwrap();
    assert_eq!(scene.sent(), ["Bearer t1", "Bearer t3"]);
}

#[tokio::test]
async fn a_refused_token_is_replaced_once_and_the_request_sent_once_more() {
    let refusing = |good: &'static str| {
        Stub::start(move |mut wire: Wire| async move {
            while let Some(said) = wire.request().await {
                let is_good = header(&said, "authorization") == good;
                wire.say(&if is_good { json("{}") } else { whole(401, "text/plain", "no") }).await;
            }
        })
    };
    let scene = Scene { backend: refusing("Bearer t2").await, ..Scene::start(Flow::Service, 300).await };
    assert_eq!(scene.send(&scene.backends).await.unwrap(), 200);
    assert_eq!(scene.sent(), ["Bearer t1", "Bearer t2"]);

    let scene = Scene { backend: refusing("none").await, ..Scene::start(Flow::Service, 300).await };
    assert_eq!(scene.send(&scene.backends).await.unwrap(), 401, "two attempts are all");
    assert_eq!(scene.send(&scene.backends).await.unwrap(), 401);
    assert_eq!(scene.sent(), ["Bearer t1", "Bearer t2", "Bearer t2"]);
    assert_eq!(
        scene.server.requests().len(),
        2,
        "a backend that refuses all has no tokens fetched by each call"
    );
}

#[tokio::test]
async fn a_server_that_gives_none_fails_the_call_and_is_left_alone_for_a_while() {
    let down = Stub::answering(whole(503, "text/plain", "s3cret")).await;
    let scene = Scene::with(Flow::Service, down, Stub::answering(json("{}")).await);
    for _ in 0..5 {
        let error = scene.send(&scene.backends).await.unwrap_err();
        assert!(!error.may_have_run());
        assert_eq!(error.reason(), "the authorization server answered HTTP 503");
    }
    assert_eq!((scene.server.requests().len(), scene.backend.requests().len()), (1, 0));
}

#[tokio::test]
async fn callers_get_tokens_of_their_own_for_the_ones_they_came_with() {
    let scene = Scene::start(Flow::Exchange, 300).await;
    let user = User { issuer: "".into(), subject: "somebody".into() };
    let of = |token: &str| scene.backends.on_behalf_of(Caller::new(user.clone(), token));
    for caller in [of("alice-1"), of("bob-1"), of("alice-1"), of("bob-1")] {
        scene.send(&caller).await.unwrap();
    }
    assert_eq!(scene.sent(), ["Bearer t1", "Bearer bobs-2", "Bearer t1", "Bearer bobs-2"]);
    let asked = scene.server.requests();
    assert!(
        asked[0].body.contains("grant-type%3Atoken-exchange&subject_token=alice-1&"),
        "{}",
        asked[0].body
    );
    assert_eq!(asked.len(), 2);
    // Where nobody calls, the gateway asks in its own name.
    scene.send(&scene.backends).await.unwrap();
    assert!(scene.server.requests()[2].body.starts_with("grant_type=client_credentials"));
}

#[tokio::test]
async fn metadata_tell_where_tokens_are_had() {
    let server = Stub::start(|mut wire: Wire| async move {
        while let Some(said) = wire.request().await {
            let at = header(&said, "host");
            let path = said.head.split(' ').nth(1).unwrap().to_owned();
            let text = match path.as_str() {
                "/.well-known/openid-configuration/realm" => json(&format!(
                    r#"{{"issuer":"http://{at}/realm","token_endpoint":"http://{at}/t","token_endpoint_auth_methods_supported":["client_secret_post"]}}"#
                )),
                "/.well-known/openid-configuration/other" => {
                    json(&format!(r#"{{"issuer":"http://{at}/realm","token_endpoint":"http://{at}/t"}}"#))
                }
                "/t" => json(r#"{"access_token":"t","token_type":"bearer"}"#),
                _ => whole(404, "text/plain", ""),
            };
            wire.say(&text).await;
        }
    })
    .await;
    let scene = Scene::with(Flow::Service, server, Stub::answering(json("{}")).await);
    let by_issuer = |path: &str| {
        let mut endpoint = scene.endpoint();
        let mut authorization = (*endpoint.authorization.unwrap()).clone();
        authorization.token_url = None;
        authorization.issuer = Some(format!("http://127.0.0.1:{}{path}", scene.server.port).parse().unwrap());
        endpoint.authorization = Some(Arc::new(authorization));
        endpoint
    };
    scene.backends.send(&by_issuer("/realm"), post("{}")).await.unwrap();
    assert_eq!(scene.sent(), ["Bearer t"]);
    let form = scene.server.requests().pop().unwrap().body;
    assert!(form.ends_with("&client_id=our+name&client_secret=s3cret%3A%25"), "{form}");
    let error = scene.backends.send(&by_issuer("/other"), post("{}")).await.err().unwrap();
    assert_eq!(error.reason(), "the metadata are of another issuer");
}

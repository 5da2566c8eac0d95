use super::*;
use crate::stub::{Stub, settings};

const LIMIT: usize = 1000;

fn fetcher(allow_private_learnt: bool) -> Fetcher {
    let mut settings = settings();
    settings.learnt_address_rule = AddressRule { allow_private: allow_private_learnt };
    Fetcher::new(&settings)
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn what_an_administrator_named_may_be_on_this_machine_and_what_was_learnt_may_not() {
    let stub = Stub::answering(answer("200 OK", "", "{}")).await;
    let at = url(&format!("http://127.0.0.1:{}/keys", stub.port));
    let by_name = url(&format!("http://localhost:{}/keys", stub.port));
    let fetched = fetcher(false).get(&at, Trust::Given, LIMIT).await.unwrap();
    assert_eq!((fetched.status, &fetched.body[..]), (StatusCode::OK, &b"{}"[..]));
    for at in [&at, &by_name] {
        let refused = fetcher(false).get(at, Trust::Learnt, LIMIT).await.unwrap_err();
        assert!(matches!(refused, Error::ForbiddenAddress { .. }), "{refused}");
        assert!(fetcher(true).get(at, Trust::Learnt, LIMIT).await.is_ok());
    }
}

#[tokio::test]
async fn connections_of_the_trusted_are_not_lent_to_others() {
    let stub = Stub::answering(answer("200 OK", "", "{}")).await;
    let at = url(&format!("http://127.0.0.1:{}/", stub.port));
    let fetcher = fetcher(false);
    fetcher.get(&at, Trust::Given, LIMIT).await.unwrap();
    assert!(fetcher.get(&at, Trust::Learnt, LIMIT).await.is_err());
    assert_eq!(stub.requests().len(), 1);
}

#[tokio::test]
async fn link_local_and_metadata_addresses_are_refused_to_everybody() {
    for at in ["http://169.254.169.254/latest", "http://[fe80::1]/", "http://metadata.google.internal/"] {
        for trust in [Trust::Given, Trust::Learnt] {
            let refused = fetcher(true).get(&url(at), trust, LIMIT).await.unwrap_err();
            assert!(matches!(refused, Error::ForbiddenAddress { .. }), "{at}: {refused}");
        }
    }
}

#[tokio::test]
async fn only_http_is_fetched() {
    let fetcher = fetcher(true);
    for text in
        ["stdio:files", "file:///etc/passwd", "http://user@127.0.0.1/", "http://127.0.0.1/#http+sse", "x"]
    {
        assert!(fetcher.check("jwks_uri", text, Trust::Given).is_err(), "{text}");
    }
    assert!(fetcher.get(&url("stdio:files"), Trust::Given, LIMIT).await.is_err());
    assert!(fetcher.check("jwks_uri", "http://10.0.0.1/", Trust::Given).is_ok());
}

#[tokio::test]
async fn redirects_are_followed_at_home_only() {
    let home = Stub::start(|mut wire| async move {
        while let Some(said) = wire.request().await {
            let target = said.head.split(' ').nth(1).unwrap().to_owned();
            let moved = |to: &str| answer("302 Found", &format!("location: {to}\r\n"), "");
            let text = match target.as_str() {
                "/moved" => moved("/keys/"),
                "/loop" => moved("/loop"),
                "/away" => moved("http://localhost:1/keys"),
                "/metadata" => moved("http://169.254.169.254/"),
                _ => answer("200 OK", "", &target),
            };
            wire.say(&text).await;
        }
    })
    .await;
    let fetcher = fetcher(true);
    let at = |path: &str| url(&format!("http://127.0.0.1:{}{path}", home.port));
    let fetched = fetcher.get(&at("/moved"), Trust::Given, LIMIT).await.unwrap();
    assert_eq!(&fetched.body[..], b"/keys/");
    for path in ["/away", "/metadata"] {
        let fetched = fetcher.get(&at(path), Trust::Given, LIMIT).await.unwrap();
        assert_eq!(fetched.status, StatusCode::FOUND, "{path}");
    }
    assert!(fetcher.get(&at("/loop"), Trust::Given, LIMIT).await.is_err());
    let posted = Outgoing { method: Method::POST, headers: HeaderMap::new(), body: "secret".into() };
    let fetched = fetcher.fetch(&at("/moved"), Trust::Given, posted, LIMIT).await.unwrap();
    assert_eq!(fetched.status, StatusCode::FOUND, "what is posted is not sent on");
}

#[tokio::test]
async fn documents_are_bounded() {
    let stub = Stub::answering(answer("200 OK", "", &"x".repeat(LIMIT + 1))).await;
    let at = url(&format!("http://127.0.0.1:{}/", stub.port));
    let refused = fetcher(false).get(&at, Trust::Given, LIMIT).await.unwrap_err();
    assert!(matches!(refused, Error::TooLarge { .. }), "{refused}");
}

#[test]
fn trust_is_handed_on_within_an_origin() {
    let issuer = url("http://127.0.0.1:9/issuer");
    assert_eq!(Trust::Given.handed_on(&issuer, &url("http://127.0.0.1:9/keys")), Trust::Given);
    assert_eq!(Trust::Learnt.handed_on(&issuer, &url("http://127.0.0.1:9/keys")), Trust::Learnt);
    for other in ["http://127.0.0.1:10/keys", "https://127.0.0.1:9/keys", "http://localhost:9/keys"] {
        assert_eq!(Trust::Given.handed_on(&issuer, &url(other)), Trust::Learnt, "{other}");
    }
}

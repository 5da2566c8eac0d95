//! Tokens of a provider, good and bad.

use super::*;

#[tokio::test]
async fn a_providers_token_opens_what_its_groups_and_scopes_grant() {
    let Some(stage) = Stage::set().await else { return };
    let document = stage
        .app
        .anonymous()
        .get("/.well-known/oauth-protected-resource/virtual/dev-tools")
        .await
        .expect(200);
    assert_eq!(document["authorization_servers"], json!([stage.provider.issuer]));
    assert_eq!(document["resource"], stage.at("/virtual/dev-tools"));
    let mut client = stage.client("/virtual/dev-tools", &stage.token().await);
    client.initialize().await;
    assert_eq!(client.tools().await, ["search"]);
    client.call("search", json!({})).await;
    let answer = client.try_call("create_pr", json!({})).await;
    assert_eq!(answer.status, 403);
    assert!(answer.header("www-authenticate").contains("scope=\"mcp-access github-write\""));
    let more = stage.provider.token(&stage.at("/virtual/dev-tools"), "github-write").await;
    let mut client = stage.client("/virtual/dev-tools", &more);
    client.initialize().await;
    assert_eq!(client.tools().await, ["search", "create_pr"]);
    client.call("create_pr", json!({})).await;
    assert_eq!(stage.github.runs("create_pr"), 1);
    let calls = stage.github.calls();
    assert!(calls.iter().all(|seen| seen.header("authorization").is_empty()), "the token stays here");
    // Our own tokens go on beside it.
    let own = stage.app.holder("bob", &["mcp-access"]).await;
    assert_eq!(stage.app.client("/virtual/dev-tools", &own).try_initialize().await.status, 200);
}

#[tokio::test]
async fn what_a_group_grants_is_revoked_by_the_next_request() {
    let Some(stage) = Stage::set().await else { return };
    let mut client = stage.client("/virtual/dev-tools", &stage.token().await);
    client.initialize().await;
    for _ in 0..3 {
        client.call("search", json!({})).await;
        let none = json!({ "scopes": [] });
        stage.app.admin().send("PUT /api/groups/developers", none).await.expect(200);
        assert_eq!(client.try_call("search", json!({})).await.status, 403);
        let back = json!({ "scopes": ["mcp-access"] });
        stage.app.admin().send("PUT /api/groups/developers", back).await.expect(200);
    }
}

#[tokio::test]
async fn a_token_is_good_for_its_audience_alone() {
    let Some(stage) = Stage::configured("audiences = [\"https://mcp.example.com\"]").await else { return };
    let to_github = stage.provider.token(&stage.at("/github"), "mcp-access").await;
    assert_eq!(stage.status("/github", &to_github).await, 200);
    assert_eq!(stage.status("/github/mcp", &to_github).await, 200);
    stage.check(&to_github, 401, "for another endpoint").await;
    for other in ["https://evil.example.com/virtual/dev-tools", "http://127.0.0.1/virtual/dev-tools"] {
        stage.check(&stage.provider.token(other, "mcp-access").await, 401, "for another host").await;
    }
    stage
        .check(&stage.provider.token("https://mcp.example.com", "").await, 200, "one that is configured")
        .await;
    // The same for the API: a token for an endpoint is none for it.
    let api = async |token: &str| Caller::new(stage.app.authority(), Some(token)).get("/api/servers").await;
    api(&to_github).await.expect(401);
    api(&stage.provider.token(&stage.at("/api"), "").await).await.expect(200);
    api(&stage.provider.token("https://mcp.example.com", "").await).await.expect(200);
}

#[tokio::test]
async fn administrators_may_come_from_a_provider() {
    let more = "group_prefix = \"corp/\"\nadmin_groups = [\"corp/developers\"]";
    let Some(stage) = Stage::configured(more).await else { return };
    let admin = Caller::new(stage.app.authority(), Some(&stage.provider.token(&stage.at("/api"), "").await));
    admin.send("POST /api/groups", json!({ "name": "made by alice" })).await.expect(201);
    stage.check(&stage.token().await, 200, "an administrator lacks no scope").await;
    let trail = stage.app.admin().get("/api/audit").await.expect(200);
    assert!(trail.to_string().contains("robot"), "the trail names who it was: {trail}");
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let Some(stage) = Stage::set().await else { return };
    let good = stage.token().await;
    stage.check(&good, 200, "good").await;
    let (head, claims, signature) = parts(&good);
    let with = |mut object: Value, name: &str, value: Value| {
        object[name] = value;
        encoded(object.to_string())
    };
    let same = encoded(claims.to_string());
    let body = good.split('.').nth(1).unwrap();
    for alg in ["none", "None", "NONE", "HS256", "ES384"] {
        let head = with(head.clone(), "alg", json!(alg));
        for signature in ["", signature.as_str()] {
            stage.check(&format!("{head}.{body}.{signature}"), 401, alg).await;
        }
    }
    let alice = with(claims.clone(), "sub", json!("root"));
    let (first, _) = good.split_once('.').unwrap();
    stage.check(&format!("{first}.{alice}.{signature}"), 401, "other claims").await;
    stage.check(&format!("{first}.{same}."), 401, "no signature").await;
    // The public key is known to all, and so no secret to sign with.
    let keys =
        Caller::new(stage.provider.issuer.trim_start_matches("http://"), None).get("/jwks").await.expect(200);
    let key = &keys["keys"][0];
    let point =
        [&[4][..], &decoded(key["x"].as_str().unwrap()), &decoded(key["y"].as_str().unwrap())].concat();
    let head = with(head.clone(), "alg", json!("HS256"));
    for secret in [key.to_string().into_bytes(), point] {
        let message = format!("{head}.{body}");
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &secret);
        let tag = aws_lc_rs::hmac::sign(&key, message.as_bytes());
        stage.check(&format!("{message}.{}", encoded(tag)), 401, "signed with the public key").await;
    }
    stage.check(&good, 200, "still").await;
}

#[tokio::test]
async fn tokens_with_wrong_or_missing_claims_are_refused_though_they_are_signed() {
    let Some(stage) = Stage::set().await else { return };
    let wrong = [
        ("another issuer", json!({ "claims": { "iss": "https://evil.example.com" } })),
        ("no issuer", json!({ "claims": { "iss": null } })),
        ("no subject", json!({ "claims": { "sub": null } })),
        ("no end", json!({ "claims": { "exp": null } })),
        ("bound to a key", json!({ "claims": { "cnf": { "jkt": "x" } } })),
        ("an ID token", json!({ "claims": { "typ": "ID" } })),
        ("a logout token", json!({ "head": { "typ": "logout+jwt" } })),
    ];
    for (what, set) in wrong {
        stage.provider.set(json!({ "claims": {}, "head": {} })).await;
        stage.provider.set(set).await;
        stage.check(&stage.token().await, 401, what).await;
    }
    stage.provider.set(json!({ "claims": { "groups": null }, "head": {} })).await;
    stage.check(&stage.token().await, 403, "no groups, no scopes").await;
}

#[tokio::test]
async fn clocks_may_be_a_minute_apart_and_no_more() {
    let Some(stage) = Stage::set().await else { return };
    for (ahead, expected) in [(45, 200), (90, 401), (-310, 200), (-400, 401)] {
        stage.provider.set(json!({ "clock": ahead, "life": 300 })).await;
        stage.check(&stage.token().await, expected, &format!("a clock {ahead} s ahead")).await;
    }
}

#[tokio::test]
async fn a_token_ends_in_the_middle_of_a_session() {
    let Some(stage) = Stage::configured("clock_leeway = \"0s\"").await else { return };
    stage.provider.set(json!({ "life": 2 })).await;
    let mut client = stage.client("/virtual/dev-tools", &stage.token().await);
    client.initialize().await;
    let begun = std::time::Instant::now();
    while client.try_call("search", json!({})).await.status != 401 {
        assert!(begun.elapsed() < crate::app::PATIENCE, "it goes on");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(begun.elapsed() >= std::time::Duration::from_millis(900), "it was good for a while");
}

#[tokio::test]
async fn opaque_tokens_are_asked_about_and_end_when_they_are_revoked() {
    let more = "[auth.providers.introspection]\nclient_id = \"robot\"\nclient_secret = \"robot-secret\"\nkeep = \"1s\"";
    let Some(stage) = Stage::configured(more).await else { return };
    stage.provider.set(json!({ "format": "opaque" })).await;
    let token = stage.token().await;
    assert!(!token.contains('.'));
    let mut client = stage.client("/virtual/dev-tools", &token);
    client.initialize().await;
    client.call("search", json!({})).await;
    assert_eq!(stage.status("/github", &token).await, 401, "for another endpoint");
    stage.check("made-up", 401, "nobody's").await;
    stage.provider.revoke(&token).await;
    let begun = std::time::Instant::now();
    while client.try_call("search", json!({})).await.status != 401 {
        assert!(begun.elapsed() < crate::app::PATIENCE, "it goes on");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(
        !stage.app.log().contains("robot-secret") && !stage.app.log().contains(&token),
        "no secret in the log"
    );
}

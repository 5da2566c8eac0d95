//! Claims as the operator's rules read them.

use super::*;

async fn caller(edit: impl FnOnce(&mut ProviderSettings), claims: &Value) -> Arc<Principal> {
    let world = World::with(edit).await;
    world.authenticator.identify(&world.token(claims), now()).await.unwrap()
}

#[tokio::test]
async fn a_providers_token_stands_for_what_it_says() {
    let alice = caller(|_| {}, &claims()).await;
    assert_eq!((&*alice.subject, &*alice.issuer), ("alice", ISSUER));
    assert_eq!(alice.groups, ["developers"]);
    assert_eq!(alice.scopes.iter().map(|s| s.as_str()).collect::<Vec<_>>(), ["mcp-access", "github-read"]);
    assert_eq!(alice.audiences.as_deref(), Some(&[Box::from(ENDPOINT)][..]));
    assert!(!alice.is_admin && alice.token.is_none() && alice.resource.is_none());
    let several = with(claims(), "aud", json!(["https://other.example.com", ENDPOINT]));
    assert_eq!(caller(|_| {}, &several).await.audiences.as_ref().unwrap().len(), 2);
    let known = caller(|one| one.audiences = vec!["https://other.example.com".into()], &several).await;
    assert_eq!(known.audiences, None, "good for every endpoint");
}

#[tokio::test]
async fn groups_and_scopes_stand_where_the_operator_says() {
    let check = async |groups: &[&str], scopes: &[&str], said: Value, expected: (&[&str], &[&str])| {
        let mut all = claims();
        all.as_object_mut().unwrap().remove("groups");
        all.as_object_mut().unwrap().remove("scope");
        all.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        let rules = |one: &mut ProviderSettings| {
            one.claims.groups = groups.iter().map(|name| ClaimName::new(*name)).collect();
            one.claims.scopes = scopes.iter().map(|name| ClaimName::new(*name)).collect();
        };
        let caller = caller(rules, &all).await;
        let found: Vec<_> = caller.scopes.iter().map(|scope| scope.as_str()).collect();
        assert_eq!(
            (caller.groups.iter().map(String::as_str).collect::<Vec<_>>(), found),
            (expected.0.to_vec(), expected.1.to_vec()),
            "{said}"
        );
    };
    check(&["groups", "roles"], &["scope", "scp"], json!({}), (&[], &[])).await;
    let both = json!({ "groups": ["a", "b"], "roles": ["b", "c"], "scope": "x y", "scp": ["y", "z"] });
    check(&["groups", "roles"], &["scope", "scp"], both, (&["a", "b", "c"], &["x", "y", "z"])).await;
    let keycloak = json!({ "realm_access": { "roles": ["admin"] }, "resource_access": { "my.app": { "roles": ["dev"] } } });
    check(&["realm_access.roles", "resource_access.my.app.roles"], &[], keycloak, (&["admin", "dev"], &[]))
        .await;
    check(
        &["https://example.com/groups"],
        &[],
        json!({ "https://example.com/groups": "one group" }),
        (&["one group"], &[]),
    )
    .await;
    check(
        &["groups"],
        &["scp"],
        json!({ "groups": [1, null, "g", {}], "scp": "x  y" }),
        (&["g"], &["x", "y"]),
    )
    .await;
    check(
        &["groups"],
        &["scope"],
        json!({ "groups": { "g": true }, "scope": "a\"b good" }),
        (&["g"][..0], &["good"]),
    )
    .await;
    check(&[], &[], json!({ "groups": ["a"], "scope": "x" }), (&[], &[])).await;
}

#[tokio::test]
async fn groups_of_two_providers_can_be_told_apart_and_make_administrators() {
    let admins = |one: &mut ProviderSettings| {
        one.claims.group_prefix = "corp/".into();
        one.claims.admin_groups = vec!["corp/admins".into()];
    };
    let member = caller(admins, &with(claims(), "groups", json!(["admins"]))).await;
    assert!(member.is_admin && member.groups == ["corp/admins"]);
    assert!(!caller(admins, &claims()).await.is_admin);
    let unprefixed = |one: &mut ProviderSettings| one.claims.admin_groups = vec!["corp/admins".into()];
    assert!(!caller(unprefixed, &with(claims(), "groups", json!(["admins"]))).await.is_admin);
}

#[tokio::test]
async fn another_claim_can_name_the_caller() {
    let by_mail = |one: &mut ProviderSettings| one.claims.subject = ClaimName::new("email");
    let caller = caller(by_mail, &with(claims(), "email", json!("alice@example.com"))).await;
    assert_eq!(&*caller.subject, "alice@example.com");
}

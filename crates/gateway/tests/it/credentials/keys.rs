//! The root key is replaced, and what the old one made goes on.

use serde_json::json;
use testkit::LegacyBackend;

use crate::app::{self, App};
use crate::compose::row;

#[tokio::test]
async fn a_new_root_key_ends_nothing_until_the_old_one_is_retired() {
    let backend = LegacyBackend::start("secured").tool("search").bearer("backend-secret").await;
    let mut app = App::start().await;
    let body = json!({ "path": "/a", "proxy_pass_url": backend.url(), "is_enabled": true,
        "auth_scheme": "bearer", "auth_credential": "backend-secret" });
    app.admin().send("POST /api/servers/register", body).await.expect(201);
    app.refresh("/a").await;
    app.compose("v", &[row("search", "/a", "")]).await;
    let caller = app.reader().await;
    let mut client = app.client("/virtual/v", &caller);
    client.initialize().await;
    client.call("search", json!({})).await;
    let session = client.session.clone().unwrap();
    let file = app.data().join("root.key");
    let first = std::fs::read_to_string(&file).unwrap();

    let rotated = app::run(app.folder(), &["key", "rotate"]).await;
    assert_eq!(rotated.status, 0, "{rotated:?}");
    assert!(rotated.said.contains("1 older") && rotated.said.contains("start it again"), "{rotated:?}");
    let both = std::fs::read_to_string(&file).unwrap();
    assert!(both.ends_with(&first) && both.lines().count() == 2);
    let refused = app::run(app.folder(), &["key", "retire"]).await;
    assert!(refused.status == 1 && refused.complained.contains("stop it first"), "{refused:?}");

    app.restart().await;
    assert!(app.log().contains("sealed anew"), "{}", app.log());
    app.client("/virtual/v", &caller).in_session(&session).call("search", json!({})).await;
    let newer = app.reader().await;
    app.client("/virtual/v", &newer).initialize().await;

    app.terminate();
    assert!(app.ended().await.success());
    let retired = app::run(app.folder(), &["key", "retire"]).await;
    assert_eq!(retired.status, 0, "{retired:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
    app.start_again().await;
    let answer = app.client("/virtual/v", &caller).try_initialize().await;
    assert_eq!(answer.status, 401, "its token was signed with the old key");
    let mut client = app.client("/virtual/v", &newer);
    client.initialize().await;
    client.call("search", json!({})).await;
    app.admin().get("/api/tokens").await.expect(200);
}

#[tokio::test]
async fn a_key_that_is_given_as_text_is_rotated_where_it_is_given() {
    let folder = app::folder(&format!("[auth]\nroot_key = \"{}\"", "0f".repeat(32)));
    let refused = app::run(folder.path(), &["key", "rotate"]).await;
    assert!(refused.status == 1 && refused.complained.contains("in front of it"), "{refused:?}");
    let two = format!("[auth]\nroot_key = \"{}, {}\"", "0e".repeat(32), "0f".repeat(32));
    let checked = app::run(app::folder(&two).path(), &["check"]).await;
    assert_eq!(checked.status, 0, "{checked:?}");
}

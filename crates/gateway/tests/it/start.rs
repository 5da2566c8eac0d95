//! Starting: what lies in the data directory, what a restart keeps, and who may not start twice.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::LegacyBackend;

use crate::app::{App, run};

#[tokio::test]
async fn a_first_start_makes_everything_and_says_where() {
    let app = App::start().await;
    let mode = |name: &str| std::fs::metadata(app.data().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(std::fs::metadata(app.data()).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!((mode("admin.token"), mode("root.key"), mode("switchyard.db")), (0o600, 0o600, 0o600));
    assert!(app.log().contains("admin.token"), "{}", app.log());

    assert_eq!(app.anonymous().get("/healthz").await.text, "ok\n");
    assert_eq!(app.anonymous().get("/readyz").await.text, "ready\n");
    app.anonymous().get("/api/servers").await.expect(401);
    app.admin().get("/api/servers").await.expect(200);
}

#[tokio::test]
async fn a_restart_keeps_token_and_catalog() {
    let backend = LegacyBackend::start("github").tool("search").await;
    let mut app = App::start().await;
    app.serve("/github", &backend.url()).await;
    let before = app.admin().token.unwrap();
    app.restart().await;
    assert_eq!(app.admin().token.unwrap(), before);
    assert_eq!(app.admin().get("/api/servers/github").await.expect(200)["num_tools"], 1);
    app.crash().await;
    assert_eq!(app.admin().get("/api/servers/github").await.expect(200)["num_tools"], 1);
}

#[tokio::test]
async fn a_lost_or_revoked_admin_token_is_replaced() {
    let mut app = App::start().await;
    let first = app.admin();
    std::fs::remove_file(app.data().join("admin.token")).unwrap();
    app.restart().await;
    let second = app.admin();
    assert_ne!(first.token, second.token);

    let newest = second.get("/api/tokens").await.expect(200)["tokens"][0]["id"].clone();
    second.send(&format!("DELETE /api/tokens/{}", newest.as_str().unwrap()), Value::Null).await.expect(204);
    second.get("/api/tokens").await.expect(401);
    app.restart().await;
    assert_ne!(second.token, app.admin().token);
    app.admin().get("/api/tokens").await.expect(200);
}

#[tokio::test]
async fn one_data_directory_serves_one_process() {
    let app = App::start().await;
    let second = run(app.folder(), &["serve", "--listen", "127.0.0.1:0"]).await;
    assert_eq!(second.status, 3, "{second:?}");
    assert!(second.complained.contains("the data directory data is in use"), "{second:?}");
    app.anonymous().get("/readyz").await.expect(200);
}

#[tokio::test]
async fn a_taken_address_is_named() {
    let app = App::start().await;
    let second = run(app.folder(), &["serve", "--listen", app.authority(), "--data-dir", "other"]).await;
    assert_eq!(second.status, 3, "{second:?}");
    assert!(second.complained.contains(&format!("cannot listen on {}", app.authority())), "{second:?}");
}

#[tokio::test]
async fn a_damaged_catalog_is_not_started_over() {
    let app = App::start().await;
    let data = app.data();
    let kept = tempfile::tempdir().unwrap();
    std::fs::create_dir(kept.path().join("data")).unwrap();
    std::fs::copy(data.join("root.key"), kept.path().join("data/root.key")).unwrap();
    std::fs::write(kept.path().join("data/switchyard.db"), "this is no database").unwrap();
    let started = run(kept.path(), &["serve", "--listen", "127.0.0.1:0"]).await;
    assert_eq!(started.status, 1, "{started:?}");
    assert!(started.complained.contains("database"), "{started:?}");
}

//! Configuration as the program takes it in.

use serde_json::json;
use testkit::{Client, LegacyBackend};

use crate::app::{App, folder, run};

#[tokio::test]
async fn a_good_configuration_is_confirmed() {
    let folder = folder("[server]\nlisten = \"127.0.0.1:0\"\n[health]\nprobe_every = \"30s\"");
    let ran = run(folder.path(), &["check"]).await;
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.said.contains("configuration") && ran.said.contains("ok"), "{ran:?}");
    assert!(!folder.path().join("data").exists(), "a check writes nothing");
}

#[tokio::test]
async fn a_misspelt_key_is_named_with_the_right_one() {
    let folder = folder("[backends]\nconect_timeout = \"1s\"");
    for command in [&["check"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        let ran = run(folder.path(), command).await;
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.complained.contains("did you mean backends.connect_timeout?"), "{ran:?}");
    }
    let ran = run(folder.path(), &["check", "--config", "missing.toml"]).await;
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.complained.contains("missing.toml"), "{ran:?}");
}

#[tokio::test]
async fn the_stored_catalog_is_checked_where_nobody_holds_it() {
    let backend = LegacyBackend::start("github").tool("search").await;
    let mut app = App::start().await;
    app.serve("/github", &backend.url()).await;
    let held = run(app.folder(), &["check"]).await;
    assert_eq!(held.status, 0, "{held:?}");
    assert!(held.said.contains("in use"), "{held:?}");
    app.terminate();
    app.ended().await;
    let free = run(app.folder(), &["check"]).await;
    assert_eq!(free.status, 0, "{free:?}");
    assert!(free.said.contains("1 servers"), "{free:?}");
}

#[tokio::test]
async fn private_addresses_can_be_denied() {
    let app = App::configured("[backends]\nallow_private = false").await;
    let body = json!({ "path": "/a", "proxy_pass_url": "http://127.0.0.1:9/mcp" });
    let problem = app.admin().send("POST /api/servers/register", body).await.expect(422);
    assert!(problem["detail"].as_str().unwrap().contains("the configuration denies"), "{problem}");
}

#[tokio::test]
async fn a_named_endpoint_is_open_to_anybody() {
    let backend = LegacyBackend::start("open").tool("echo").await;
    let app = App::configured("[auth]\nanonymous = [\"/open\"]").await;
    app.serve("/open", &backend.url()).await;
    app.serve("/closed", &backend.url()).await;
    let mut client = Client::legacy(&format!("{}/open", app.url));
    client.initialize().await;
    assert_eq!(client.tools().await, ["echo"]);
    let refused = Client::legacy(&format!("{}/closed", app.url)).try_initialize().await;
    assert_eq!(refused.status, 401);
}

#[tokio::test]
async fn everything_stands_below_a_prefix_too() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    let app = App::configured("[server]\npath_prefix = \"/gateway\"").await;
    app.serve("/a", &backend.url()).await;
    let reader = app.reader().await;
    assert_eq!(reader.get("/gateway/api/servers/a").await.expect(200)["path"], "/a");
    assert_eq!(reader.get("/gateway/readyz").await.text, "ready\n");
    let mut client = app.client("/gateway/a", &reader);
    client.initialize().await;
    assert_eq!(client.tools().await, ["echo"]);
}

#[tokio::test]
async fn what_would_start_and_not_do_its_work_is_refused() {
    let folder = folder("");
    for (flag, text, expected) in [
        ("--log-level", "bogus", "error, warn, info, debug, trace or off"),
        ("--path-prefix", "/a/../b", "server.path_prefix"),
        ("--data-dir", "", "server.data_dir: must not be empty"),
        ("--set", "server.data_threads=100000", "server.data_threads: must lie between 1 and 256"),
    ] {
        for command in ["check", "serve"] {
            let ran = run(folder.path(), &[command, flag, text, "--listen", "127.0.0.1:0"]).await;
            assert_eq!(ran.status, 1, "{ran:?}");
            assert!(ran.complained.contains(expected), "{ran:?}");
        }
    }
}

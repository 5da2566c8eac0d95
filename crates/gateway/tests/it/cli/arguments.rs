//! Arguments that would climb out of their place in an address, or fill the memory.

use testkit::LegacyBackend;

use super::{ok, refused};
use crate::app::App;

#[tokio::test]
async fn no_argument_names_anything_but_what_it_stands_for() {
    let backend = LegacyBackend::start("a").tool("echo").await;
    let app = App::start().await;
    for path in ["/a", "/b", "/team/c"] {
        app.serve(path, &backend.url()).await;
        app.serve_version(path, "v2.0.0", &backend.url()).await;
    }
    let create = ["virtual", "create", "vv", "--tool", "/a:echo", "--enable"];
    ok(&app.run(&create).await);
    let before = app.run(&["server", "list", "--all"]).await;
    for line in [
        &["version", "remove", "/a", ".."][..],
        &["version", "remove", "/a", "."],
        &["version", "remove", "/a", ""],
        &["version", "remove", "/team/c", "../../../b"],
        &["version", "remove", "/team/c", "v2.0.0/.."],
        &["version", "show", "/a", "../../tokens"],
        &["version", "edit", "/a", "..", "--description", "x"],
        &["version", "diff", "/a", "..", "v2.0.0"],
        &["version", "diff", "/a", "v2.0.0", ".."],
        &["version", "list", "/a/.."],
        &["version", "use", "..", "v2.0.0"],
        &["version", "add", "", "v3", "http://127.0.0.1:9/mcp"],
        &["token", "revoke", ""],
        &["token", "revoke", "."],
        &["token", "revoke", ".."],
        &["virtual", "delete", "../servers/b"],
        &["virtual", "delete", ""],
        &["virtual", "disable", "vv/.."],
        &["virtual", "tools", ".."],
        &["virtual", "preview", "."],
        &["virtual", "create", "..", "--tool", "/a:echo"],
        &["server", "show", ""],
        &["server", "show", "/"],
        &["server", "delete", ""],
        &["server", "delete", "/team/c/../../a"],
        &["server", "delete", "/a?x"],
        &["server", "delete", "/%61"],
        &["server", "refresh", ""],
        &["server", "tools", "."],
        &["server", "enable", ".."],
        &["server", "edit", "..", "--name", "x"],
    ] {
        let ran = app.run(line).await;
        assert_eq!((ran.status, ran.said.as_str()), (2, ""), "{line:?} gave {ran:?}");
    }
    refused(&app.run(&["token", "revoke", "../servers/b"]).await, 1, "no such token");
    refused(&app.run(&["token", "revoke", "../virtual-servers/vv"]).await, 1, "no such token");
    assert_eq!(ok(&app.run(&["server", "list", "--all"]).await), ok(&before));
    ok(&app.run(&["virtual", "show", "/virtual/vv"]).await);
    ok(&app.run(&["version", "remove", "/a", "v2.0.0"]).await);
    let said = app.run(&["server", "list", "--url", &format!("{}?x=y", app.url)]).await;
    assert_eq!(said.status, 2, "{said:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_secret_that_never_ends_is_given_up() {
    let folder = crate::app::folder("");
    for line in [
        &["server", "register", "/a", "http://127.0.0.1:9/mcp", "--header-file", "X=/dev/urandom"][..],
        &["server", "edit", "/a", "--bearer-file", "/dev/zero"],
        &["server", "list", "--token-file", "/dev/zero"],
        &["virtual", "apply-file", "/dev/zero"],
    ] {
        let line = [line, &["--url", "http://127.0.0.1:1"]].concat();
        refused(&crate::app::run(folder.path(), &line).await, 2, "bytes; is it the right file?");
    }
}

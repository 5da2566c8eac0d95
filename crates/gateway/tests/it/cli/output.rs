//! Where what is said cannot go.

use std::fs::File;
use std::process::Stdio;

use serde_json::Value;

use super::{ok, refused};
use crate::app::{App, folder, run_into};

#[cfg(target_os = "linux")]
fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

async fn tokens(app: &App) -> usize {
    let listed = app.run(&["token", "list", "--all", "--json"]).await;
    serde_json::from_str::<Value>(ok(&listed)).unwrap()["tokens"].as_array().unwrap().len()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_told() {
    let app = App::start().await;
    for line in [&["server", "list"][..], &["token", "list", "--json"], &["check"], &["--help"]] {
        let url = ["--url", &app.url];
        let rest = if line.len() > 1 { &url[..] } else { &[] };
        let ran = run_into(app.folder(), &[line, rest].concat(), full()).await;
        assert_eq!(ran.status, 1, "{line:?} gave {ran:?}");
    }
    for form in [&[][..], &["--json"]] {
        let line = [&["token", "issue", "alice", "--url", &app.url], form].concat();
        let ran = run_into(app.folder(), &line, full()).await;
        let said = refused(&ran, 1, "cannot write to standard output");
        let id = said.trim().rsplit(' ').next().unwrap();
        ok(&app.run(&["token", "revoke", id]).await);
    }
}

#[tokio::test]
async fn a_token_is_not_issued_into_nothing() {
    let app = App::start().await;
    let before = tokens(&app).await;
    let line = ["token", "issue", "alice", "--url", &app.url];
    refused(&run_into(app.folder(), &line, Stdio::null()).await, 1, "would lose the token");
    let shell = std::process::Command::new("sh")
        .args(["-c", "\"$0\" \"$@\" >&-", env!("CARGO_BIN_EXE_switchyard")])
        .args(line)
        .current_dir(app.folder())
        .status();
    assert_eq!(shell.unwrap().code(), Some(1), "closed altogether");
    assert_eq!(tokens(&app).await, before);
    assert_eq!(run_into(app.folder(), &["server", "list", "--url", &app.url], Stdio::null()).await.status, 0);
}

#[tokio::test]
async fn a_reader_who_left_is_no_fault() {
    let folder = folder("");
    for line in [&["check"][..], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = run_into(folder.path(), line, writer).await;
        assert_eq!((ran.status, ran.complained.as_str()), (0, ""), "{line:?}");
    }
}

//! Downloads from a stub: what is taken, and what is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use catalog::endpoint::AddressRule;

use super::*;

/// The SHA-256 of `hello`.
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

fn fetcher() -> Fetcher {
    Fetcher::new(&backend::Settings::new(&[], AddressRule { allow_private: true }).unwrap())
}

/// Serves `text` at `/kept/file`, redirected to from `/file`; counts how often it was read.
async fn source(text: &'static str) -> (Url, Arc<AtomicUsize>) {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = reads.clone();
    let kept = get(move || async move {
        counted.fetch_add(1, Ordering::Relaxed);
        text
    });
    let elsewhere = get(|| async { Redirect::temporary("http://127.0.0.1:9/file") });
    let moved = get(|| async { Redirect::temporary("/kept/file") });
    let router = Router::new().route("/file", moved).route("/kept/file", kept).route("/elsewhere", elsewhere);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, reads)
}

fn part(remote: &'static str) -> Part {
    Part { remote, local: "here", sha256: HELLO, bytes: 5 }
}

#[tokio::test]
async fn a_file_is_downloaded_once_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("model");
    let (url, reads) = source("hello").await;
    for _ in 0..2 {
        missing(&fetcher(), &url, &folder, &[part("file")]).await.unwrap();
    }
    assert_eq!(std::fs::read(folder.join("here")).unwrap(), b"hello");
    assert_eq!(reads.load(Ordering::Relaxed), 1);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[tokio::test]
async fn nothing_else_is_taken() {
    for (text, remote, expected) in [
        ("hallo", "file", "not 2cf24dba"),
        ("hello, world", "file", "more than 5 bytes"),
        ("hello", "nothing", "404"),
        ("hello", "elsewhere", "answered with 307"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (url, _) = source(text).await;
        let error =
            missing(&fetcher(), &url, folder.path(), &[part(remote)]).await.err().unwrap().to_string();
        assert!(error.contains(expected), "{text} {remote}: {error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{text} {remote}");
    }
}

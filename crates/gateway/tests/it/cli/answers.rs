//! Answers that no gateway would give, and texts that a terminal would obey.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use super::{ok, refused};
use crate::app::{Ran, folder, run};

/// Runs a command against something that gives one answer.
async fn run_against(head: &str, body: &str, line: &[&str]) -> Ran {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // One reading holds the head at least, and nobody looks at what was asked.
        let _ = stream.read(&mut [0; 4096]).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        // Until the client is done.
        let _ = stream.read(&mut [0; 4096]);
    });
    let ran = run(folder("").path(), &[line, &["--url", &url, "--token", "t"]].concat()).await;
    answering.join().unwrap();
    ran
}

#[tokio::test]
async fn an_answer_of_another_shape_is_no_success() {
    let json = "200 OK\r\nContent-Type: application/json";
    let (list, show) = (&["server", "list"][..], &["server", "show", "/a"][..]);
    let (issue, register) =
        (&["token", "issue", "x"][..], &["server", "register", "/a", "http://127.0.0.1:9/mcp"][..]);
    for (head, body, line, expected) in [
        (json, "[]", list, "a JSON object"),
        (json, "[]", show, "a JSON object"),
        (json, "{}", show, "an object with members"),
        (json, "{\"servers\": 5}", list, "a list of objects under \"servers\""),
        (json, "{\"servers\": [5]}", list, "a list of objects under \"servers\""),
        (json, "{\"tokens\": []}", list, "a list of objects under \"servers\""),
        ("204 No Content", "", list, "204 No Content"),
        ("204 No Content", "", register, "204 No Content"),
        (json, "{}", register, "a registration with \"message\""),
        (json, "{\"token\": 5}", issue, "a token that was issued"),
        (json, "[1]", &["server", "delete", "/a"], "a JSON object"),
        ("200 OK\r\nContent-Type: text/html", "<html>", list, "no JSON"),
    ] {
        for form in [&[][..], &["--json"]] {
            let ran = run_against(head, body, &[line, form].concat()).await;
            refused(&ran, 1, expected);
            assert_eq!(ran.said, "", "{ran:?}");
        }
    }
    ok(&run_against("204 No Content", "", &["token", "revoke", "x"]).await);
}

#[tokio::test]
async fn a_terminal_obeys_nothing_a_server_says() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\r\nroot\u{9b}1A\u{202e}";
    let entry = json!({"path": "/a", "server_name": evil, "version": evil, "description": evil, evil: evil,
        "tags": [evil], "tools": [{"name": evil}]});
    let list = json!({"servers": [entry]});
    let problem = json!({"detail": evil});
    let fields = json!({"errors": [{"field": evil, "reason": evil}, {"field": "b", "reason": evil}]});
    let registered = json!({"message": evil, "is_new_version": true, "version": evil, "warnings": [evil]});
    let (json, bad) = ("200 OK\r\nContent-Type: application/json", "400 Bad Request");
    let register = &["server", "register", "/a", "http://127.0.0.1:9/mcp"][..];
    for (head, body, line) in [
        (json, &list, &["server", "list"][..]),
        (json, &list["servers"][0], &["server", "show", "/a"]),
        (json, &registered, register),
        (bad, &problem, register),
        (bad, &fields, register),
        (json, &json!({"token": evil}), &["token", "issue", "x"]),
    ] {
        let ran = run_against(head, &body.to_string(), line).await;
        let said = format!("{}{}", ran.said, ran.complained);
        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!said.contains(steers) && said.contains("\\u{1b}]0;owned\\u{7}"), "{said:?}");
        assert!(said.lines().all(|line| !line.starts_with("root")), "{said:?}");
    }
    let ran = run_against(json, &list.to_string(), &["server", "list", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(ok(&ran)).unwrap(), list);
}

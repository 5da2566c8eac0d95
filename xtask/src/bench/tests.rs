use std::net::{SocketAddr, TcpListener};

use crate::bench::http::{Connection, Request};
use crate::bench::{backend, gateway, rounds, steady, streamed};

/// A backend that serves until the test's process ends.
fn backend() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || backend::accept(&listener));
    address
}

#[test]
fn the_backend_answers_each_kind_of_request() {
    let address = backend();
    gateway::call(address, "/a/mcp", None, "tool_03").unwrap().check().unwrap();
    gateway::list(address, "/a/mcp", None).unwrap().check().unwrap();
    streamed(gateway::call(address, "/a/mcp", None, "stream").unwrap()).check().unwrap();
    let mut connection = Connection::open(address).unwrap();
    let cases = [
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#, r#""id":7"#, backend::TOOLS + 2),
        (
            r#"{"method":"tools/call","params":{"name":"tool_03"},"jsonrpc":"2.0","id":"a-1"}"#,
            r#""id":"a-1""#,
            0,
        ),
        (r#"{"jsonrpc":"2.0","id":8,"method":"server/discover"}"#, "-32601", 0),
    ];
    for (body, expected, tools) in cases {
        let request = Request { method: "POST", path: "/a/mcp", headers: &[], body };
        let answer = connection.send(&request).unwrap().text();
        assert!(answer.contains(expected), "{answer}");
        assert_eq!(answer.matches("inputSchema").count(), tools, "{answer}");
        serde_json::from_str::<serde_json::Value>(&answer).unwrap();
    }
}

#[test]
fn a_stream_is_timed_at_its_first_event() {
    let load = streamed(gateway::call(backend(), "/a/mcp", None, "stream").unwrap());
    let seen = steady::first_byte(&[&load], 3).unwrap();
    assert!(seen[0].p50_us > 0.0, "{seen:?}");
}

#[test]
fn quantiles() {
    assert_eq!(rounds::quantile(vec![], 0.5), 0.0);
    assert_eq!(rounds::median(vec![3.0, 1.0, 2.0]), 2.0);
    assert_eq!(rounds::quantile((0..=100).map(f64::from).collect(), 0.99), 99.0);
}

use std::net::{SocketAddr, TcpListener};

use crate::bench::across::Across;
use crate::bench::http::{Connection, Request};
use crate::bench::parked::Parked;
use crate::bench::rounds::Measured;
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
    gateway::modern_call(address, "/modern/mcp", "none", "tool_03", "{}").check().unwrap();
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
fn a_limit_that_is_broken_is_named() {
    let call = |name, ratio| Measured {
        name,
        beside: None,
        per_second: 1.0,
        p50_us: 1.0,
        p99_us: 1.0,
        processor_us: Some(1.0),
        ratio,
    };
    let across = |ratio, bytes| Across {
        calls: vec![call("first", None), call("second", Some(ratio))],
        parked: Parked { calls: 1, bytes },
    };
    let check = |ratio, bytes, expected: &str| {
        let said = across(ratio, bytes).check().err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(said.is_empty(), expected.is_empty(), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    check(2.0, 65_536.0, "");
    check(2.1, 65_536.0, "second: 2.10 times");
    check(2.0, 65_537.0, "65537 bytes");
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

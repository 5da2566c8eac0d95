//! Any bytes as a request and as an answer that change their era.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use mcp::bridge::{self, Caching, Dress};
use mcp::message::{Kind, Outline};
use mcp::method::Method;

const DRESS: Dress<'_> =
    Dress { client_info: "{\"name\":\"f\"}", client_capabilities: "{}", log_level: Some("\"info\"") };

fuzz_target!(|bytes: &[u8]| {
    let body = Bytes::copy_from_slice(bytes);
    for method in [Method::ToolsList, Method::ToolsCall, Method::ResourcesRead, Method::PromptsGet] {
        let caching = Caching { ttl_ms: 1, is_private: true };
        for answer in [
            bridge::answer_to_modern(&body, method, Some(&caching), Some("file:///x")),
            bridge::answer_to_legacy(&body, method),
        ] {
            assert_eq!(Outline::read(&answer).is_ok(), Outline::read(&body).is_ok());
        }
    }
    let _ = bridge::input_required(&body);
    let Ok(outline) = Outline::read(&body) else { return };
    if outline.kind != Kind::Request {
        return;
    }
    let modern = bridge::to_modern(&body, &outline, &DRESS);
    let dressed = Outline::read(&modern).expect("dressed, and still a message");
    assert_eq!((dressed.kind, dressed.method), (outline.kind, outline.method));
    let legacy = bridge::to_legacy(&modern, &dressed);
    let undressed = Outline::read(&legacy).expect("undressed, and still a message");
    assert_eq!((undressed.kind, undressed.method), (outline.kind, outline.method));
    let answers = bridge::input_responses(&body, &outline);
    let again = bridge::with_responses(&modern, &dressed, &answers, None, None);
    assert!(Outline::read(&again).is_ok());
});

//! Any bytes as a message: no panic, the same verdict on JSON as serde_json's, spans that are whole JSON values,
//! and a name put in place of itself or of another changes only what it should.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use mcp::message::{Kind, Malformed, Meta, Outline, elements, member, members, text};
use mcp::rewrite::{Edit, splice};
use serde::de::IgnoredAny;

fuzz_target!(|body: &[u8]| {
    let _ = Meta::read(body);
    let outline = Outline::read(body);
    let parsed = std::str::from_utf8(body).ok().map(serde_json::from_str::<IgnoredAny>);
    match (&outline, &parsed) {
        (Err(Malformed::NotUtf8), None) | (Err(Malformed::NotJson(_)), Some(Err(_))) => {}
        (Err(Malformed::NotUtf8 | Malformed::NotJson(_)), _) => panic!("JSON was refused"),
        (Err(Malformed::TooDeep), Some(_)) => {}
        (_, Some(Ok(_))) => {}
        _ => panic!("what is no JSON was read"),
    }
    let first = body.trim_ascii_start().first().filter(|_| matches!(parsed, Some(Ok(_))));
    assert_eq!(members(body).is_some(), first == Some(&b'{'));
    assert_eq!(elements(body).is_some(), first == Some(&b'['));
    assert_eq!(text(body).as_deref(), serde_json::from_slice::<String>(body).ok().as_deref());
    let parts = members(body).unwrap_or_default().into_iter().flat_map(|(key, value)| [key, value]);
    for span in parts.chain(elements(body).unwrap_or_default()) {
        serde_json::from_slice::<IgnoredAny>(span.of(body)).expect("a part that is no value");
    }
    let Ok(outline) = outline else { return };
    let Outline {
        id,
        method_name,
        params,
        name,
        uri,
        task_id,
        cursor,
        meta,
        request_state,
        result,
        error,
        ..
    } = outline;
    let spans = [id, method_name, params, name, uri, task_id, cursor, meta, request_state, result, error];
    for span in spans.into_iter().flatten() {
        serde_json::from_slice::<IgnoredAny>(span.of(body)).expect("a span that is no value");
    }
    assert_eq!(method_name.is_some(), outline.kind != Kind::Response);
    assert_eq!(member(body, "params"), params);
    assert_eq!(member(body, "method"), method_name);
    if let (Some(params), Some(name)) = (params, name) {
        let found = member(params.of(body), "name").map(|span| span.shifted(params.start));
        assert_eq!(found, Some(name));
        let mut edits = [Edit { at: name, with: Bytes::from_static(b"\"another \\u0061\"") }];
        let renamed = splice(&Bytes::copy_from_slice(body), &mut edits);
        let again = Outline::read(&renamed).expect("still a message");
        assert_eq!(again.name.map(|name| name.of(&renamed)), Some(&b"\"another \\u0061\""[..]));
        assert_eq!((again.kind, again.method), (outline.kind, outline.method));
        assert_eq!(again.id.map(|id| id.of(&renamed)), id.map(|id| id.of(body)));
    }
});

//! Parked calls: how many, for how long, and who may go on with one.

use mcp::message::{Outline, member, text};
use mcp::method::Method;
use mcp::sse::Decoder;

use super::*;
use crate::hold::Ticket;
use crate::stage::{caller, key, open_reply, seal};
use crate::trail::Trail;

async fn parked_call() -> ParkedCall {
    let (reply, wire) = open_reply().await;
    // The connection lives as long as the test.
    tokio::spawn(async move {
        std::future::pending::<()>().await;
        drop(wire)
    });
    let ticket = Ticket {
        key: key("/a", "v1"),
        principal: caller("ann"),
        digest: 7,
        id: Bytes::from_static(b"\"one\""),
        progress_token: None,
    };
    let params = Bytes::from_static(br#"{"message":"Which?"}"#);
    let question = InputRequest {
        key: "ask-1".into(),
        method: Method::Elicit,
        method_name: Method::Elicit.as_str().into(),
        params,
    };
    ParkedCall {
        rest: Rest::Stream { reply, decoder: Decoder::new(100), trail: Trail::default() },
        hold: Hold {
            airborne: None,
            patience: None,
            cancels: None,
            ticket: Some(Box::new(ticket)),
            questions: None,
        },
        relay: Relay::untouched(),
        open: vec![(Bytes::from_static(b"1"), question)],
    }
}

/// Reads the state out of an answer that asks.
fn state(answer: &Bytes) -> String {
    let outline = Outline::read(answer).unwrap();
    assert_eq!(outline.id.unwrap().of(answer), b"\"one\"");
    let result = outline.result.expect("it asks").of(answer);
    let part = |name: &str| member(result, name).unwrap().of(result);
    assert_eq!(part("resultType"), b"\"input_required\"");
    assert!(member(part("inputRequests"), "ask-1").is_some());
    text(part("requestState")).unwrap().into_owned()
}

#[tokio::test]
async fn a_call_is_taken_out_once_by_who_holds_its_state() {
    let (parked, opaque) = (Parked::default(), Opaque::new(seal()));
    let state = state(&parked.park(parked_call().await, &opaque));
    assert!(opaque.unwrap_state(&state, &key("/a", "v1"), &caller("bob")).is_none());
    assert!(opaque.unwrap_state(&state, &key("/a", "v2"), &caller("ann")).is_none());
    let (name, digest) = opaque.unwrap_state(&state, &key("/a", "v1"), &caller("ann")).unwrap();
    assert_eq!(digest, 7);
    assert!(parked.take("another").is_none());
    assert_eq!(parked.take(&name).unwrap().open.len(), 1);
    assert!(parked.take(&name).is_none());
}

#[tokio::test]
async fn too_many_calls_are_refused() {
    let (parked, opaque) = (Parked { most: 1, ..Parked::default() }, Opaque::new(seal()));
    state(&parked.park(parked_call().await, &opaque));
    let refused = parked.park(parked_call().await, &opaque);
    let outline = Outline::read(&refused).unwrap();
    assert_eq!(outline.id.unwrap().of(&refused), b"\"one\"");
    let error = outline.error.unwrap().of(&refused);
    assert_eq!(member(error, "code").unwrap().of(error), b"-31004");
}

#[tokio::test]
async fn what_nobody_comes_back_for_is_given_up() {
    let (parked, opaque) = (Parked::default(), Opaque::new(seal()));
    let (early, late) = (parked_call().await, parked_call().await);
    tokio::time::pause();
    let name = |answer| opaque.unwrap_state(&state(&answer), &key("/a", "v1"), &caller("ann")).unwrap().0;
    let early = name(parked.park(early, &opaque));
    tokio::time::advance(Duration::from_secs(400)).await;
    let late = name(parked.park(late, &opaque));
    tokio::time::advance(Duration::from_secs(201)).await;
    parked.reap();
    assert!(parked.take(&early).is_none());
    assert!(parked.take(&late).is_some());
}

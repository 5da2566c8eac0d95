//! Bodies on their way to the client: what they say, when, and what their end means to the backend.

use std::sync::Arc;

use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::decoded::EVENTS_AT_ONCE;
use super::events::GOES_IN_A_TURN;
use catalog::endpoint::Era;

use super::*;
use crate::flights::Flights;
use crate::lending::lending;
use crate::opaque::Place;
use crate::plane::Front;
use crate::relay::RestoreId;
use crate::stage::{self, key, open_reply};

const MINUTE: Duration = Duration::from_secs(60);

async fn next(body: &mut Body) -> Option<String> {
    let frame = tokio::time::timeout(MINUTE, body.frame()).await.expect("a frame within a minute")?;
    let data = frame.expect("the backend's stream is whole").into_data().unwrap();
    Some(String::from_utf8(data.into()).unwrap())
}

/// Reads until so much has come.
async fn read(body: &mut Body, length: usize) -> String {
    let mut text = String::new();
    while text.len() < length {
        text.push_str(&next(body).await.expect("more"));
    }
    text
}

/// Reads to the end.
async fn rest(body: &mut Body) -> String {
    let mut text = String::new();
    while let Some(more) = next(body).await {
        text.push_str(&more);
    }
    text
}

/// Waits for so long on a clock that is turned; returns what came.
async fn silence(body: &mut Body, time: Duration) -> String {
    tokio::time::pause();
    let (mut text, end) = (String::new(), Instant::now() + time);
    while let Ok(frame) = tokio::time::timeout_at(end, body.frame()).await {
        text.push_str(&String::from_utf8(frame.unwrap().unwrap().into_data().unwrap().into()).unwrap());
    }
    tokio::time::resume();
    text
}

async fn say(wire: &mut TcpStream, text: &str) {
    wire.write_all(text.as_bytes()).await.unwrap();
}

fn airborne(flights: &Arc<Flights>) -> Hold {
    Hold::patient(Duration::from_secs(5), Some(flights.begin(1, b"1", &key("/a", "v1"))))
}

fn relayed(reply: Reply, hold: Hold, restore: Option<RestoreId>) -> Body {
    let relay = Relay { restore, ..Relay::untouched() };
    let decoder = sse::Decoder::new(200);
    Body::relayed_events(
        reply,
        hold,
        relay,
        decoder,
        Trail::default(),
        Bytes::from_static(b"{\"error\":\"none\"}"),
    )
}

#[tokio::test]
async fn an_untouched_stream_keeps_every_byte() {
    let (reply, mut wire) = open_reply().await;
    let mut body = Body::raw_events(reply, Hold::default(), None, None);
    let text = "\u{feff}id: 1\r\nretry: 3000\r\nevent: x\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n: comment\n\ndata:\u{e9}\n\nhalf";
    for piece in text.as_bytes().chunks(7) {
        wire.write_all(piece).await.unwrap();
        tokio::task::yield_now().await;
    }
    drop(wire);
    assert_eq!(rest(&mut body).await, text);
}

#[tokio::test]
async fn comments_come_in_silence_and_break_no_event() {
    let (reply, mut wire) = open_reply().await;
    let mut body = Body::raw_events(reply, Hold::default(), None, None);
    assert_eq!(silence(&mut body, Duration::from_secs(14)).await, "");
    assert_eq!(silence(&mut body, Duration::from_secs(2)).await, ": keep-alive\n");
    assert_eq!(silence(&mut body, Duration::from_secs(31)).await, ": keep-alive\n".repeat(2));
    // Within a line nothing may come, however long it lasts.
    say(&mut wire, "data: {\"a\":").await;
    assert_eq!(read(&mut body, 11).await, "data: {\"a\":");
    assert_eq!(silence(&mut body, MINUTE).await, "");
    // Within an event a comment is fine, and a blank line would end the event.
    say(&mut wire, "1,\n").await;
    assert_eq!(read(&mut body, 3).await, "1,\n");
    assert_eq!(silence(&mut body, Duration::from_secs(16)).await, ": keep-alive\n");
    say(&mut wire, "data: \"b\":2}\n\n").await;
    assert_eq!(read(&mut body, 14).await, "data: \"b\":2}\n\n");
    // What was said starts the silence anew.
    assert_eq!(silence(&mut body, Duration::from_secs(14)).await, "");
}

#[tokio::test]
async fn a_silent_backend_ends_its_stream_as_broken() {
    let (mut reply, _wire) = open_reply().await;
    reply.set_idle(Some(Duration::from_secs(40)));
    let flights = Arc::new(Flights::new());
    let mut body = relayed(reply, airborne(&flights), None);
    tokio::time::pause();
    let told = rest(&mut body).await;
    assert_eq!(told, ": keep-alive\n\n".repeat(2) + "event: message\ndata: {\"error\":\"none\"}\n\n");
    assert!(flights.find(1, b"1").is_none());
}

#[tokio::test]
async fn a_stream_that_only_waits_ends_when_the_program_drains() {
    let (mut reply, _wire) = open_reply().await;
    reply.set_idle(None);
    let (close, closed) = tokio::sync::oneshot::channel::<()>();
    let closing = Box::pin(async move { drop(closed.await) });
    let mut body = Body::raw_events(reply, Hold::default(), None, Some(closing));
    assert_eq!(silence(&mut body, Duration::from_secs(20)).await, ": keep-alive\n");
    close.send(()).unwrap();
    assert_eq!(next(&mut body).await, None);
}

#[tokio::test]
async fn a_relayed_stream_passes_messages_and_puts_the_id_back() {
    let (reply, mut wire) = open_reply().await;
    let restore = RestoreId { own: Bytes::from_static(b"7"), clients: Bytes::from_static(b"\"one\"") };
    let flights = Arc::new(Flights::new());
    let mut body = relayed(reply, airborne(&flights), Some(restore));
    let note = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#;
    say(&mut wire, &format!(": hello\n\nid: 4\ndata:\n\nevent: message\nid: 5\ndata: {note}\n\n")).await;
    assert_eq!(next(&mut body).await.unwrap(), format!("event: message\ndata: {note}\n\n"));
    assert!(flights.find(1, b"1").is_some(), "under way");
    assert_eq!(silence(&mut body, Duration::from_secs(16)).await, ": keep-alive\n\n");
    say(&mut wire, "data: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":7,\"result\":{}}\r\n\r\n").await;
    let answer = "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\"one\",\"result\":{}}\n\n";
    assert_eq!(next(&mut body).await.unwrap(), answer);
    assert!(flights.find(1, b"1").is_none(), "answered, whether or not its stream ends");
    drop(wire);
    assert_eq!(next(&mut body).await, None, "nothing more than the answer");
}

#[tokio::test]
async fn a_stream_without_an_answer_ends_with_an_error() {
    let (reply, mut wire) = open_reply().await;
    let mut body = relayed(reply, Hold::default(), None);
    say(&mut wire, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"resu").await;
    drop(wire);
    assert_eq!(rest(&mut body).await, "event: message\ndata: {\"error\":\"none\"}\n\n");

    let (reply, mut wire) = open_reply().await;
    let mut body = relayed(reply, Hold::default(), None);
    say(&mut wire, &format!("data: {}\n\n", "x".repeat(300))).await;
    assert_eq!(rest(&mut body).await, "event: message\ndata: {\"error\":\"none\"}\n\n", "an event too long");
}

#[tokio::test]
async fn a_backend_goes_on_for_a_while_without_its_client() {
    for is_raw in [true, false] {
        let (reply, mut wire) = open_reply().await;
        let flights = Arc::new(Flights::new());
        let hold = airborne(&flights);
        let body = match is_raw {
            true => Body::raw_events(reply, hold, None, None),
            false => relayed(reply, hold, None),
        };
        drop(body);
        say(&mut wire, "data: still at work\n\n").await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(flights.find(1, b"1").is_some(), "still under way");
        drop(wire);
        for _ in 0..200 {
            if flights.find(1, b"1").is_none() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(flights.find(1, b"1").is_none(), "over with the backend's stream");
    }
}

#[tokio::test]
async fn a_backend_is_let_go_when_patience_ends() {
    let (reply, mut wire) = open_reply().await;
    drop(Body::raw_events(reply, Hold::patient(Duration::from_millis(50), None), None, None));
    let mut byte = [0];
    let read = tokio::time::timeout(MINUTE, wire.read(&mut byte)).await.unwrap();
    assert_eq!(read.unwrap_or(0), 0, "closed");
    // Without patience it is closed at once.
    let (reply, mut wire) = open_reply().await;
    drop(Body::passing(Bytes::new(), reply, Hold::default(), None));
    let read = tokio::time::timeout(MINUTE, wire.read(&mut byte)).await.unwrap();
    assert_eq!(read.unwrap_or(0), 0, "closed");
}

#[tokio::test]
async fn a_passing_body_begins_with_what_was_read() {
    let (reply, mut wire) = open_reply().await;
    let flights = Arc::new(Flights::new());
    let mut body = Body::passing(Bytes::from_static(b"{\"begun\":"), reply, airborne(&flights), None);
    say(&mut wire, "true}").await;
    drop(wire);
    assert_eq!(next(&mut body).await.unwrap(), "{\"begun\":");
    assert!(flights.find(1, b"1").is_some());
    assert_eq!(rest(&mut body).await, "true}");
    assert!(flights.find(1, b"1").is_none());
}

/// A body that passes, in which cursors of `/a` are sealed.
fn sealing(begun: &'static str, reply: Reply) -> Body {
    let mut catalog = catalog::Catalog::default();
    stage::add_server(&mut catalog, "/a", &["v1"], "http://127.0.0.1:9/mcp", Some(Era::Modern));
    let plane = stage::plane(&catalog);
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let call = stage::call(&plane, &stage::caller("ann"), Front::Modern, message);
    let version = call.table.server("/a").unwrap().active().clone();
    let lending = lending(&call, &version, Era::Modern, false, Place::OWN).unwrap();
    Body::passing(Bytes::from_static(begun.as_bytes()), reply, Hold::default(), Some(lending.to_lender()))
}

#[tokio::test]
async fn what_is_given_at_the_end_of_a_long_body_is_sealed_as_it_passes() {
    let (reply, mut wire) = open_reply().await;
    let mut body = sealing(r#"{"result":{"tools":["#, reply);
    assert_eq!(body.size_hint().exact(), None, "it is not known how long it will be");
    assert_eq!(next(&mut body).await.unwrap(), r#"{"result":{"tools":["#);
    let mut length = 0;
    for _ in 0..100 {
        let piece = r#"{"nextCursor":"not one"},"#.repeat(400);
        say(&mut wire, &piece).await;
        assert_eq!(read(&mut body, piece.len()).await, piece, "nothing waits");
        length += piece.len();
    }
    assert!(length > 900_000);
    say(&mut wire, r#"7],"nextCursor":"pa"#).await;
    assert_eq!(read(&mut body, 16).await, r#"7],"nextCursor":"#, "but for the text itself");
    say(&mut wire, r#"ge-1","x":1}}"#).await;
    drop(wire);
    let end = rest(&mut body).await;
    let sealed = end.strip_suffix(r#","x":1}}"#).unwrap();
    assert!(sealed.len() > 40 && !sealed.contains("page"), "{sealed}");
}

#[tokio::test]
async fn a_text_too_long_to_be_sealed_breaks_the_body() {
    let (reply, mut wire) = open_reply().await;
    let mut body = sealing(r#"{"result":{"nextCursor":"#, reply);
    next(&mut body).await.unwrap();
    tokio::spawn(async move {
        let part = "x".repeat(1 << 20);
        let _ = wire.write_all(b"\"").await;
        while wire.write_all(part.as_bytes()).await.is_ok() {}
    });
    let end = tokio::time::timeout(MINUTE, body.frame()).await.unwrap().unwrap();
    assert!(matches!(end, Err(backend::Error::TooLarge { .. })), "{end:?}");
    assert!(next(&mut body).await.is_none());
}

#[tokio::test]
async fn merged_events_end_with_their_origins_or_the_program() {
    let (sender, receiver) = mpsc::channel(4);
    let task = tokio::spawn(std::future::pending::<()>());
    let mut body = Body::merged(receiver, vec![task.abort_handle()], Box::pin(std::future::pending()));
    sender.send(Bytes::from_static(b"data: 1\n\n")).await.unwrap();
    assert_eq!(next(&mut body).await.unwrap(), "data: 1\n\n");
    assert_eq!(silence(&mut body, Duration::from_secs(16)).await, ": keep-alive\n\n");
    drop(sender);
    assert_eq!(next(&mut body).await, None);
    drop(body);
    assert!(task.await.unwrap_err().is_cancelled());

    let (_sender, receiver) = mpsc::channel(4);
    let mut body = Body::merged(receiver, Vec::new(), Box::pin(std::future::ready(())));
    assert_eq!(next(&mut body).await, None);

    let (_sender, receiver) = mpsc::channel(4);
    let body = Body::merged(receiver, Vec::new(), Box::pin(std::future::ready(())));
    let mut body = body.farewell(Bytes::from_static(b"data: bye\n\n"));
    assert_eq!(next(&mut body).await.unwrap(), "data: bye\n\n");
    assert_eq!(next(&mut body).await, None);
    assert_eq!(next(&mut body).await, None);
}

#[tokio::test]
async fn whole_bodies_say_their_length() {
    assert_eq!(Body::full(Bytes::from_static(b"12")).size_hint().exact(), Some(2));
    assert!(Body::empty().is_end_stream());
    assert!(Body::full(Bytes::new()).is_end_stream());
    assert_eq!(next(&mut Body::full(Bytes::from_static(b"12"))).await.unwrap(), "12");
    assert_eq!(next(&mut Body::empty()).await, None);
}

#[tokio::test]
async fn a_flood_of_events_that_mean_nothing_pauses() {
    let (reply, mut wire) = open_reply().await;
    let mut body = relayed(reply, Hold::default(), None);
    let events = 40_000;
    let writing = tokio::spawn(async move {
        for nothing in [": x\n\n", "data:\n\n"] {
            wire.write_all(nothing.repeat(events).as_bytes()).await.unwrap();
        }
        wire.write_all(b"data: {\"id\":1,\"result\":{}}\n\n").await.unwrap();
    });
    let mut polls = 0;
    let frame = std::future::poll_fn(|cx| {
        polls += 1;
        http_body::Body::poll_frame(Pin::new(&mut body), cx)
    });
    let frame = tokio::time::timeout(MINUTE, frame).await.unwrap().unwrap().unwrap();
    assert!(frame.into_data().unwrap().ends_with(b"data: {\"id\":1,\"result\":{}}\n\n"));
    let at_least = 2 * events / (EVENTS_AT_ONCE * GOES_IN_A_TURN);
    assert!(polls >= at_least, "{polls} polls, not {at_least}");
    writing.await.unwrap();
}

#[tokio::test]
async fn what_flows_without_end_is_not_read_for_a_client_that_left() {
    for is_relayed in [false, true] {
        let (reply, mut wire) = open_reply().await;
        let flights = Arc::new(Flights::new());
        let body = match is_relayed {
            true => relayed(reply, airborne(&flights), None),
            false => Body::raw_events(reply, airborne(&flights), None, None),
        };
        drop(body);
        let flood = b": nothing\n\n".repeat(10_000);
        let mut written = 0;
        while wire.write_all(&flood).await.is_ok() {
            written += flood.len();
            assert!(written < 100 << 20, "it is still read");
        }
        assert!(written > 1 << 20, "but for a while it may go on");
    }
}

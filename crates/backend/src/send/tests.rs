use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use catalog::endpoint::{Header, Secret};
use http::StatusCode;
use http_body::Body;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::*;
use crate::stub::{Stub, backends, json, post, settings, whole};

const LONG: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(100);

/// Sends and reads the answer to its end.
async fn talk(backends: &Backends, endpoint: &Endpoint) -> Result<(StatusCode, Bytes), Error> {
    let response = backends.send(endpoint, post("{\"n\":1}")).await?;
    Ok((response.status(), response.into_body().collect(1 << 20).await?))
}

fn idle(backends: &Backends, endpoint: &Endpoint) -> usize {
    backends.route(endpoint, Instant::now()).unwrap().host.idle_count()
}

#[tokio::test]
async fn a_connection_is_used_again_whatever_frames_its_answers() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n";
    let empty = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n";
    for (answer, body) in [(json("{}").as_str(), "{}"), (chunked, "abcde"), (empty, "")] {
        let (stub, backends) = (Stub::answering(answer).await, backends());
        for _ in 0..5 {
            assert_eq!(talk(&backends, &stub.endpoint()).await.unwrap().1, body);
            assert_eq!(idle(&backends, &stub.endpoint()), 1, "{answer}");
        }
        assert_eq!(stub.connections(), 1, "{answer}");
    }
}

#[tokio::test]
async fn an_answer_without_a_body_frees_its_connection_unread() {
    let (stub, backends) = (Stub::answering("HTTP/1.1 204 No Content\r\n\r\n").await, backends());
    let reply = backends.send(&stub.endpoint(), post("{}")).await.unwrap().into_body();
    assert!(reply.is_end_stream());
    assert_eq!(idle(&backends, &stub.endpoint()), 1);
}

#[tokio::test]
async fn a_request_carries_host_length_and_the_endpoints_headers() {
    let (stub, backends) = (Stub::answering(json("{}")).await, backends());
    let mut endpoint = stub.endpoint();
    endpoint.url = format!("http://127.0.0.1:{}/a%20b?x=1", stub.port).parse().unwrap();
    let headers = [("authorization", "Bearer one"), ("x-key", "k")];
    let header = |(name, value): (&str, &str)| Header { name: name.into(), value: Secret::new(value) };
    endpoint.headers = headers.map(header).into();
    let mut outgoing = post("{\"n\":1}");
    outgoing.headers.insert("authorization", "Bearer clients".parse().unwrap());
    outgoing.headers.insert("host", "client.example".parse().unwrap());
    backends.send(&endpoint, outgoing).await.unwrap();
    // The operator changes a credential: the next request carries it.
    endpoint.headers[0].value = Secret::new("Bearer two");
    talk(&backends, &endpoint).await.unwrap();

    let seen = stub.requests();
    assert!(seen[0].head.starts_with("POST /a%20b?x=1 HTTP/1.1\r\n"), "{}", seen[0].head);
    let host = format!("host: 127.0.0.1:{}\r\n", stub.port);
    for line in [&*host, "authorization: Bearer one\r\n", "x-key: k\r\n", "content-length: 7\r\n"] {
        assert_eq!(seen[0].head.matches(line).count(), 1, "{line} in {}", seen[0].head);
    }
    assert!(!seen[0].head.contains("client"));
    assert!(seen[1].head.contains("authorization: Bearer two\r\n"));
    assert_eq!(seen[1].body, "{\"n\":1}");
}

#[tokio::test]
async fn a_header_that_cannot_be_sent_is_not_run() {
    let backends = backends();
    let mut endpoint = crate::stub::endpoint("http://127.0.0.1:9/mcp");
    endpoint.headers = vec![Header { name: "x".into(), value: Secret::new("a\r\nb: c") }];
    let error = talk(&backends, &endpoint).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && !error.may_have_run());
    assert!(!error.to_string().contains("b: c"));
}

#[tokio::test]
async fn an_idle_connection_that_was_closed_is_replaced_without_a_trace() {
    let (close, mut closing) = mpsc::channel::<()>(1);
    let closing = Arc::new(tokio::sync::Mutex::new(Some(async move { closing.recv().await })));
    let stub = Stub::start(move |mut wire| {
        let closing = closing.clone();
        async move {
            while wire.request().await.is_some() {
                wire.say(&json("{}")).await;
                if let Some(closing) = closing.lock().await.take() {
                    closing.await;
                    return;
                }
            }
        }
    })
    .await;
    let backends = backends();
    talk(&backends, &stub.endpoint()).await.unwrap();
    assert_eq!(idle(&backends, &stub.endpoint()), 1);
    close.send(()).await.unwrap();
    tokio::time::sleep(SHORT).await;
    talk(&backends, &stub.endpoint()).await.unwrap();
    assert_eq!((stub.connections(), stub.requests().len()), (2, 2));
}

#[tokio::test]
async fn a_connection_that_lay_idle_too_long_is_not_used() {
    let stub = Stub::answering(json("{}")).await;
    let mut settings = settings();
    settings.idle_for = Duration::from_millis(20);
    let backends = Backends::new(Arc::new(settings));
    talk(&backends, &stub.endpoint()).await.unwrap();
    tokio::time::sleep(SHORT).await;
    talk(&backends, &stub.endpoint()).await.unwrap();
    assert_eq!(stub.connections(), 2);
    tokio::time::sleep(SHORT).await;
    backends.sweep();
    assert_eq!(idle(&backends, &stub.endpoint()), 0);
}

#[tokio::test]
async fn idle_connections_are_bounded() {
    let stub = Stub::answering(json("{}")).await;
    let mut settings = settings();
    settings.max_idle_per_host = 2;
    let backends = Backends::new(Arc::new(settings));
    let endpoint = stub.endpoint();
    let all = futures_util::future::join_all((0..5).map(|_| talk(&backends, &endpoint))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!((stub.connections(), idle(&backends, &endpoint)), (5, 2));
}

#[tokio::test]
async fn a_request_that_was_written_is_never_sent_twice() {
    // Each closes the connection once the request is there, before or inside the head of the answer.
    for said in ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\ncontent-le", "no HTTP at all\r\n\r\n"] {
        let stub = Stub::start(move |mut wire| async move {
            wire.request().await;
            wire.say(said).await;
        })
        .await;
        let error = talk(&backends(), &stub.endpoint()).await.unwrap_err();
        assert!(matches!(error, Error::Broken { .. }) && error.may_have_run(), "{said:?}: {error}");
        assert_eq!(stub.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_on_its_second_request_breaks_that_request() {
    let stub = Stub::start(|mut wire| async move {
        wire.request().await;
        wire.say(&json("{}")).await;
        wire.request().await;
    })
    .await;
    let backends = backends();
    talk(&backends, &stub.endpoint()).await.unwrap();
    let error = talk(&backends, &stub.endpoint()).await.unwrap_err();
    assert!(matches!(error, Error::Broken { .. }), "{error}");
    assert_eq!(stub.requests().len(), 2);
}

#[tokio::test]
async fn a_body_cut_short_is_an_error_and_its_connection_is_gone() {
    let cut = [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ];
    for text in cut {
        let stub = Stub::start(move |mut wire| async move {
            wire.request().await;
            wire.say(text).await;
        })
        .await;
        let backends = backends();
        let mut reply = backends.send(&stub.endpoint(), post("{}")).await.unwrap().into_body();
        assert_eq!(reply.frame().await.unwrap().unwrap().into_data().unwrap(), "abc");
        let error = reply.frame().await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Broken { .. }) && error.may_have_run(), "{error}");
        assert!(reply.frame().await.is_none());
        assert_eq!(idle(&backends, &stub.endpoint()), 0);
    }
}

#[tokio::test]
async fn a_body_that_ends_with_its_connection_is_whole() {
    let stub = Stub::start(|mut wire| async move {
        wire.request().await;
        wire.say("HTTP/1.1 200 OK\r\n\r\nuntil the end").await;
    })
    .await;
    let backends = backends();
    assert_eq!(talk(&backends, &stub.endpoint()).await.unwrap().1, "until the end");
    assert_eq!(idle(&backends, &stub.endpoint()), 0);
}

#[tokio::test]
async fn a_refused_port_has_surely_not_run() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for host in ["127.0.0.1", "localhost"] {
        let endpoint = crate::stub::endpoint(&format!("http://{host}:{port}/mcp"));
        let error = talk(&backends(), &endpoint).await.unwrap_err();
        assert_eq!((error.reason().as_str(), error.may_have_run()), ("connection refused", false));
    }
    let error = talk(&backends(), &crate::stub::endpoint("http://nowhere.invalid/mcp")).await.unwrap_err();
    assert!(error.reason().starts_with("name not resolved") && !error.may_have_run(), "{error}");
}

#[tokio::test]
async fn a_slow_head_and_a_silent_body_time_out() {
    let (closed, mut closings) = mpsc::channel(2);
    let stub = Stub::start(move |mut wire| {
        let closed = closed.clone();
        async move {
            wire.request().await;
            if wire.number == 2 {
                wire.say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc").await;
            }
            wire.closed().await;
            closed.send(wire.number).await.unwrap();
        }
    })
    .await;
    let mut settings = settings();
    (settings.answer, settings.idle) = (SHORT, SHORT);
    let backends = Backends::new(Arc::new(settings));
    let error = talk(&backends, &stub.endpoint()).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { what: "no answer", may_have_run: true }), "{error}");
    assert_eq!(closings.recv().await, Some(1));
    let error = talk(&backends, &stub.endpoint()).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { what: "the answer fell silent", .. }), "{error}");
    assert_eq!(closings.recv().await, Some(2));
}

#[tokio::test]
async fn a_stream_told_to_wait_waits() {
    let stub = Stub::start(|mut wire| async move {
        wire.request().await;
        wire.say("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n").await;
        tokio::time::sleep(SHORT * 2).await;
        wire.say("abc").await;
    })
    .await;
    let mut settings = settings();
    settings.idle = SHORT / 2;
    let backends = Backends::new(Arc::new(settings));
    let mut reply = backends.send(&stub.endpoint(), post("{}")).await.unwrap().into_body();
    reply.set_idle(None);
    assert_eq!(reply.collect(10).await.unwrap(), "abc");
}

#[tokio::test]
async fn a_connection_that_is_never_accepted_times_out_before_running() {
    // A listener whose queue is full lets no further connection in.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let mut held = Vec::new();
    while let Ok(Ok(stream)) = timeout(SHORT, tokio::net::TcpStream::connect(address)).await {
        held.push(stream);
    }
    let mut settings = settings();
    settings.connect = SHORT;
    let backends = Backends::new(Arc::new(settings));
    let error = talk(&backends, &crate::stub::endpoint(&format!("http://{address}/mcp"))).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { what: "no connection", may_have_run: false }), "{error}");
}

#[tokio::test]
async fn redirects_are_answers() {
    let moved = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let stub = Stub::answering(moved).await;
    assert_eq!(talk(&backends(), &stub.endpoint()).await.unwrap().0, 302);
    assert_eq!(stub.requests().len(), 1);
}

#[tokio::test]
async fn bytes_arrive_as_they_are_sent() {
    let (next, steps) = mpsc::channel::<&'static str>(1);
    let steps = Arc::new(tokio::sync::Mutex::new(steps));
    let stub = Stub::start(move |mut wire| {
        let steps = steps.clone();
        async move {
            wire.request().await;
            wire.say(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
            )
            .await;
            while let Some(step) = steps.lock().await.recv().await {
                wire.say(&format!("{:x}\r\n{step}\r\n", step.len())).await;
            }
            wire.say("0\r\n\r\n").await;
            wire.closed().await;
        }
    })
    .await;
    let backends = backends();
    let mut reply = backends.send(&stub.endpoint(), post("{}")).await.unwrap().into_body();
    for byte in ["d", "a", "t", "a", ":", " ", "x", "\n", "\n"] {
        assert!(timeout(Duration::from_millis(2), reply.frame()).await.is_err(), "nothing was sent yet");
        next.send(byte).await.unwrap();
        let frame = timeout(LONG, reply.frame()).await.unwrap().unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), byte);
    }
    drop(next);
    assert!(timeout(LONG, reply.frame()).await.unwrap().is_none());
    assert_eq!(idle(&backends, &stub.endpoint()), 1);
}

#[tokio::test]
async fn dropping_the_wait_or_the_answer_closes_the_connection() {
    for says_head in [false, true] {
        let (closed, closing) = oneshot::channel();
        let closed = Arc::new(std::sync::Mutex::new(Some(closed)));
        let stub = Stub::start(move |mut wire| {
            let closed = closed.clone();
            async move {
                wire.request().await;
                if says_head {
                    wire.say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc").await;
                }
                wire.closed().await;
                closed.lock().unwrap().take().unwrap().send(()).unwrap();
            }
        })
        .await;
        let backends = backends();
        let sent = timeout(SHORT, backends.send(&stub.endpoint(), post("{}"))).await;
        assert_eq!(sent.is_ok(), says_head);
        drop(sent);
        timeout(LONG, closing).await.unwrap().unwrap();
        assert_eq!(idle(&backends, &stub.endpoint()), 0);
    }
}

#[tokio::test]
async fn an_answer_before_the_request_was_read_does_not_reuse_the_connection() {
    let stub = Stub::start(|mut wire| async move {
        wire.say(&whole(413, "text/plain", "too large")).await;
        tokio::time::sleep(SHORT).await;
        wire.request().await;
    })
    .await;
    let backends = backends();
    let outgoing = Outgoing { body: vec![b'x'; 32 << 20].into(), ..post("") };
    let sent = backends.send(&stub.endpoint(), outgoing).await;
    match sent {
        Ok(response) => assert_eq!(response.into_body().collect(100).await.unwrap(), "too large"),
        // An answer that comes before anything was written belongs to no request.
        Err(error) => assert!(error.may_have_run(), "{error}"),
    }
    assert_eq!(idle(&backends, &stub.endpoint()), 0);
}

#[tokio::test]
async fn collecting_stops_at_the_limit() {
    let chunked =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n0\r\n\r\n";
    for answer in [json("{\"a\":\"0123456789\"}").as_str(), chunked] {
        let stub = Stub::answering(answer).await;
        let reply = backends().send(&stub.endpoint(), post("{}")).await.unwrap().into_body();
        assert!(matches!(reply.collect(8).await, Err(Error::TooLarge { .. })));
    }
}

#[tokio::test]
async fn a_head_without_end_is_cut_off() {
    let stub = Stub::start(|mut wire| async move {
        wire.request().await;
        wire.say("HTTP/1.1 200 OK\r\n").await;
        for _ in 0..100_000 {
            wire.say("x-filler: 0123456789012345678901234567890123456789\r\n").await;
        }
    })
    .await;
    let error = timeout(LONG, talk(&backends(), &stub.endpoint())).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Broken { .. }), "{error}");
}

#[tokio::test]
async fn endless_interim_answers_are_no_answer() {
    let stub = Stub::start(|mut wire| async move {
        wire.request().await;
        let flood = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
        for _ in 0..100_000 {
            wire.say(&flood).await;
        }
    })
    .await;
    let error = timeout(LONG, talk(&backends(), &stub.endpoint())).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Broken { ref reason } if reason == "too many interim answers"), "{error}");
}

/// Notes that it was woken, and wakes.
struct Noted {
    inner: Waker,
    is_woken: AtomicBool,
}

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        self.inner.wake_by_ref();
    }
}

#[tokio::test]
async fn tiny_chunks_come_joined_and_never_without_a_pause() {
    let chunks = 200_000;
    let stub = Stub::start(move |mut wire| async move {
        wire.request().await;
        let body = "1\r\nx\r\n".repeat(chunks);
        wire.say(&format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{body}0\r\n\r\n")).await;
    })
    .await;
    let mut reply = backends().send(&stub.endpoint(), post("{}")).await.unwrap().into_body();
    let (mut pieces, mut length, mut at_once, mut most_at_once) = (0, 0, 0, 0);
    let read = poll_fn(|cx| {
        at_once = 0;
        let noted = Arc::new(Noted { inner: cx.waker().clone(), is_woken: AtomicBool::new(false) });
        let waker = Waker::from(noted.clone());
        let mut cx = Context::from_waker(&waker);
        loop {
            let Poll::Ready(frame) = Pin::new(&mut reply).poll_frame(&mut cx) else {
                // Else the runtime would come back before it looks at its sockets.
                assert!(!noted.is_woken.load(Ordering::SeqCst), "woken before the runtime had its turn");
                return Poll::Pending;
            };
            let Some(frame) = frame else { return Poll::Ready(()) };
            pieces += 1;
            at_once += 1;
            most_at_once = most_at_once.max(at_once);
            length += frame.unwrap().into_data().unwrap().len();
        }
    });
    // Without the runtime's own limit, which counts reads of the socket and not pieces.
    timeout(LONG, tokio::task::unconstrained(read)).await.unwrap();
    assert_eq!(length, chunks);
    assert!(pieces < chunks / 50 && most_at_once <= 64, "{pieces} pieces, {most_at_once} at once");
}

#[tokio::test]
async fn a_fault_behind_tiny_chunks_is_told() {
    let stub = Stub::answering(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\nzz\r\n1\r\nc\r\n0\r\n\r\n",
    );
    let error = timeout(LONG, talk(&backends(), &stub.await.endpoint())).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Broken { .. }), "{error}");
}

#[tokio::test]
async fn large_answers_share_one_budget() {
    let large = "x".repeat(200 * 1024);
    let stub = Stub::answering(json(&large)).await;
    let mut settings = settings();
    settings.budget = crate::Budget::of_kib(300);
    let backends = Backends::new(Arc::new(settings));
    let (_, first) = talk(&backends, &stub.endpoint()).await.unwrap();
    assert_eq!(first.len(), large.len());
    assert!(matches!(talk(&backends, &stub.endpoint()).await, Err(Error::Overloaded)));
    let slice = first.slice(..10);
    drop(first);
    assert!(
        matches!(talk(&backends, &stub.endpoint()).await, Err(Error::Overloaded)),
        "a slice keeps it all"
    );
    drop(slice);
    talk(&backends, &stub.endpoint()).await.unwrap();
}

#[tokio::test]
async fn a_compact_reply_goes_on_and_holds_nothing_of_its_request() {
    let stub = Stub::start(|mut wire| async move {
        wire.request().await;
        wire.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n").await;
        wire.request().await;
    })
    .await;
    let backends = backends();
    let body = Bytes::from(format!("{{\"n\":\"{}\"}}", "x".repeat(10_000)));
    let outgoing = Outgoing { body: body.clone(), ..post("") };
    let mut reply = backends.send(&stub.endpoint(), outgoing).await.unwrap().into_body();
    assert_eq!(reply.frame().await.unwrap().unwrap().into_data().unwrap(), "one");
    assert!(!body.is_unique());
    reply.compact();
    assert!(body.is_unique());
    assert!(timeout(SHORT, reply.frame()).await.is_err(), "it is still open");
}

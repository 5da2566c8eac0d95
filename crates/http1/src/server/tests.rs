use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;

use http_body_util::{BodyExt, Full, StreamBody};
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot};

use super::*;

impl Wire for DuplexStream {
    fn is_closed(&self) -> bool {
        false
    }
}

const PATIENCE: Patience =
    Patience { first_head: Duration::from_secs(30), next_head: Duration::from_secs(60) };

/// Serves one end of a pipe; returns the other, and what the serving comes to.
fn serving<S, F, B>(
    service: S,
    closing: impl Future<Output = ()> + 'static,
) -> (DuplexStream, tokio::task::JoinHandle<Result<(), Error>>)
where
    S: Fn(Request<Body>) -> F + 'static,
    F: Future<Output = Response<B>> + 'static,
    B: http_body::Body<Data = Bytes, Error: std::fmt::Display> + 'static,
{
    let (client, server) = tokio::io::duplex(64 * 1024);
    let ended =
        tokio::task::spawn_local(
            async move { serve(server, BytesMut::new(), PATIENCE, closing, service).await },
        );
    (client, ended)
}

/// Answers with method, target and body.
async fn echo(request: Request<Body>) -> Response<Full<Bytes>> {
    let line = format!("{} {} ", request.method(), request.uri());
    let text = match request.into_body().collect().await {
        Ok(body) => [line.as_bytes(), &body.to_bytes()].concat(),
        Err(error) => error.to_string().into(),
    };
    Response::new(Full::from(text))
}

/// Reads an answer with a length; returns its head and body.
async fn answer(client: &mut DuplexStream) -> (String, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.expect("an answer"));
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    client.read_exact(&mut body).await.unwrap();
    (head, String::from_utf8(body).unwrap())
}

async fn rest(mut client: DuplexStream) -> String {
    let mut rest = String::new();
    client.read_to_string(&mut rest).await.unwrap();
    rest
}

/// Runs a test on one thread whose clock stands still but for what is waited for.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn requests_are_answered_one_after_another_however_they_come() {
    run(async {
        let chunked = "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        let text =
            format!("{}GET /b HTTP/1.1\r\nHost: a\r\n\r\n{chunked}{}", post("/a", "xyz"), post("/d", ""));
        for step in [1, 2, 7, 64, 10_000] {
            let (mut client, ended) = serving(echo, std::future::pending());
            let text = text.clone();
            let (mut read, mut write) = {
                let (read, write) = tokio::io::split(client);
                (read, write)
            };
            let sending = tokio::task::spawn_local(async move {
                for piece in text.as_bytes().chunks(step) {
                    write.write_all(piece).await.unwrap();
                    tokio::task::yield_now().await;
                }
                write
            });
            let mut seen = String::new();
            while !seen.contains("POST /d ") {
                let mut more = [0; 4096];
                let count = read.read(&mut more).await.unwrap();
                seen.push_str(std::str::from_utf8(&more[..count]).unwrap());
            }
            for body in ["POST /a xyz", "GET /b ", "PUT /c abcde"] {
                assert!(seen.contains(&format!("\r\n\r\n{body}")), "{seen}");
            }
            client = read.unsplit(sending.await.unwrap());
            drop(client);
            assert!(ended.await.unwrap().is_ok());
        }
    });
}

#[test]
fn a_refused_head_is_told_and_ends_the_connection() {
    run(async {
        let (mut client, ended) = serving(echo, std::future::pending());
        client.write_all(b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let (head, body) = answer(&mut client).await;
        assert!(
            head.starts_with("HTTP/1.1 400 Bad Request\r\n") && head.contains("connection: close"),
            "{head}"
        );
        assert!(body.contains("no Host header"), "{body}");
        assert_eq!(rest(client).await, "");
        assert!(matches!(ended.await.unwrap(), Err(Error::Refused(_))));
    });
}

#[test]
fn silence_and_slowness_end_a_connection() {
    run(async {
        let begun = tokio::time::Instant::now();
        let (client, ended) = serving(echo, std::future::pending());
        assert_eq!(rest(client).await, "");
        assert_eq!(begun.elapsed().as_secs(), PATIENCE.first_head.as_secs());
        assert!(ended.await.unwrap().is_ok());

        let (mut client, ended) = serving(echo, std::future::pending());
        client.write_all(post("/", "").as_bytes()).await.unwrap();
        answer(&mut client).await;
        let begun = tokio::time::Instant::now();
        client.write_all(b"GET /").await.unwrap();
        let (head, _) = answer(&mut client).await;
        assert!(head.starts_with("HTTP/1.1 408 "), "{head}");
        assert_eq!(begun.elapsed().as_secs(), PATIENCE.next_head.as_secs());
        drop(client);
        assert!(matches!(ended.await.unwrap(), Err(Error::Refused(_))));
    });
}

#[test]
fn a_body_is_asked_for_before_it_is_sent() {
    run(async {
        let (mut client, _) = serving(echo, std::future::pending());
        client
            .write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            .await
            .unwrap();
        let (head, _) = answer(&mut client).await;
        assert_eq!(head, "HTTP/1.1 100 Continue\r\n\r\n");
        client.write_all(b"abc").await.unwrap();
        assert_eq!(answer(&mut client).await.1, "POST / abc");
        client.write_all(post("/b", "d").as_bytes()).await.unwrap();
        assert_eq!(answer(&mut client).await.1, "POST /b d");
    });
}

/// Answers without a look at the body.
async fn refuse(request: Request<Body>) -> Response<Full<Bytes>> {
    Response::new(Full::from(request.uri().path().to_owned()))
}

#[test]
fn a_body_that_nobody_reads_is_passed_over_or_ends_the_connection() {
    run(async {
        let (mut client, ended) = serving(refuse, std::future::pending());
        client.write_all(b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n").await.unwrap();
        let (head, body) = answer(&mut client).await;
        assert!(body == "/a" && !head.contains("connection: close"), "{head}");
        client.write_all(b"GET /x").await.unwrap();
        client.write_all(post("/b", "").as_bytes()).await.unwrap();
        assert_eq!(answer(&mut client).await.1, "/b");

        // A body that is too long, of unknown length, or never sent if not asked for.
        drop(client);
        assert!(ended.await.unwrap().is_ok());
        for how in [
            "Content-Length: 100000",
            "Transfer-Encoding: chunked",
            "Content-Length: 3\r\nExpect: 100-continue",
        ] {
            let (mut client, ended) = serving(refuse, std::future::pending());
            client
                .write_all(format!("POST /a HTTP/1.1\r\nHost: a\r\n{how}\r\n\r\n").as_bytes())
                .await
                .unwrap();
            let (head, _) = answer(&mut client).await;
            assert!(head.contains("connection: close"), "{how}: {head}");
            // The answer is not lost to a client that is still sending.
            client.write_all(&[b'x'; 50_000]).await.unwrap();
            assert_eq!(rest(client).await, "");
            assert!(ended.await.unwrap().is_ok());
        }
    });
}

#[test]
fn a_broken_body_reaches_the_service() {
    run(async {
        let (mut client, _) = serving(echo, std::future::pending());
        client
            .write_all(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n")
            .await
            .unwrap();
        let (head, body) = answer(&mut client).await;
        assert!(body.contains("a chunk's size is no number"), "{body}");
        assert!(head.contains("connection: close"), "{head}");
    });
}

#[test]
fn who_closes_is_no_longer_worked_for() {
    struct Dropped(Rc<Cell<bool>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    run(async {
        let (is_dropped, (begun, has_begun)) = (Rc::new(Cell::new(false)), oneshot::channel());
        let (flag, begun) = (is_dropped.clone(), RefCell::new(Some(begun)));
        let service = move |_: Request<Body>| {
            let (guard, begun) = (Dropped(flag.clone()), begun.borrow_mut().take());
            async move {
                let _guard = guard;
                let _ = begun.expect("one request").send(());
                std::future::pending::<Response<Full<Bytes>>>().await
            }
        };
        let (mut client, ended) = serving(service, std::future::pending());
        client.write_all(post("/", "abc").as_bytes()).await.unwrap();
        has_begun.await.unwrap();
        assert!(!is_dropped.get());
        drop(client);
        assert!(matches!(ended.await.unwrap(), Err(Error::Gone)));
        assert!(is_dropped.get());
    });
}

#[test]
fn who_closes_behind_more_than_is_read_is_noticed() {
    run(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let (begun, has_begun) = oneshot::channel();
        let begun = RefCell::new(Some(begun));
        let service = move |_: Request<Body>| {
            let begun = begun.borrow_mut().take();
            async move {
                let _ = begun.expect("one request").send(());
                std::future::pending::<Response<Full<Bytes>>>().await
            }
        };
        let closing = std::future::pending::<()>();
        let serving = serve(server, BytesMut::new(), PATIENCE, closing, service);
        let ended = tokio::task::spawn_local(serving);
        let more = post("/", &"x".repeat(MAX_AHEAD_BYTES / 2)).repeat(3);
        client.write_all(format!("{}{more}", post("/", "")).as_bytes()).await.unwrap();
        has_begun.await.unwrap();
        tokio::time::sleep(LOOK_EVERY * 3).await;
        assert!(!ended.is_finished());
        drop(client);
        assert!(matches!(ended.await.unwrap(), Err(Error::Gone)));
    });
}

#[test]
fn a_stream_goes_out_as_it_comes_and_ends_with_its_client() {
    run(async {
        let (pieces, source) = mpsc::channel::<Result<http_body::Frame<Bytes>, Infallible>>(1);
        let source = RefCell::new(Some(source));
        let service = move |_: Request<Body>| {
            let mut source = source.borrow_mut().take().expect("one request");
            let stream = futures_util::stream::poll_fn(move |cx| source.poll_recv(cx));
            async move { Response::new(StreamBody::new(stream)) }
        };
        let (mut client, ended) = serving(service, std::future::pending());
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let (head, _) = answer(&mut client).await;
        assert!(head.contains("transfer-encoding: chunked"), "{head}");
        for _ in 0..3 {
            pieces.send(Ok(http_body::Frame::data("abc".into()))).await.unwrap();
            let mut chunk = [0; 8];
            client.read_exact(&mut chunk).await.unwrap();
            assert_eq!(&chunk, b"3\r\nabc\r\n");
        }
        drop(client);
        assert!(matches!(ended.await.unwrap(), Err(Error::Gone)));
        assert!(pieces.is_closed());
    });
}

#[test]
fn what_came_before_a_body_broke_off_is_sent() {
    run(async {
        let service = |_: Request<Body>| async {
            let pieces = [Ok(http_body::Frame::data(Bytes::from("abc"))), Err("the backend closed")];
            Response::new(StreamBody::new(futures_util::stream::iter(pieces)))
        };
        let (mut client, ended) = serving(service, std::future::pending());
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let seen = rest(client).await;
        assert!(seen.ends_with("\r\n\r\n3\r\nabc\r\n"), "{seen}");
        assert!(matches!(ended.await.unwrap(), Err(Error::Answer(_))));
    });
}

#[test]
fn chunks_of_a_body_may_not_hide_more_than_they_hold() {
    run(async {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let (mut client, _ended) = serving(echo, std::future::pending());
        let small = "1\r\nx\r\n".repeat(10_000);
        let (mut read, mut write) = tokio::io::split(client);
        let sent = format!("{head}{small}0\r\n\r\n");
        let sending = tokio::task::spawn_local(async move {
            write.write_all(sent.as_bytes()).await.unwrap();
            write
        });
        let mut seen = Vec::new();
        while seen.iter().filter(|byte| **byte == b'x').count() < 10_000 {
            let mut more = vec![0; 4096];
            let count = read.read(&mut more).await.unwrap();
            seen.extend_from_slice(&more[..count]);
        }
        client = read.unsplit(sending.await.unwrap());
        let padded = format!("1;{}\r\nx\r\n", "e".repeat(1000)).repeat(40);
        client.write_all(format!("{head}{padded}").as_bytes()).await.unwrap();
        let (head, body) = answer(&mut client).await;
        assert!(body.contains("more between the chunks"), "{body}");
        assert!(head.contains("connection: close"), "{head}");
    });
}

#[test]
fn closing_lets_what_runs_end_and_closes_what_is_silent() {
    run(async {
        let (close, closed) = oneshot::channel::<()>();
        let (go, gone) = oneshot::channel::<()>();
        let gone = RefCell::new(Some(gone));
        let service = move |_: Request<Body>| {
            let gone = gone.borrow_mut().take().expect("one request");
            async move {
                let _ = gone.await;
                Response::new(Full::from("done"))
            }
        };
        let (mut client, ended) = serving(service, async { drop(closed.await) });
        client.write_all(post("/", "").as_bytes()).await.unwrap();
        tokio::task::yield_now().await;
        close.send(()).unwrap();
        tokio::task::yield_now().await;
        go.send(()).unwrap();
        let (head, body) = answer(&mut client).await;
        assert!(body == "done" && head.contains("connection: close"), "{head}");
        assert_eq!(rest(client).await, "");
        assert!(ended.await.unwrap().is_ok());

        let (close, closed) = oneshot::channel::<()>();
        let (client, ended) = serving(echo, async { drop(closed.await) });
        tokio::task::yield_now().await;
        close.send(()).unwrap();
        assert_eq!(rest(client).await, "");
        assert!(ended.await.unwrap().is_ok());
    });
}

#[test]
fn a_service_on_another_thread_reads_the_body() {
    run(async {
        let service = |request: Request<Body>| async {
            let read = std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
                runtime.block_on(echo(request))
            });
            tokio::task::spawn_blocking(move || read.join().expect("no panic")).await.expect("no panic")
        };
        let (mut client, _) = serving(service, std::future::pending());
        let body = "x".repeat(300_000);
        let (mut read, mut write) = tokio::io::split(client);
        let sent = post("/", &body);
        let sending = tokio::task::spawn_local(async move {
            write.write_all(sent.as_bytes()).await.unwrap();
            write
        });
        let mut seen = Vec::new();
        while seen.len() < body.len() {
            let mut more = vec![0; 64 * 1024];
            let count = read.read(&mut more).await.unwrap();
            seen.extend_from_slice(&more[..count]);
        }
        assert!(seen.ends_with(body.as_bytes()));
        client = read.unsplit(sending.await.unwrap());
        client.write_all(post("/b", "").as_bytes()).await.unwrap();
        assert_eq!(answer(&mut client).await.1, "POST /b ");
    });
}

//! A port on loopback that can go down and come up again, and the connections on it.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, JoinSet};

use crate::wire::Answer;

/// Connections that may wait to be accepted; tests open some hundred at once.
const BACKLOG: u32 = 1024;

type Handler = Arc<dyn Fn(Request<Incoming>) -> BoxFuture<'static, Answer> + Send + Sync>;

/// Serves HTTP/1.1 on one port. Dropping it closes the port and every connection.
pub struct Stage {
    address: SocketAddr,
    /// Bound and never listening: keeps the port ours while the stage is down, so that nobody else gets it.
    _reserved: TcpSocket,
    handler: Handler,
    accepting: Mutex<Option<JoinHandle<()>>>,
    abort: std::sync::Mutex<Option<tokio::task::AbortHandle>>,
}

impl Stage {
    /// Takes a free port and begins to serve.
    pub(crate) async fn open<F>(handler: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let reserved = bind(SocketAddr::from(([127, 0, 0, 1], 0)));
        let stage = Self {
            address: reserved.local_addr().expect("a bound socket has an address"),
            _reserved: reserved,
            handler: Arc::new(move |request| Box::pin(handler(request))),
            accepting: Mutex::new(None),
            abort: std::sync::Mutex::new(None),
        };
        stage.up().await;
        stage
    }

    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Refuses connections from now on and breaks the open ones, as a process that was killed.
    pub async fn down(&self) {
        if let Some(task) = self.accepting.lock().await.take() {
            task.abort();
            // Only when the task has ended are its sockets closed.
            let _ = task.await;
        }
    }

    /// Serves again, on the same port. Does nothing where it serves already.
    pub async fn up(&self) {
        let mut accepting = self.accepting.lock().await;
        if accepting.is_none() {
            let listener = bind(self.address).listen(BACKLOG).expect("the reserved port can be listened on");
            let task = tokio::spawn(accept(listener, self.handler.clone()));
            *self.abort.lock().expect("no holder panics") = Some(task.abort_handle());
            *accepting = Some(task);
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(task) = self.abort.get_mut().expect("no holder panics") {
            task.abort();
        }
    }
}

fn bind(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket can be made");
    // Two sockets may share the port because only one of them ever listens.
    socket.set_reuseaddr(true).expect("the option exists");
    socket.bind(address).unwrap_or_else(|error| panic!("cannot bind {address}: {error}"));
    socket
}

async fn accept(listener: TcpListener, handler: Handler) {
    // Owns the connections: when this task is aborted they end with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let _ = stream.set_nodelay(true);
                let handler = handler.clone();
                connections.spawn(async move {
                    let service = service_fn(move |request| handler(request));
                    // A broken connection is what tests are about, not a fault.
                    let _ = http1::Builder::new()
                        .timer(TokioTimer::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

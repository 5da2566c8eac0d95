//! Accepts connections and hands them to the data threads; stops without cutting off what runs.
//!
//! One task accepts. Each data thread runs a runtime of its own and serves the connections it was dealt, so
//! that an MCP request is never handed from one thread to another and its proxy shares nothing with others.

mod connection;
mod control;
mod plane;
mod worker;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

pub(crate) use control::{Control, not_found};
pub(crate) use worker::{Parts, spawn};

/// Connections that may wait for a busy data thread; each is a socket and little else.
const DEALT: usize = 256;
/// Connections the system may hold for us while accepting pauses.
const BACKLOG: u32 = 4096;
/// Silence after which the system asks whether the client's machine is still there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
/// A client that takes nothing of what was sent for so long is gone; what it holds is let go.
#[cfg(target_os = "linux")]
const UNREAD_FOR: Duration = Duration::from_secs(300);
/// Rest after the system refused to give us a socket, most often for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// An accepted connection on its way to a data thread.
pub(crate) struct Accepted {
    stream: std::net::TcpStream,
    /// Counts against the limit of connections until it is dropped.
    permit: OwnedSemaphorePermit,
}

/// Opens the listening socket.
pub(crate) async fn bind(listen: &str) -> anyhow::Result<TcpListener> {
    let mut addresses =
        tokio::net::lookup_host(listen).await.with_context(|| format!("cannot resolve {listen}"))?;
    let address = addresses.next().with_context(|| format!("{listen} resolves to no address"))?;
    open(address).with_context(|| format!("cannot listen on {address} (--listen chooses another address)"))
}

/// Accepts until told to stop, at most `max_connections` at once; the listening socket is closed at the end.
///
/// **cancel** closes the listening socket at once.
pub(crate) async fn accept(
    listener: TcpListener,
    workers: Vec<mpsc::Sender<Accepted>>,
    max_connections: usize,
    mut stop: watch::Receiver<bool>,
) {
    tokio::select! {
        _ = stop.wait_for(|stop| *stop) => {}
        () = deal(&listener, &workers, max_connections) => {}
    }
}

async fn deal(listener: &TcpListener, workers: &[mpsc::Sender<Accepted>], max_connections: usize) {
    let slots = Arc::new(Semaphore::new(max_connections.min(Semaphore::MAX_PERMITS)));
    let (mut next, mut is_full) = (0, false);
    loop {
        let permit = match slots.clone().try_acquire_owned() {
            Ok(permit) => {
                is_full = false;
                permit
            }
            Err(_) => {
                // Said once, not for each connection that takes the place of another.
                if !std::mem::replace(&mut is_full, true) {
                    tracing::warn!(max_connections, "as many connections as allowed; new ones wait");
                }
                metrics::counter!("switchyard_accept_pauses_total").increment(1);
                let Ok(permit) = slots.clone().acquire_owned().await else { return };
                permit
            }
        };
        let stream = match listener.accept().await.and_then(|(stream, _)| prepare(stream)) {
            Ok(stream) => stream,
            Err(error) if is_of_one_connection(&error) => continue,
            Err(error) => {
                tracing::error!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let mut accepted = Some(Accepted { stream, permit });
        // The next thread in turn, or the first after it that has room.
        for _ in 0..workers.len() {
            let worker = &workers[next];
            next = (next + 1) % workers.len();
            accepted =
                accepted.take().and_then(|one| worker.try_send(one).err()).map(|full| full.into_inner());
            if accepted.is_none() {
                break;
            }
        }
        // All are busy: wait for the one whose turn it is.
        if let Some(accepted) = accepted
            && workers[next].send(accepted).await.is_err()
        {
            return;
        }
    }
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket =
        if address.is_ipv4() { tokio::net::TcpSocket::new_v4() } else { tokio::net::TcpSocket::new_v6() }?;
    // A restarted gateway must not wait for the last connections of the one before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn prepare(stream: TcpStream) -> io::Result<std::net::TcpStream> {
    stream.set_nodelay(true)?;
    let socket = socket2::SockRef::from(&stream);
    socket.set_tcp_keepalive(&socket2::TcpKeepalive::new().with_time(KEEPALIVE_AFTER))?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNREAD_FOR))?;
    stream.into_std()
}

/// Says whether only this connection failed, before we had it.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

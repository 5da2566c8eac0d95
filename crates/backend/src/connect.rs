//! Opening a connection: the name resolved, forbidden addresses refused, the rest tried in turn, TLS, HTTP.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use catalog::endpoint::{AddressRule, is_forbidden, is_private};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::error::{Error, with_causes};
use crate::host::{Host, Opened};
use crate::line::Line;
use crate::settings::Settings;
use crate::stream::Stream;

/// Longest wait for one address while others are left.
const ADDRESS_PATIENCE: Duration = Duration::from_millis(1500);

/// After this silence the kernel asks whether the other side is still there; streams may be silent for hours.
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(60);

/// How often an HTTP/2 connection in use is pinged, and how long the answer may take.
const PING: Duration = Duration::from_secs(20);

/// How much of a stream's body may wait unread, and of all streams of a connection together.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 4 * 1024 * 1024;

/// Most bytes of an HTTP/2 response head.
const MAX_HEAD_BYTES: u32 = 64 * 1024;

/// Opens a connection. The caller sets the deadline; dropped, it leaves nothing behind.
pub(crate) async fn open(host: &Host, settings: &Settings) -> Result<Opened, Error> {
    let addresses = resolve(host, settings.address_rule).await?;
    let stream = connect(&addresses).await?;
    if !host.is_tls {
        return Ok(Opened::Line(Line::new(Stream::Plain(stream))));
    }
    let name = ServerName::try_from(host.name.trim_end_matches('.').to_owned())
        .map_err(|_| Error::unreachable("TLS: not a host name"))?;
    let stream = TlsConnector::from(settings.tls.clone())
        .connect(name, stream)
        .await
        .map_err(|error| Error::unreachable(format!("TLS: {}", with_causes(&error))))?;
    let speaks_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = Stream::Tls(Box::new(stream));
    if !speaks_http2 {
        return Ok(Opened::Line(Line::new(stream)));
    }
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_header_list_size(MAX_HEAD_BYTES)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| Error::unreachable(format!("HTTP: {}", with_causes(&error))))?;
    // Ends with the last sender and stream, or when a ping stays unanswered.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(error = with_causes(&error), "an HTTP/2 connection to a backend ended");
        }
    });
    Ok(Opened::Shared(sender))
}

/// Finds the addresses of a host that may be connected to.
async fn resolve(host: &Host, rule: AddressRule) -> Result<Arc<[SocketAddr]>, Error> {
    if let Ok(address) = host.name.parse::<IpAddr>() {
        check(address, rule)?;
        return Ok([SocketAddr::new(address, host.port)].into());
    }
    let found = tokio::net::lookup_host((host.name.as_str(), host.port))
        .await
        .map_err(|error| Error::unreachable(format!("name not resolved: {error}")))?;
    let mut refused = None;
    let mut allowed = Vec::new();
    for address in found {
        match check(address.ip(), rule) {
            Ok(()) => allowed.push(address),
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) if allowed.is_empty() => Err(error),
        None if allowed.is_empty() => Err(Error::unreachable("name not resolved: it has no address")),
        _ => Ok(allowed.into()),
    }
}

fn check(address: IpAddr, rule: AddressRule) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::ForbiddenAddress { reason: format!("{address} {why}") });
    if is_forbidden(address) {
        return refused("is a link-local, metadata or unspecified address, which is never allowed");
    }
    if !rule.allow_private && is_private(address) {
        return refused("is a loopback or private address, which the configuration denies");
    }
    Ok(())
}

/// Connects to the first address that answers.
async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, Error> {
    let mut failure = Error::unreachable("no address");
    for (index, address) in addresses.iter().enumerate() {
        let attempt = TcpStream::connect(address);
        let is_last = index + 1 == addresses.len();
        let result = if is_last {
            attempt.await
        } else {
            match tokio::time::timeout(ADDRESS_PATIENCE, attempt).await {
                Ok(result) => result,
                Err(_) => {
                    failure = Error::unreachable("connection timed out");
                    continue;
                }
            }
        };
        match result.and_then(prepare) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = Error::unreachable(connect_reason(&error)),
        }
    }
    Err(failure)
}

fn prepare(stream: TcpStream) -> std::io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    let keep_alive =
        socket2::TcpKeepalive::new().with_time(KEEP_ALIVE_AFTER).with_interval(KEEP_ALIVE_AFTER / 4);
    socket2::SockRef::from(&stream).set_tcp_keepalive(&keep_alive)?;
    Ok(stream)
}

fn connect_reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connection refused".into(),
        std::io::ErrorKind::TimedOut => "connection timed out".into(),
        _ => format!("connection failed: {error}"),
    }
}

#[cfg(test)]
mod tests;

//! One HTTP/1.1 connection, kept alive until it is dropped.

use std::io;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::events::{Answer, PATIENCE};

/// A connection. Dropping it closes it.
pub struct Connection {
    authority: String,
    sender: SendRequest<Full<Bytes>>,
    driver: AbortHandle,
}

impl Connection {
    /// Connects to `host:port`.
    pub async fn open(authority: &str) -> io::Result<Self> {
        let connecting = timeout(PATIENCE, TcpStream::connect(authority));
        let stream = connecting.await.map_err(|_| io::ErrorKind::TimedOut)??;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // Ends by itself when the other side closes, or when this is dropped.
        let driver = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        Ok(Self { authority: authority.into(), sender, driver })
    }

    /// Sends a request whose URI is a path, and waits for the answer's head. `Host` is added where absent.
    ///
    /// The answer before must have been read to its end.
    pub async fn send(&mut self, mut request: Request<Bytes>) -> io::Result<Answer> {
        let host = HeaderValue::from_str(&self.authority).map_err(io::Error::other)?;
        request.headers_mut().entry(header::HOST).or_insert(host);
        self.sender.ready().await.map_err(io::Error::other)?;
        let sent = timeout(PATIENCE, self.sender.send_request(request.map(Full::new))).await;
        let (head, body) = sent.map_err(|_| io::ErrorKind::TimedOut)?.map_err(io::Error::other)?.into_parts();
        Ok(Answer::new(head, body))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

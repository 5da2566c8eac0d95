//! A small blocking HTTP client that can tell when the first byte of a body came.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

/// Nothing in the benchmark takes longer.
const DEADLINE: Duration = Duration::from_secs(30);

/// One connection, used for one request after another.
pub(super) struct Connection {
    reader: BufReader<TcpStream>,
    host: SocketAddr,
}

/// What is sent.
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) headers: &'a [(String, String)],
    pub(super) body: &'a str,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// From the first byte sent to the first byte of the body.
    pub(super) first_byte: Duration,
    /// From the first byte sent to the last byte of the body.
    pub(super) whole: Duration,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Connection {
    pub(super) fn open(host: SocketAddr) -> anyhow::Result<Self> {
        let stream =
            TcpStream::connect_timeout(&host, DEADLINE).with_context(|| format!("connecting to {host}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        stream.set_write_timeout(Some(DEADLINE))?;
        Ok(Self { reader: BufReader::with_capacity(64 << 10, stream), host })
    }

    /// Sends a request and reads its whole answer.
    pub(super) fn send(&mut self, request: &Request<'_>) -> anyhow::Result<Answer> {
        let Request { method, path, headers, body } = request;
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.host);
        for (name, value) in *headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let begun = Instant::now();
        self.reader.get_mut().write_all(text.as_bytes())?;
        self.receive(begun).with_context(|| format!("{method} {path}"))
    }

    fn receive(&mut self, begun: Instant) -> anyhow::Result<Answer> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.with_context(|| format!("no status in {status_line:?}"))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut answer =
            Answer { status, headers, body: Vec::new(), first_byte: begun.elapsed(), whole: begun.elapsed() };
        if answer.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            self.chunks(&mut answer, begun)?;
        } else {
            let length = answer.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
            answer.body = self.exactly(length)?;
        }
        answer.whole = begun.elapsed();
        Ok(answer)
    }

    fn chunks(&mut self, answer: &mut Answer, begun: Instant) -> anyhow::Result<()> {
        loop {
            let size = self.line()?;
            let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16)
                .context("size of a chunk")?;
            if answer.body.is_empty() {
                answer.first_byte = begun.elapsed();
            }
            let part = self.exactly(size)?;
            answer.body.extend(part);
            ensure!(self.line()?.is_empty(), "a chunk does not end where it should");
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn exactly(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body)?;
        Ok(body)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            bail!("the connection was closed");
        }
        Ok(line.trim_end().to_owned())
    }
}

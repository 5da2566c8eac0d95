//! What a command writes to its standard error: for the log, at the level of details.

use std::time::Duration;

use bytes::{Buf, BytesMut};
use memchr::memchr;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;

/// Longest line that is logged whole; of a longer one this much is.
const MAX_LOGGED_BYTES: usize = 2 * 1024;

/// How much is read before others get their turn, and the pause then, so that a flood takes no core to itself.
const TURN_BYTES: usize = 64 * 1024;
const PAUSE: Duration = Duration::from_millis(10);

/// Logs the lines of a command's standard error until it ends.
pub(super) async fn log(name: Box<str>, mut errors: ChildStderr) {
    let mut buffer = BytesMut::with_capacity(2 * MAX_LOGGED_BYTES);
    let (mut is_cut, mut turn_bytes) = (false, 0);
    loop {
        while let Some(end) = memchr(b'\n', &buffer) {
            // The rest of a line that was cut off before is no line of its own.
            if !std::mem::take(&mut is_cut) {
                say(&name, &buffer[..end]);
            }
            buffer.advance(end + 1);
        }
        if buffer.len() >= MAX_LOGGED_BYTES {
            if !std::mem::replace(&mut is_cut, true) {
                say(&name, &buffer[..MAX_LOGGED_BYTES]);
            }
            buffer.clear();
        }
        if turn_bytes >= TURN_BYTES {
            turn_bytes = 0;
            tokio::time::sleep(PAUSE).await;
        }
        buffer.reserve(MAX_LOGGED_BYTES);
        match errors.read_buf(&mut buffer).await {
            Ok(read) if read > 0 => turn_bytes += read,
            _ => return,
        }
    }
}

/// Logs a line, escaped: it is a foreigner's.
fn say(name: &str, line: &[u8]) {
    if tracing::enabled!(tracing::Level::DEBUG) {
        let line = String::from_utf8_lossy(line.trim_ascii());
        tracing::debug!(command = name, line = ?line, "a command wrote to its standard error");
    }
}

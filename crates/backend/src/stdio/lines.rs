//! Lines of a process's output, bounded in length and in what they hold together.

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::OwnedSemaphorePermit;

use crate::budget::{Budget, Held};

/// Longest message of a process; as much as is read of an answer that must be known whole.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// How much is read at a time: what a pipe holds.
const READ_BYTES: usize = 64 * 1024;

/// Reads lines.
pub(super) struct Lines<R> {
    from: R,
    buffer: BytesMut,
    /// How much of the buffer holds no end of a line.
    searched: usize,
    budget: Budget,
    /// The share of the line that is being read.
    share: Option<OwnedSemaphorePermit>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(from: R, budget: Budget) -> Self {
        Self { from, buffer: BytesMut::new(), searched: 0, budget, share: None }
    }

    /// Reads the next line that is not blank, without its end; `None` at the end of the output, where a line that was
    /// not ended is no message. Fails with what is wrong with the process.
    ///
    /// Cancel: nothing is lost.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, &'static str> {
        loop {
            while let Some(found) = memchr(b'\n', &self.buffer[self.searched..]) {
                let end = self.searched + found;
                self.count(end)?;
                // A copy of just its size: a slice would keep everything alive that came with it.
                let line = Bytes::copy_from_slice(self.buffer[..end].trim_ascii());
                self.buffer.advance(end + 1);
                self.searched = 0;
                let share = self.share.take();
                if share.is_some() {
                    // The buffer grew for this line alone.
                    self.buffer = self.buffer.as_ref().into();
                }
                if !line.is_empty() {
                    return Ok(Some(Held::new(line, share).into_bytes()));
                }
            }
            self.searched = self.buffer.len();
            if self.searched > MAX_LINE_BYTES {
                return Err("it wrote a line longer than 16 MiB");
            }
            self.count(self.searched)?;
            self.buffer.reserve(READ_BYTES);
            match self.from.read_buf(&mut self.buffer).await {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(_) => return Err("its output could not be read"),
            }
        }
    }

    /// Counts the bytes of a line among those of all large answers.
    fn count(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.budget.raise(&mut self.share, bytes).map_err(|_| "too many large answers at once")
    }
}

#[cfg(test)]
mod tests;

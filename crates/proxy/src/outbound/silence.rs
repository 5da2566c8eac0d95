//! When a stream has been silent for so long that something must be said.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// A silent stream gets a comment this often, so that nothing on the way takes it for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Since when a stream is silent.
pub(super) struct Silence {
    since: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), timer: None }
    }

    pub(super) fn broken(&mut self) {
        self.since = Instant::now();
    }

    /// Ready when nothing was sent for a while.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let since = &mut self.since;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(*since + KEEP_ALIVE)));
        loop {
            ready!(timer.as_mut().poll(cx));
            let now = Instant::now();
            let is_silent = now >= *since + KEEP_ALIVE;
            if is_silent {
                *since = now;
            }
            timer.as_mut().reset(*since + KEEP_ALIVE);
            if is_silent {
                return Poll::Ready(());
            }
        }
    }
}

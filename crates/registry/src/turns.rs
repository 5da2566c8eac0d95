//! Who changes the catalog next: one at a time, and people before what the gateway notes by itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard, watch};
use tokio::time::{Instant, timeout_at};

/// Longest time that what the gateway notes stands back altogether; people who write without pause must not keep it
/// out for ever.
const MAX_COURTESY: Duration = Duration::from_secs(2);

/// The right to change the catalog, until it is dropped.
pub(crate) type Turn = OwnedMutexGuard<()>;

/// Gives out turns.
#[derive(Default)]
pub(crate) struct Turns {
    lock: Arc<Mutex<()>>,
    /// How many people wait.
    people: watch::Sender<usize>,
}

impl Turns {
    /// Waits for a turn to make somebody's change: behind the one turn that is taken, and people who came before.
    pub(crate) async fn for_person(&self) -> Turn {
        let _waiting = Waiting::begin(&self.people);
        self.lock.clone().lock_owned().await
    }

    /// Waits for a turn to write what the gateway noted: until nobody else wants one, within [`MAX_COURTESY`].
    pub(crate) async fn for_note(&self) -> Turn {
        let mut people = self.people.subscribe();
        let until = Instant::now() + MAX_COURTESY;
        loop {
            // The sender is ours, and lateness ends the courtesy.
            let _ = timeout_at(until, people.wait_for(|count| *count == 0)).await;
            let turn = self.lock.clone().lock_owned().await;
            // Whoever came while we stood in line has the turn that we give back.
            if *self.people.borrow() == 0 || Instant::now() >= until {
                return turn;
            }
        }
    }
}

/// Somebody who waits; leaving the line ends it as well.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn begin(people: &'a watch::Sender<usize>) -> Self {
        people.send_modify(|count| *count += 1);
        Self(people)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests;

//! How many listen streams are open, and whose: each is a connection that is held for as long as its client likes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use catalog::access::Principal;

use crate::error::Error;

/// Most streams of one caller. Clients open one a server, some a few; a caller may run many clients.
const MOST_OF_ONE: usize = 256;

/// Most streams of all callers, so that connections are left for calls.
const MOST: usize = 10_000;

/// The seats of this process.
#[derive(Default)]
pub(crate) struct Seats(Arc<Mutex<Taken>>);

#[derive(Default)]
struct Taken {
    all: usize,
    by_caller: HashMap<String, usize>,
}

/// A seat, free again when dropped.
pub(crate) struct Seat {
    seats: Arc<Mutex<Taken>>,
    caller: String,
}

impl Seats {
    /// Takes a seat for a caller. Callers without a name share what one with a name has times ten.
    ///
    /// Errors: too many are taken.
    pub(crate) fn take(&self, principal: &Principal) -> Result<Seat, Error> {
        let is_nameless = principal.is_nameless();
        let most = if is_nameless { MOST_OF_ONE * 10 } else { MOST_OF_ONE };
        let caller = format!("{}\n{}\n{is_nameless}", principal.issuer, principal.subject);
        let mut taken = lock(&self.0);
        let theirs = taken.by_caller.get(&caller).copied().unwrap_or_default();
        if theirs >= most || taken.all >= MOST {
            return Err(Error::TooManyStreams);
        }
        taken.all += 1;
        *taken.by_caller.entry(caller.clone()).or_default() += 1;
        drop(taken);
        Ok(Seat { seats: self.0.clone(), caller })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = lock(&self.seats);
        taken.all -= 1;
        if let Some(theirs) = taken.by_caller.get_mut(&self.caller) {
            *theirs -= 1;
            if *theirs == 0 {
                taken.by_caller.remove(&self.caller);
            }
        }
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

//! Memory for large answers that are read whole, one sum for all threads of the process.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Error;

/// Answers up to this size are not counted: they are the rule, and their number is bounded by that of requests.
const FREE_BYTES: usize = 64 * 1024;

/// What all larger answers may hold together, sixteen of the largest.
const TOTAL_KIB: usize = 256 * 1024;

/// How much memory is left for large answers. Clones share the sum.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Semaphore>);

/// What is counted for somebody, for as long as it lives; nothing at first.
pub type Share = Option<OwnedSemaphorePermit>;

/// Bytes that are counted for as long as they live.
#[derive(Debug)]
pub struct Held {
    /// The bytes.
    pub bytes: Bytes,
    share: Share,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of_kib(TOTAL_KIB)
    }
}

impl Budget {
    /// Makes a budget of so many KiB.
    pub fn of_kib(kib: usize) -> Self {
        Self(Arc::new(Semaphore::new(kib)))
    }

    /// Raises a share to what `length` bytes need. Fails with [`Error::Overloaded`] where there is not so much left.
    pub fn raise(&self, share: &mut Share, length: usize) -> Result<(), Error> {
        if length <= FREE_BYTES {
            return Ok(());
        }
        let held = share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = length.div_ceil(1024).saturating_sub(held);
        let missing = u32::try_from(missing).map_err(|_| Error::Overloaded)?;
        let more = self.0.clone().try_acquire_many_owned(missing).map_err(|_| Error::Overloaded)?;
        match share {
            Some(share) => share.merge(more),
            None => *share = Some(more),
        }
        Ok(())
    }
}

impl Held {
    pub(crate) fn new(bytes: Bytes, share: Share) -> Self {
        Self { bytes, share }
    }

    /// Puts other bytes in place, which are about as many.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Bytes) -> Bytes) -> Self {
        Self { bytes: change(self.bytes), share: self.share }
    }

    /// Returns the bytes, which stay counted until the last clone or slice of them is gone.
    pub fn into_bytes(self) -> Bytes {
        if self.share.is_none() { self.bytes } else { Bytes::from_owner(self) }
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<Bytes> for Held {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, share: None }
    }
}

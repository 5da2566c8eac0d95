//! One token, its life, and who renews it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http::HeaderValue;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::answer::Granted;
use super::{Failure, Source};

/// Longest time before its end at which a token is no longer sent: it may take that long to be looked at.
const MAX_MARGIN: Duration = Duration::from_secs(5);

/// A token and the way to have another.
pub(crate) struct Cell {
    pub(super) source: Source,
    current: ArcSwapOption<Token>,
    /// Whoever fetches holds it; with the last failure.
    pub(super) turn: Mutex<Option<(Instant, Failure)>>,
    /// Whether the token at hand was asked for.
    is_used: AtomicBool,
    /// Whether a task renews it.
    is_kept: AtomicBool,
}

/// A token as it is sent.
pub(crate) struct Token {
    /// The value of `Authorization`.
    pub(crate) header: HeaderValue,
    /// When it replaced another that was good by the clock.
    pub(super) replaced_at: Option<Instant>,
    renew_at: Instant,
    good_until: Instant,
}

impl Cell {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            current: ArcSwapOption::empty(),
            turn: Mutex::new(None),
            is_used: AtomicBool::new(false),
            is_kept: AtomicBool::new(false),
        }
    }

    /// Returns the token, if there is one that may still be sent.
    pub(crate) fn good(&self, now: Instant) -> Option<Arc<Token>> {
        let token = self.peek(now)?;
        // Looked at first: all threads write it, and it is nearly always set.
        if !self.is_used.load(Ordering::Relaxed) {
            self.mark_used();
        }
        Some(token)
    }

    /// Returns the token, if there is one that may still be sent, for another purpose than sending it.
    pub(super) fn peek(&self, now: Instant) -> Option<Arc<Token>> {
        self.current.load().as_ref().filter(|token| now < token.good_until).cloned()
    }

    pub(super) fn put(&self, granted: &Granted, is_replacement: bool) -> Arc<Token> {
        let (now, life) = (Instant::now(), granted.life);
        let token = Arc::new(Token {
            header: granted.header.clone(),
            replaced_at: is_replacement.then_some(now),
            renew_at: now + life.mul_f32(0.8),
            good_until: now + life.saturating_sub((life / 10).min(MAX_MARGIN)),
        });
        self.current.store(Some(token.clone()));
        token
    }

    pub(super) fn renew_at(&self) -> Option<Instant> {
        self.current.load().as_ref().map(|token| token.renew_at)
    }

    pub(super) fn mark_used(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    /// Says whether the token was used since this was asked before.
    pub(super) fn was_used(&self) -> bool {
        self.is_used.swap(false, Ordering::Relaxed)
    }

    /// Says whether nobody renews it yet, and that somebody does from now on.
    pub(super) fn begin_keeping(&self) -> bool {
        !self.is_kept.swap(true, Ordering::AcqRel)
    }

    pub(super) fn end_keeping(&self) {
        self.is_kept.store(false, Ordering::Release);
    }
}

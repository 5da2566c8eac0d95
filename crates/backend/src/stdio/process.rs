//! One running command: its lines go to the switchboard, messages to its input, and it is ended and reaped here.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use mcp::message::Outline;
use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::command::Command;
use super::errors;
use super::group::Group;
use super::inbox::Inbox;
use super::lines::Lines;
use super::switchboard::{Delivered, Entered, Serves, Switchboard};
use crate::budget::Budget;
use crate::error::Error;
use crate::host::lock;

/// Messages that wait to be written. Whoever brings one beyond waits, and holds its request's memory for it.
const INPUT_QUEUE: usize = 16;

/// How long what an ended process wrote is still read: its last words lie in the pipe already.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How long a process that closed its output may take to end, so that its end can be told.
const END_PATIENCE: Duration = Duration::from_millis(500);

/// How long is paused after a line that nobody waits for, so that a process which floods has no core to itself.
const FLOOD_PAUSE: Duration = Duration::from_millis(1);

/// A command that runs, or did.
pub(super) struct Process {
    /// The name of the command.
    pub(super) name: Box<str>,
    board: Mutex<Board>,
    input: mpsc::Sender<Bytes>,
    group: Group,
    /// Set to true to have it ended.
    ending: watch::Sender<bool>,
    /// Set to true once it was reaped.
    gone: watch::Sender<bool>,
}

struct Board {
    switch: Switchboard,
    /// Why it takes no requests any more.
    closed: Option<Closed>,
    used: Instant,
}

/// How a process ended, for those who waited.
#[derive(Clone)]
pub(super) enum Closed {
    /// It never began.
    NotStarted(String),
    /// It ended, or was ended, while it worked.
    Ended(String),
}

/// What a process is started with.
pub(super) struct Start {
    pub(super) command: Command,
    pub(super) serves: Serves,
    pub(super) budget: Budget,
    /// Between SIGTERM and SIGKILL.
    pub(super) grace: Duration,
    /// Its place among those that may run, until it is reaped.
    pub(super) room: OwnedSemaphorePermit,
}

impl Process {
    /// Starts a command on a runtime, which carries it from then on.
    pub(super) fn start(name: &str, start: Start, runtime: &tokio::runtime::Handle) -> Arc<Self> {
        let (input, written) = mpsc::channel(INPUT_QUEUE);
        let board = Board { switch: Switchboard::new(start.serves), closed: None, used: Instant::now() };
        let process = Arc::new(Self {
            name: name.into(),
            board: Mutex::new(board),
            input,
            group: Group::default(),
            ending: watch::Sender::new(false),
            gone: watch::Sender::new(false),
        });
        let running = process.clone();
        runtime.spawn(async move {
            running.run(start, written).await;
            running.gone.send_replace(true);
        });
        process
    }

    /// Enters a request and returns it as it must be written.
    pub(super) fn enter(&self, message: &Bytes, outline: &Outline) -> Result<Entered, Error> {
        let mut board = lock(&self.board);
        board.used = Instant::now();
        match &board.closed {
            Some(closed) => Err(closed.before()),
            None => board.switch.enter(message, outline).ok_or(Error::Overloaded),
        }
    }

    /// Forgets a request. Returns its raw id if no answer had come.
    pub(super) fn forget(&self, number: u64) -> Option<Bytes> {
        let mut board = lock(&self.board);
        board.used = Instant::now();
        board.switch.forget(number)
    }

    /// Opens the stream of news.
    pub(super) fn open_news(&self) -> Arc<Inbox> {
        let mut board = lock(&self.board);
        board.used = Instant::now();
        let inbox = board.switch.open_news();
        if board.closed.is_some() {
            inbox.close();
        }
        inbox
    }

    /// Forgets a stream of news.
    pub(super) fn close_news(&self, inbox: &Arc<Inbox>) {
        let mut board = lock(&self.board);
        board.used = Instant::now();
        board.switch.close_news(inbox);
    }

    /// Writes a message, in the order of the calls. Where it fails nothing was written.
    pub(super) async fn write(&self, message: Bytes, deadline: Instant) -> Result<(), Error> {
        lock(&self.board).used = Instant::now();
        match tokio::time::timeout_at(deadline, self.input.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(lock(&self.board).closed.as_ref().map_or_else(no_input, Closed::before)),
            Err(_) => Err(Error::TimedOut { what: "the command reads no input", may_have_run: false }),
        }
    }

    /// Writes a message if there is room for it.
    pub(super) fn try_write(&self, message: Bytes) {
        if self.input.try_send(message).is_err() {
            tracing::debug!(command = %self.name, "a message was not written: the command reads no input");
        }
    }

    /// Has it ended, soon.
    pub(super) fn end(&self) {
        self.close(&Closed::Ended("the command was ended".into()));
        self.ending.send_replace(true);
    }

    /// Kills it with all it started, now.
    pub(super) fn kill(&self) {
        self.end();
        self.group.signal(Signal::KILL);
    }

    /// Waits until it was reaped.
    pub(super) async fn gone(&self) {
        // The sender is ours, so it does not go.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    /// Says whether it was reaped.
    pub(super) fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    /// Says whether it takes requests no more.
    pub(super) fn is_closed(&self) -> bool {
        lock(&self.board).closed.is_some()
    }

    /// Says whether anybody waits for an answer.
    pub(super) fn is_asked(&self) -> bool {
        lock(&self.board).switch.is_asked()
    }

    /// Returns since when nobody has used it; `None` while somebody does.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let board = lock(&self.board);
        (!board.switch.is_busy()).then_some(board.used)
    }

    /// Takes no more requests, and tells all who wait. Only the first reason counts.
    fn close(&self, closed: &Closed) {
        let mut board = lock(&self.board);
        if board.closed.is_some() {
            return;
        }
        board.closed = Some(closed.clone());
        let (requests, news) = board.switch.clear();
        drop(board);
        for request in requests {
            request.fail(closed.during());
        }
        if let Some(news) = news {
            news.close();
        }
    }

    async fn run(&self, start: Start, written: mpsc::Receiver<Bytes>) {
        let _room = start.room;
        let is_unwanted = *self.ending.borrow();
        if is_unwanted {
            return;
        }
        let mut child = match start.command.start() {
            Ok(child) => child,
            Err(error) => {
                tracing::warn!(command = %self.name, %error, "a command could not be started");
                self.close(&Closed::NotStarted(format!(
                    "the command {} cannot be started: {error}",
                    self.name
                )));
                return;
            }
        };
        self.group.enter(&child);
        tracing::debug!(command = %self.name, process = child.id(), "command started");
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut beside = JoinSet::new();
        beside.spawn(write(input.expect("piped"), written));
        beside.spawn(errors::log(self.name.clone(), errors.expect("piped")));
        let fault = self.follow(output.expect("piped"), start.budget).await;
        if let Some(fault) = fault {
            self.close(&Closed::Ended(format!("the command was ended: {fault}")));
        }
        // Closes its input, too.
        beside.shutdown().await;
        let status = self.group.end(child, start.grace).await;
        let how = status.map_or_else(|| "unknown".to_owned(), |status| status.to_string());
        if lock(&self.board).closed.is_none() {
            tracing::info!(command = %self.name, status = how, "a command ended by itself");
        }
        self.close(&Closed::Ended(format!("the command ended ({how})")));
        tracing::debug!(command = %self.name, status = how, "command ended");
    }

    /// Reads its output until there is a reason to end it, or it has ended. Returns what is wrong with it.
    async fn follow(&self, output: ChildStdout, budget: Budget) -> Option<&'static str> {
        let mut lines = Lines::new(output, budget);
        let mut ending = self.ending.subscribe();
        let mut reading = std::pin::pin!(self.read(&mut lines));
        tokio::select! {
            fault = &mut reading => {
                if fault.is_none() {
                    let _ = timeout(END_PATIENCE, self.group.exited()).await;
                }
                fault
            }
            () = self.group.exited() => timeout(LAST_WORDS, reading).await.unwrap_or(None),
            // What waits to be written would wait for ever.
            () = self.input.closed() => {
                let _ = timeout(END_PATIENCE, reading).await;
                let has_ended = timeout(Duration::ZERO, self.group.exited()).await.is_ok();
                (!has_ended).then_some("it closed its input")
            }
            () = async { drop(ending.wait_for(|ending| *ending).await) } => None,
        }
    }

    async fn read(&self, lines: &mut Lines<ChildStdout>) -> Option<&'static str> {
        loop {
            let line = match lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(fault) => return Some(fault),
            };
            let delivered = lock(&self.board).switch.deliver(line);
            for one in delivered {
                match one {
                    Delivered::Taken => tokio::task::coop::consume_budget().await,
                    Delivered::Dropped => tokio::time::sleep(FLOOD_PAUSE).await,
                    Delivered::Answered(answer) => {
                        self.try_write(answer);
                        tokio::time::sleep(FLOOD_PAUSE).await;
                    }
                }
            }
        }
    }
}

impl Closed {
    /// The error of a request that was being answered.
    fn during(&self) -> Error {
        match self {
            Self::NotStarted(reason) => Error::unreachable(reason.clone()),
            Self::Ended(reason) => Error::Broken { reason: reason.clone() },
        }
    }

    /// The error of a request that comes too late.
    fn before(&self) -> Error {
        let (Self::NotStarted(reason) | Self::Ended(reason)) = self;
        Error::unreachable(reason.clone())
    }
}

fn no_input() -> Error {
    Error::unreachable("the command takes no input")
}

/// Writes messages, a line each, until there are no more or nobody reads them.
async fn write(mut input: ChildStdin, mut messages: mpsc::Receiver<Bytes>) {
    while let Some(message) = messages.recv().await {
        if let Err(error) = input.write_all(&line(&message)).await {
            tracing::debug!(%error, "a command closed its input");
            return;
        }
    }
}

/// Makes a line of a message. Line ends in JSON stand between its tokens only, where a blank means the same.
fn line(message: &[u8]) -> BytesMut {
    let mut line = BytesMut::with_capacity(message.len() + 1);
    line.extend_from_slice(message);
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'\n', b'\r', &line[at..]) {
        at += found;
        line[at] = b' ';
    }
    line.extend_from_slice(b"\n");
    line
}

#[cfg(test)]
mod tests;

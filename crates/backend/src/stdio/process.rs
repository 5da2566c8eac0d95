//! One running command: its lines go to the switchboard, messages to its input, and it is ended and reaped here.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::command::Command;
use super::errors;
use super::group::Group;
use super::lines::Lines;
use super::tally::Tally;
use crate::budget::Budget;
use crate::duplex::board::{Board, Closed};
use crate::duplex::inbox::Inbox;
use crate::duplex::messages::Peer;
use crate::duplex::switchboard::{Delivered, Serves};
use crate::error::Error;

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
    /// Who waits for what it writes.
    pub(super) board: Board,
    input: mpsc::Sender<Bytes>,
    group: Group,
    /// Set to true to have it ended.
    ending: watch::Sender<bool>,
    /// Set to true once it was reaped.
    gone: watch::Sender<bool>,
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
    pub(super) tally: Arc<Tally>,
}

impl Process {
    /// Starts a command on a runtime, which carries it from then on.
    pub(super) fn start(name: &str, start: Start, runtime: &tokio::runtime::Handle) -> Arc<Self> {
        let (input, written) = mpsc::channel(INPUT_QUEUE);
        let process = Arc::new(Self {
            name: name.into(),
            board: Board::new(start.serves),
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

    /// Writes a message, in the order of the calls. Where it fails nothing was written.
    pub(super) async fn write(&self, message: Bytes, deadline: Instant) -> Result<(), Error> {
        self.board.touch();
        match tokio::time::timeout_at(deadline, self.input.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.board.closed().unwrap_or_else(no_input)),
            Err(_) => Err(Error::TimedOut { what: "the command reads no input", may_have_run: false }),
        }
    }

    /// Has it ended, soon.
    pub(super) fn end(&self) {
        self.board.close(&Closed::Ended("the command was ended".into()));
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
                self.board.close(&Closed::NotStarted(format!(
                    "the command {} cannot be started: {error}",
                    self.name
                )));
                return;
            }
        };
        self.group.enter(&child);
        let counted = start.tally.began();
        tracing::debug!(command = %self.name, process = child.id(), "command started");
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut beside = JoinSet::new();
        beside.spawn(write(input.expect("piped"), written));
        beside.spawn(errors::log(self.name.clone(), errors.expect("piped")));
        let fault = self.follow(output.expect("piped"), start.budget).await;
        if let Some(fault) = fault {
            start.tally.lost();
            self.board.close(&Closed::Ended(format!("the command was ended: {fault}")));
        }
        // Closes its input, too.
        beside.shutdown().await;
        let status = self.group.end(child, start.grace).await;
        let how = status.map_or_else(|| "unknown".to_owned(), |status| status.to_string());
        if !self.board.is_closed() {
            start.tally.lost();
            tracing::info!(command = %self.name, status = how, "a command ended by itself");
        }
        self.board.close(&Closed::Ended(format!("the command ended ({how})")));
        drop(counted);
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
            let delivered = self.board.deliver(line);
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

impl Peer for Process {
    fn forget(&self, number: u64) -> Option<Bytes> {
        self.board.forget(number)
    }

    fn close_news(&self, inbox: &Arc<Inbox>) {
        self.board.close_news(inbox);
    }

    fn try_write(&self, message: Bytes) {
        if self.input.try_send(message).is_err() {
            tracing::debug!(command = %self.name, "a message was not written: the command reads no input");
        }
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

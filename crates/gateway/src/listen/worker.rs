//! A data thread: a runtime, a proxy and the connections it was dealt.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::LocalSet;

use super::connection::{self, Planes};
use super::{Accepted, Control, DEALT};

/// What every data thread is made from.
pub(crate) struct Parts {
    pub(crate) shared: Arc<proxy::Shared>,
    pub(crate) backends: Arc<backend::Settings>,
    pub(crate) control: Control,
    pub(crate) prefix: String,
}

/// A running data thread. It ends when the sender of its connections is gone and all of them have ended.
pub(crate) struct Worker {
    /// Where its connections go; dropped to make it end.
    pub(crate) connections: mpsc::Sender<Accepted>,
    /// Resolves when the last connection has ended.
    pub(crate) ended: oneshot::Receiver<()>,
}

/// Starts a data thread. Its connections are cut off when `grace` has passed after the last was dealt.
pub(crate) fn spawn(index: usize, parts: &Parts, grace: Duration) -> anyhow::Result<Worker> {
    let (connections, dealt) = mpsc::channel(DEALT);
    let (end, ended) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot make the runtime of a data thread")?;
    let (shared, backends) = (parts.shared.clone(), parts.backends.clone());
    let (control, prefix) = (parts.control.clone(), parts.prefix.as_str().into());
    std::thread::Builder::new()
        .name(format!("data-{index}"))
        .spawn(move || {
            LocalSet::new().block_on(&runtime, async move {
                let proxy = proxy::Proxy::new(shared, Arc::new(backend::Backends::new(backends)));
                run(dealt, Planes { proxy, control, prefix }, grace).await;
            });
            // Nobody may be left to tell.
            let _ = end.send(());
        })
        .context("cannot start a data thread")?;
    Ok(Worker { connections, ended })
}

async fn run(mut dealt: mpsc::Receiver<Accepted>, planes: Planes, grace: Duration) {
    let (builder, planes) = (Rc::new(connection::builder()), Rc::new(planes));
    let (close, _) = watch::channel(false);
    while let Some(accepted) = dealt.recv().await {
        let serve = connection::serve(accepted, builder.clone(), planes.clone(), close.subscribe());
        tokio::task::spawn_local(serve);
    }
    close.send_replace(true);
    // Each connection holds a receiver to its end.
    if tokio::time::timeout(grace, close.closed()).await.is_err() {
        tracing::warn!(
            grace_s = grace.as_secs(),
            left = close.receiver_count(),
            "the grace period is over; cutting off what still runs"
        );
    }
}

//! A running backend: one API for both eras.

use std::future::IntoFuture;
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::script::Script;
use crate::stage::Stage;
use crate::stub::Stub;
use crate::tool::Tool;
use crate::wire::Answer;

/// How an era answers a request.
pub trait Era: Send + Sync + 'static {
    /// Answers one request.
    #[doc(hidden)]
    fn serve(stub: Arc<Stub>, request: Request<Incoming>) -> impl Future<Output = Answer> + Send;
}

/// A backend on a port of its own. Dropping it closes the port, the connections and ends what runs.
///
/// Observations, switches and pushes are those of [`Stub`].
pub struct Backend<E> {
    stub: Arc<Stub>,
    stage: Stage,
    era: PhantomData<E>,
}

/// A backend before it starts: add what it offers, then await it.
pub struct Setup<E> {
    script: Script,
    era: PhantomData<E>,
}

impl<E: Era> Backend<E> {
    /// Begins a backend of this name.
    pub fn start(name: &str) -> Setup<E> {
        Setup { script: Script::new(name), era: PhantomData }
    }

    /// Returns the URL to register: `http://127.0.0.1:PORT/mcp`.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.stage.address())
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.stage.address().port()
    }

    /// Goes down as a killed process does: connections break, calls end, new connections are refused. Sessions stay
    /// unless they are forgotten too.
    pub async fn down(&self) {
        self.stage.down().await;
        self.stub.kill();
    }

    /// Comes back on the same port.
    pub async fn up(&self) {
        self.stage.up().await;
    }

    /// Restarts as a new process: down, all sessions forgotten, up.
    pub async fn restart(&self) {
        self.down().await;
        self.stub.forget_sessions();
        self.up().await;
    }
}

impl<E> Deref for Backend<E> {
    type Target = Stub;

    fn deref(&self) -> &Stub {
        &self.stub
    }
}

impl<E> Drop for Backend<E> {
    fn drop(&mut self) {
        self.stub.kill();
    }
}

impl<E> Setup<E> {
    /// Adds a tool, by name or in full. A name such as `slow` or `ask` says what it does; see `Behaviour`.
    pub fn tool(self, tool: impl Into<Tool>) -> Self {
        self.with(|script| script.tools.push(tool.into()))
    }

    /// Adds several tools.
    pub fn tools<T: Into<Tool>>(self, tools: impl IntoIterator<Item = T>) -> Self {
        self.with(|script| script.tools.extend(tools.into_iter().map(Into::into)))
    }

    /// Adds a prompt with one argument, `topic`.
    pub fn prompt(self, name: &str) -> Self {
        let arguments = json!([{ "name": "topic", "required": false }]);
        let prompt = json!({ "name": name, "title": format!("The {name} prompt"), "arguments": arguments });
        self.with(|script| script.prompts.push(prompt))
    }

    /// Adds a resource.
    pub fn resource(self, uri: &str) -> Self {
        let resource = json!({ "uri": uri, "name": uri, "mimeType": "text/plain" });
        self.with(|script| script.resources.push(resource))
    }

    /// Adds a resource template, for example `db://{table}`.
    pub fn template(self, template: &str) -> Self {
        let template = json!({ "uriTemplate": template, "name": template, "mimeType": "text/plain" });
        self.with(|script| script.templates.push(template))
    }

    /// Sets the version it reports.
    pub fn version(self, version: &str) -> Self {
        self.with(|script| script.version = version.into())
    }

    /// Sets its instructions.
    pub fn instructions(self, text: &str) -> Self {
        self.with(|script| script.instructions = Some(text.into()))
    }

    /// Sets the newest legacy revision it agrees to.
    pub fn speaks(self, revision: &str) -> Self {
        self.with(|script| script.speaks = revision.into())
    }

    /// Sets its capabilities, in place of those that follow from what it offers.
    pub fn capabilities(self, capabilities: Value) -> Self {
        self.with(|script| script.capabilities = Some(capabilities))
    }

    /// Gives no session ids.
    pub fn without_sessions(self) -> Self {
        self.with(|script| script.has_sessions = false)
    }

    /// Answers GET with 405.
    pub fn without_get_stream(self) -> Self {
        self.with(|script| script.has_get_stream = false)
    }

    /// Answers with events even where plain JSON would do.
    pub fn with_events(self) -> Self {
        self.with(|script| script.uses_events = true)
    }

    /// Demands a bearer token.
    pub fn bearer(self, token: &str) -> Self {
        self.with(|script| script.bearer = Some(token.into()))
    }

    /// Keeps nothing of what it sees and runs.
    pub fn without_history(self) -> Self {
        self.with(|script| script.keeps_history = false)
    }

    /// Changes anything else of the script.
    pub fn with(mut self, change: impl FnOnce(&mut Script)) -> Self {
        change(&mut self.script);
        self
    }
}

impl<E: Era> IntoFuture for Setup<E> {
    type Output = Backend<E>;
    type IntoFuture = Pin<Box<dyn Future<Output = Backend<E>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let stub = Stub::new(self.script);
            let served = stub.clone();
            let stage = Stage::open(move |request| E::serve(served.clone(), request)).await;
            Backend { stub, stage, era: PhantomData }
        })
    }
}

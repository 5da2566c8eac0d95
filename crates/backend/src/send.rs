//! Sending one request and getting the head of its answer, the body to follow.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use catalog::endpoint::Endpoint;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Full;
use tokio::time::Instant;

use crate::error::Error;
use crate::line::{Failed, Line};
use crate::pool::{Backends, Opened, Shared};
use crate::reply::Reply;
use crate::route::Route;

/// A request to a backend.
#[derive(Debug)]
pub struct Outgoing {
    /// `POST`, `GET` or `DELETE`.
    pub method: Method,
    /// All headers but `Host`, the length, and the endpoint's own. Nothing is taken out.
    pub headers: HeaderMap,
    /// The body, whole.
    pub body: Bytes,
}

impl Backends {
    /// Sends a request and waits for the head of its answer. Redirects are answers like any other.
    ///
    /// The request is repeated on another connection only where nothing of it was written.
    ///
    /// Cancel: the request is given up, its connection closed or its stream reset.
    pub async fn send(&self, endpoint: &Endpoint, outgoing: Outgoing) -> Result<Response<Reply>, Error> {
        let now = Instant::now();
        self.send_by(endpoint, outgoing, now, now + self.settings.answer).await
    }

    /// Sends a request whose head must be answered by `deadline`.
    pub(crate) async fn send_by(
        &self,
        endpoint: &Endpoint,
        outgoing: Outgoing,
        now: Instant,
        deadline: Instant,
    ) -> Result<Response<Reply>, Error> {
        let route = self.route(endpoint, now)?;
        let mut request = Request::new(Full::new(outgoing.body));
        *request.method_mut() = outgoing.method;
        *request.headers_mut() = outgoing.headers;
        route.dress(request.headers_mut());

        while let Some(line) = route.host.take(now) {
            match self.on_line(&route, line, request, deadline).await {
                Ok(response) => return Ok(response),
                Err(Failed::Lost(error)) => return Err(error),
                Err(Failed::HandedBack(back)) => request = back,
            }
        }
        if let Some(shared) = route.host.shared() {
            match self.on_shared(&route, shared, request, deadline).await {
                Ok(response) => return Ok(response),
                Err(Failed::Lost(error)) => return Err(error),
                Err(Failed::HandedBack(back)) => request = back,
            }
        }
        let sent = match self.open(&route.host, deadline.min(now + self.settings.connect)).await? {
            Opened::Line(line) => self.on_line(&route, line, request, deadline).await,
            Opened::Shared(shared) => self.on_shared(&route, shared, request, deadline).await,
        };
        sent.map_err(|failed| match failed {
            Failed::Lost(error) => error,
            Failed::HandedBack(_) => Error::unreachable("the connection was closed at once"),
        })
    }

    async fn on_line(
        &self,
        route: &Route,
        mut line: Box<Line>,
        mut request: Request<Full<Bytes>>,
        deadline: Instant,
    ) -> Result<Response<Reply>, Failed> {
        route.aim_http1(&mut request);
        let response = line.exchange(request, deadline).await?;
        let idle = self.settings.idle;
        Ok(response.map(|body| Reply::of_line(body, line, &route.host, idle)))
    }

    async fn on_shared(
        &self,
        route: &Route,
        mut shared: Shared,
        mut request: Request<Full<Bytes>>,
        deadline: Instant,
    ) -> Result<Response<Reply>, Failed> {
        route.aim_http2(&mut request);
        let mut answer = pin!(shared.try_send_request(request));
        let mut timer = Box::pin(tokio::time::sleep_until(deadline));
        let response = poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(answer.map_err(|mut failure| match failure.take_message() {
                    Some(request) => Failed::HandedBack(request),
                    None => Failed::Lost(Error::broken(&failure.into_error())),
                }));
            }
            let timed_out = Error::TimedOut { what: "no answer", may_have_run: true };
            timer.as_mut().poll(cx).map(|()| Err(Failed::Lost(timed_out)))
        })
        .await?;
        let idle = self.settings.idle;
        Ok(response.map(|body| Reply::of_stream(body, timer, idle)))
    }
}

#[cfg(test)]
mod tests;

//! Sending one request and getting the head of its answer, the body to follow.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use catalog::endpoint::Endpoint;
use http::header::AUTHORIZATION;
use http::{Response, StatusCode};
use tokio::time::Instant;

use crate::error::Error;
use crate::host::{Opened, Shared};
use crate::line::{Failed, Line};
use crate::pool::Backends;
use crate::reply::Reply;
use crate::route::Route;
use crate::tokens::Place;

pub use crate::outgoing::Outgoing;

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
        if let Some(command) = endpoint.command() {
            // Apart, as all that is not the commonest, so that the future of a request stays small.
            return Box::pin(self.settings.stdio.send(command, outgoing, &self.settings, deadline)).await;
        }
        if endpoint.has_event_stream() {
            return Box::pin(self.send_over_events(endpoint, outgoing, now, deadline)).await;
        }
        self.send_on(&*self.route(endpoint, now)?, outgoing, now, deadline).await
    }

    /// Sends a request to an endpoint that was made ready.
    pub(crate) async fn send_on(
        &self,
        route: &Route,
        outgoing: Outgoing,
        now: Instant,
        deadline: Instant,
    ) -> Result<Response<Reply>, Error> {
        match &route.tokens {
            None => self.send_once(route, outgoing, now, deadline).await,
            Some(place) => Box::pin(self.send_with_token(route, place, outgoing, deadline)).await,
        }
    }

    /// Sends a request with a token. One that is refused is sent once more with another token: with the first it surely
    /// did not run.
    async fn send_with_token(
        &self,
        route: &Route,
        place: &Place,
        mut outgoing: Outgoing,
        deadline: Instant,
    ) -> Result<Response<Reply>, Error> {
        let cell = place.cell(self.caller.as_ref())?;
        let token = place.token(&cell, deadline).await?;
        outgoing.headers.insert(AUTHORIZATION, token.header.clone());
        let answer = self.send_once(route, outgoing.clone(), Instant::now(), deadline).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let Some(other) = place.after_refusal(&cell, &token, deadline).await else { return Ok(answer) };
        drop(answer);
        outgoing.headers.insert(AUTHORIZATION, other.header.clone());
        self.send_once(route, outgoing, Instant::now(), deadline).await
    }

    async fn send_once(
        &self,
        route: &Route,
        mut outgoing: Outgoing,
        now: Instant,
        deadline: Instant,
    ) -> Result<Response<Reply>, Error> {
        while let Some(line) = route.host.take(now) {
            match self.on_line(route, line, outgoing, deadline).await {
                Ok(response) => return Ok(response),
                Err(Failed::Lost(error)) => return Err(error),
                Err(Failed::HandedBack(back)) => outgoing = back,
            }
        }
        if let Some(shared) = route.host.shared() {
            match Box::pin(self.on_shared(route, shared, outgoing, deadline)).await {
                Ok(response) => return Ok(response),
                Err(Failed::Lost(error)) => return Err(error),
                Err(Failed::HandedBack(back)) => outgoing = back,
            }
        }
        Box::pin(self.on_new(route, outgoing, now, deadline)).await
    }

    /// Sends on a connection that is opened for it.
    async fn on_new(
        &self,
        route: &Route,
        outgoing: Outgoing,
        now: Instant,
        deadline: Instant,
    ) -> Result<Response<Reply>, Error> {
        let sent = match self.open(&route.host, deadline.min(now + self.settings.connect)).await? {
            Opened::Line(line) => self.on_line(route, line, outgoing, deadline).await,
            Opened::Shared(shared) => self.on_shared(route, shared, outgoing, deadline).await,
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
        outgoing: Outgoing,
        deadline: Instant,
    ) -> Result<Response<Reply>, Failed> {
        let response = line.exchange(route, outgoing, deadline).await?;
        Ok(response.map(|()| Reply::of_line(line, &route.host, &self.settings)))
    }

    async fn on_shared(
        &self,
        route: &Route,
        mut shared: Shared,
        outgoing: Outgoing,
        deadline: Instant,
    ) -> Result<Response<Reply>, Failed> {
        let mut answer = pin!(shared.try_send_request(route.to_request(&outgoing)));
        let mut timer = Box::pin(tokio::time::sleep_until(deadline));
        let answered = poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                // With the request comes that nothing of it was written.
                return Poll::Ready(answer.map_err(|failure| {
                    failure.message().is_none().then(|| Error::broken(&failure.into_error()))
                }));
            }
            let timed_out = Error::TimedOut { what: "no answer", may_have_run: true };
            timer.as_mut().poll(cx).map(|()| Err(Some(timed_out)))
        })
        .await;
        match answered {
            Ok(response) => Ok(response.map(|body| Reply::of_stream(body, timer, &self.settings))),
            Err(Some(error)) => Err(Failed::Lost(error)),
            Err(None) => Err(Failed::HandedBack(outgoing)),
        }
    }
}

#[cfg(test)]
mod tests;

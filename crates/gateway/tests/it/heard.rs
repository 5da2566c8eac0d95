//! What a backend heard from clients. The gateway's own probes, which come when they like, are left out.

use testkit::record::Seen;
use testkit::stub::Stub;

/// The greetings made in the name of a client of the tests.
pub(crate) fn greetings(backend: &Stub) -> Vec<Seen> {
    let mut greetings = backend.asked("initialize");
    greetings.retain(|seen| seen.params()["clientInfo"]["name"] == "testkit");
    greetings
}

//! A browser as far as signing in needs one: it keeps cookies, goes where it is sent, and says where a form comes from.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Request;
use testkit::client::Connection;
use url::Url;

use crate::caller::Answer;

/// Most redirects in a row.
const MAX_STEPS: usize = 20;

/// A browser. A clone has the same cookies, as a thief has.
#[derive(Clone, Default)]
pub(super) struct Browser {
    /// By host and name.
    pub(super) cookies: BTreeMap<(String, String), String>,
    /// Every address it was at.
    pub(super) been_at: Vec<String>,
}

impl Browser {
    /// Opens a page and goes nowhere else.
    pub(super) async fn open(&mut self, url: &str) -> Answer {
        self.send("GET", url, &[], "").await
    }

    /// Opens a page and follows where it leads.
    pub(super) async fn follow(&mut self, url: &str) -> Answer {
        let mut url = url.to_owned();
        for _ in 0..MAX_STEPS {
            let answer = self.open(&url).await;
            let Some(next) = location(&answer) else { return answer };
            url = Url::parse(&url).unwrap().join(&next).unwrap().into();
        }
        panic!("led nowhere: {:?}", self.been_at);
    }

    /// Sends a form of a page at `from`.
    pub(super) async fn post(&mut self, url: &str, from: &str, form: &str) -> Answer {
        let headers = [("origin", from), ("content-type", "application/x-www-form-urlencoded")];
        self.send("POST", url, &headers, form).await
    }

    /// Sends anything.
    pub(super) async fn send(
        &mut self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let url = Url::parse(url).unwrap();
        let host = url.authority().to_owned();
        self.been_at.push(url.to_string());
        let mut request = Request::builder().method(method).uri(&url[url::Position::BeforePath..]);
        let mine = self.cookies.iter().filter(|((at, _), _)| *at == host);
        let cookies: Vec<String> = mine.map(|((_, name), value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Bytes::copy_from_slice(body.as_bytes())).unwrap();
        let mut connection = Connection::open(&host).await.unwrap();
        let answer = connection.send(request).await.unwrap();
        for set in answer.headers.get_all("set-cookie") {
            let (name, value) = set.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap();
            let key = (host.clone(), name.to_owned());
            match value {
                "" => self.cookies.remove(&key),
                value => self.cookies.insert(key, value.to_owned()),
            };
        }
        let (status, headers) = (answer.status, answer.headers.clone());
        Answer { what: format!("{method} {url}"), status, headers, text: answer.text().await }
    }
}

/// Where an answer sends a browser.
pub(super) fn location(answer: &Answer) -> Option<String> {
    answer.headers.get("location").map(|to| to.to_str().unwrap().to_owned())
}

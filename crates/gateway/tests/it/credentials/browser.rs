//! A browser: goes where it is sent, keeps cookies, and fills in the page that connects a user.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use testkit::client::{Connection, split_url};

use crate::app::App;
use crate::caller::Caller;

/// Somebody's browser.
#[derive(Default)]
pub(crate) struct Browser {
    cookies: BTreeMap<String, String>,
    /// The origin that posts claim to come from, where it is not the one they go to.
    pub(crate) poses_as: Option<String>,
}

/// What came of a request.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Browser {
    pub(crate) async fn get(&mut self, url: &str) -> Page {
        self.send("GET", url, String::new()).await
    }

    /// Sends the form of the page with a token in it; what comes is mostly the way to the authorization server.
    pub(crate) async fn send_form(&mut self, app: &App, page: &Page, token: &str) -> Page {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        for name in ["server", "version", "form"] {
            form.append_pair(name, &page.field(name));
        }
        let form = form.append_pair("token", token).finish();
        self.send("POST", &format!("{}/api/connect", app.url), form).await
    }

    /// Goes wherever it is sent, first within a site and then away from it once.
    pub(crate) async fn follow(&mut self, url: &str, site: &str) -> Page {
        let mut url = url.to_owned();
        // Signing in and consenting are some redirects each.
        for _ in 0..20 {
            let page = self.get(&url).await;
            let Some(next) = page.headers.get("location") else { return page };
            let next = next.to_str().unwrap();
            url = if next.starts_with('/') { format!("{site}{next}") } else { next.to_owned() };
        }
        panic!("sent about without end: {url}")
    }

    /// Goes all the way, and returns the last page.
    pub(crate) async fn connect(&mut self, app: &App, url: &str, caller: &Caller) -> Page {
        let page = self.get(url).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let sent = self.send_form(app, &page, caller.token.as_ref().unwrap()).await;
        assert_eq!(sent.status, 303, "{}", sent.text);
        let asked = self.get(sent.location()).await;
        assert_eq!(asked.status, 302, "{}", asked.text);
        self.get(asked.location()).await
    }

    async fn send(&mut self, method: &str, url: &str, form: String) -> Page {
        let (authority, path) = split_url(url);
        let mut request = Request::builder().method(method).uri(path);
        // Of a host whatever its port, as browsers have it.
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        if method == "POST" {
            let origin = self.poses_as.clone().unwrap_or_else(|| format!("http://{authority}"));
            request =
                request.header("origin", origin).header("content-type", "application/x-www-form-urlencoded");
        }
        let mut connection = Connection::open(authority).await.unwrap();
        let answer = connection.send(request.body(Bytes::from(form)).unwrap()).await.unwrap();
        let (status, headers) = (answer.status, answer.headers.clone());
        for cookie in headers.get_all("set-cookie") {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            match value {
                "" => drop(self.cookies.remove(name)),
                value => drop(self.cookies.insert(name.into(), value.into())),
            }
        }
        Page { status, headers, text: answer.text().await }
    }
}

impl Page {
    pub(crate) fn location(&self) -> &str {
        self.headers["location"].to_str().unwrap()
    }

    /// Reads a hidden field of the page's form.
    fn field(&self, name: &str) -> String {
        let (_, rest) =
            self.text.split_once(&format!("name=\"{name}\" value=\"")).expect("the page has the field");
        rest.split('"').next().unwrap().to_owned()
    }
}

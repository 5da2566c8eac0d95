//! The pages of sign-in: plain, without scripts, never kept.

use auth::outside::Choice;
use axum::response::{IntoResponse, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, SET_COOKIE,
};
use http::{HeaderValue, StatusCode};
use url::Url;
use url::form_urlencoded::byte_serialize;

use crate::api::document::rfc3339;
use crate::api::error::Problem;
use crate::sessions::Open;

/// Sends the browser on, with cookies.
pub(super) fn go<const N: usize>(to: &str, cookies: [HeaderValue; N]) -> Response {
    let Ok(to) = HeaderValue::from_str(to) else {
        let detail = "the address to go to is no address";
        return failure(&Problem::new(StatusCode::BAD_GATEWAY, detail));
    };
    let headers = [(LOCATION, to), (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let mut response = (StatusCode::SEE_OTHER, headers).into_response();
    for cookie in cookies {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Offers the ways to sign in.
pub(super) fn choice<'a>(choices: impl Iterator<Item = Choice<'a>>, next: &str, prefix: &str) -> Response {
    let next_of_link: String = byte_serialize(next.as_bytes()).collect();
    let links: String = choices
        .map(|one| {
            let issuer: String = byte_serialize(one.issuer.as_bytes()).collect();
            let name = escaped(one.name);
            format!("<p><a href=\"{prefix}/login?provider={issuer}&amp;next={next_of_link}\">Sign in with {name}</a></p>")
        })
        .collect();
    let next = escaped(next);
    let body = format!(
        "<h1>Sign in</h1>{links}<form method=\"post\" action=\"{prefix}/login\">\
         <input type=\"hidden\" name=\"next\" value=\"{next}\">\
         <p><label>With a token of this gateway: <input type=\"password\" name=\"token\" autocomplete=\"off\" required></label> \
         <button>Sign in</button></p></form>"
    );
    page(StatusCode::OK, "Sign in", &body, "", prefix)
}

/// Says who is signed in, and lets them sign out. `away` is where signing out may lead.
pub(super) fn account(open: &Open, away: Option<&str>, prefix: &str) -> Response {
    let subject = escaped(&open.principal.subject);
    let until = open.principal.expires_at.map(rfc3339).unwrap_or_default();
    let proof = escaped(&open.session.proof);
    let body = format!(
        "<h1>Switchyard</h1><p>You are signed in as <strong>{subject}</strong> until {until}.</p>\
         <form method=\"post\" action=\"{prefix}/logout\"><input type=\"hidden\" name=\"csrf_token\" value=\"{proof}\">\
         <button>Sign out</button></form>"
    );
    // Browsers hold forms to where they are sent on to, as well.
    let origin = away.and_then(|url| Url::parse(url).ok()).map(|url| url.origin().ascii_serialization());
    page(StatusCode::OK, "Signed in", &body, &origin.unwrap_or_default(), prefix)
}

/// Says what went wrong.
pub(super) fn failure(problem: &Problem) -> Response {
    let body = format!("<h1>Not signed in</h1><p>{}.</p>", escaped(problem.detail()));
    page(problem.status(), "Not signed in", &body, "", "")
}

fn page(status: StatusCode, title: &str, body: &str, form_action: &str, prefix: &str) -> Response {
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <link rel=\"stylesheet\" href=\"{prefix}/api/docs/docs.css\"></head><body><main>{body}</main></body></html>"
    );
    let policy = format!(
        "default-src 'none'; style-src 'self'; form-action 'self' {form_action}; base-uri 'none'; frame-ancestors 'none'"
    );
    let policy = HeaderValue::try_from(policy);
    let policy = policy.unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CONTENT_SECURITY_POLICY, policy),
        // With `no-referrer`, browsers would not say where a form comes from.
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ];
    (status, headers, text).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

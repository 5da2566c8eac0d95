//! The pages a user sees. They load nothing and run nothing.

use axum::response::{IntoResponse, Response};
use catalog::name::ServerPath;
use http::{HeaderValue, header};

/// Nothing is loaded, nothing runs, and no page may put it into a frame. A form's target is not limited to `'self'` where it
/// is redirected, since some browsers would stop the way to the authorization server.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
);

/// Asks a user to prove who they are.
pub(super) fn ask(server: &ServerPath, version: &str, form: &str, action: &str) -> String {
    let (server, version, action) = (escaped(server.as_str()), escaped(version), escaped(action));
    whole(&format!(
        r#"<h1>Connect {server}</h1>
<p>The gateway would act for you at <b>{server}</b>. Show it who you are with the token you use it with; you are then sent on to sign in at the server.</p>
<p>Go on only if you want this yourself: whatever account you sign in with will be used when <b>you</b> call {server}.</p>
<form method="post" action="{action}">
<input type="hidden" name="server" value="{server}"><input type="hidden" name="version" value="{version}"><input type="hidden" name="form" value="{form}">
<p><label>Your token<br><input type="password" name="token" autocomplete="off" required></label></p>
<p><button>Go on</button></p>
</form>"#
    ))
}

/// Says that it worked.
pub(super) fn connected(server: &ServerPath, subject: &str) -> String {
    let (server, subject) = (escaped(server.as_str()), escaped(subject));
    whole(&format!(
        "<h1>Connected</h1><p>The gateway may act for <b>{subject}</b> at <b>{server}</b>. You can close this page and go on in your client.</p>"
    ))
}

/// Says that the user would not, or the authorization server.
pub(super) fn refused(server: &ServerPath) -> String {
    let server = escaped(server.as_str());
    whole(&format!(
        "<h1>Not connected</h1><p>The gateway was not allowed to act for you at <b>{server}</b>.</p>"
    ))
}

/// Answers with a page.
pub(super) fn answer(body: String, cookies: &[HeaderValue]) -> Response {
    let mut response = axum::response::Html(body).into_response();
    dress(&mut response, cookies);
    response
}

/// Adds what answers to browsers need.
pub(super) fn dress(response: &mut Response, cookies: &[HeaderValue]) {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    // Without any, browsers post the form with the origin `null`, which is nobody's.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    for cookie in cookies {
        headers.append(header::SET_COOKIE, cookie.clone());
    }
}

fn whole(body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Switchyard</title><style>body{{font:16px system-ui;max-width:36em;margin:4em auto;padding:0 1em}}input[type=password]{{width:100%}}</style>{body}</html>"
    )
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

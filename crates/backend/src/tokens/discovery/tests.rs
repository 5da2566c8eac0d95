use super::*;

#[test]
fn metadata_are_looked_for_where_each_standard_has_them() {
    let check = |issuer: &str, expected: &[&str]| {
        let places = places(&issuer.parse().unwrap());
        assert_eq!(places.iter().map(Url::as_str).collect::<Vec<_>>(), expected, "{issuer}");
    };
    check(
        "https://login.example.com",
        &[
            "https://login.example.com/.well-known/oauth-authorization-server",
            "https://login.example.com/.well-known/openid-configuration",
        ],
    );
    check(
        "https://login.example.com/tenant/",
        &[
            "https://login.example.com/.well-known/oauth-authorization-server/tenant",
            "https://login.example.com/.well-known/openid-configuration/tenant",
            "https://login.example.com/tenant/.well-known/openid-configuration",
        ],
    );
}

#[test]
fn a_url_elsewhere_is_trusted_less_and_one_in_the_clear_not_at_all() {
    let check = |issuer: &str, url: &str, expected: Option<Trust>| {
        let named = named_by(&issuer.parse().unwrap(), Trust::Given, url);
        assert_eq!(named.ok().map(|named| named.trust), expected, "{url}");
    };
    check("https://a.example.com/x", "https://a.example.com/token", Some(Trust::Given));
    check("https://a.example.com/x", "https://b.example.com/token", Some(Trust::Learnt));
    check("https://a.example.com/x", "http://a.example.com/token", None);
    check("http://127.0.0.1:1/", "http://127.0.0.1:1/token", Some(Trust::Given));
    check("http://127.0.0.1:1/", "http://127.0.0.1:2/token", Some(Trust::Learnt));
    check("https://a.example.com/x", "file:///etc/passwd", None);
}

use super::*;

fn life_of(body: &str) -> Result<u64, String> {
    match read(StatusCode::OK, &Bytes::copy_from_slice(body.as_bytes())) {
        Ok(granted) => Ok(granted.life.as_secs()),
        Err(failure) => Err(failure.reason()),
    }
}

#[test]
fn the_life_is_what_the_server_says() {
    let check = |member: &str, expected: u64| {
        let body = format!(r#"{{"access_token":"t","token_type":"bearer"{member}}}"#);
        assert_eq!(life_of(&body), Ok(expected), "{member}");
    };
    check(r#","expires_in":60"#, 60);
    check(r#","expires_in":"90""#, 90);
    check("", 300);
    check(r#","expires_in":null"#, 300);
    check(r#","expires_in":-5"#, 300);
    check(r#","expires_in":1e300"#, 300);
    check(r#","expires_in":99999999"#, 86_400);
}

#[test]
fn what_is_no_bearer_token_is_none() {
    for body in [
        r#"{"access_token":"t","token_type":"DPoP"}"#,
        r#"{"access_token":"a\nb","token_type":"Bearer"}"#,
        r#"{"token_type":"Bearer"}"#,
        "<html>",
        "[]",
    ] {
        assert!(life_of(body).is_err(), "{body}");
    }
}

#[test]
fn a_refusal_repeats_the_code_and_nothing_else() {
    let check = |body: &'static str, expected: &str| {
        let failure = read(StatusCode::BAD_REQUEST, &Bytes::from_static(body.as_bytes())).err();
        let reason = failure.unwrap_or_else(|| panic!("{body}")).reason();
        assert_eq!(reason, format!("the authorization server {expected}"));
    };
    check(
        r#"{"error":"invalid_client","error_description":"the secret s3cret is wrong"}"#,
        "refused: invalid_client",
    );
    check(r#"{"error":"<b>\n x"}"#, "refused: bx");
    check(r#"{"error":""}"#, "answered HTTP 400");
    check("oops", "answered HTTP 400");
}

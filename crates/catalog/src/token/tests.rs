//! Until when a token is let in.

use super::*;

#[test]
fn a_token_ends_at_its_time_or_when_revoked() {
    let now = Timestamp(1_768_003_200_000);
    let token = IssuedToken {
        id: "0f".into(),
        subject: "ada".into(),
        description: String::new(),
        groups: Vec::new(),
        scopes: Vec::new(),
        is_admin: false,
        resource: None,
        subject_issuer: None,
        created_by: "root".into(),
        made_with: None,
        created_at: now,
        expires_at: now.plus_seconds(60),
        revoked_at: None,
    };
    assert!(token.is_live(now));
    assert!(token.is_live(Timestamp(now.plus_seconds(60).0 - 1)));
    assert!(!token.is_live(now.plus_seconds(60)));
    let revoked = IssuedToken { revoked_at: Some(now), ..token };
    assert!(!revoked.is_live(now));
}

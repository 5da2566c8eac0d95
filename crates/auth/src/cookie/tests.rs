//! Cookies that were changed, mixed up or made by others.

use super::*;

fn cookies(digit: &str) -> Cookies {
    Cookies::new(&RootKey::from_hex(&digit.repeat(64)).unwrap())
}

#[test]
fn a_session_comes_back_as_it_was_and_only_whole() {
    let ours = cookies("a");
    let session = Session::new("https://idp.example.com", Some("t".into()));
    let sealed = ours.seal_session(&session);
    let opened = ours.open_session(&sealed).unwrap();
    assert_eq!((&opened.id, &opened.issuer, &opened.token), (&session.id, &session.issuer, &session.token));
    assert!(!sealed.contains(&*session.id), "nothing shows");
    for at in 0..sealed.len() {
        let mut other = sealed.clone().into_bytes();
        other[at] = if other[at] == b'A' { b'B' } else { b'A' };
        assert!(ours.open_session(&String::from_utf8(other).unwrap()).is_none(), "changed at {at}");
        assert!(ours.open_session(&sealed[..at]).is_none(), "cut at {at}");
    }
    assert!(cookies("b").open_session(&sealed).is_none(), "of another installation");
    assert!(ours.open_flow(&sealed).is_none(), "a session is no sign-in under way");
    assert!(ours.open_session(&"A".repeat(5000)).is_none(), "too long");
}

#[test]
fn a_proof_is_that_of_its_session_alone() {
    let (one, other) = (Session::new("", None), Session::new("", None));
    assert!(one.is_proved_by(&one.proof.clone()));
    assert!(!one.is_proved_by(&other.proof) && !one.is_proved_by(""));
    assert_ne!(one.id, other.id);
}

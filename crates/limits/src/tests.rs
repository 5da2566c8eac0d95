use std::sync::Arc;

use super::*;

fn caller(subject: &str) -> Principal {
    Principal { subject: Arc::from(subject), ..Principal::anonymous() }
}

fn limiter(principal: &str, endpoint: &str, pair: &str) -> Limiter {
    let usual = PathLimits { endpoint: Rate::parse(endpoint), pair: Rate::parse(pair) };
    Limiter::new(Limits { principal: Rate::parse(principal), usual, paths: HashMap::new() }).unwrap()
}

fn scope(answer: Result<(), Exceeded>) -> Option<Scope> {
    answer.err().map(|exceeded| exceeded.scope)
}

#[test]
fn nothing_limited_is_no_limiter() {
    assert!(Limiter::new(Limits::default()).is_none());
    let paths = HashMap::from([("/a".to_owned(), PathLimits::default())]);
    assert!(Limiter::new(Limits { paths, ..Limits::default() }).is_none());
}

#[test]
fn each_limit_counts_by_itself() {
    let now = Instant::now();
    let (ann, bob) = (caller("ann"), caller("bob"));
    let by_principal = limiter("2/h", "", "");
    assert_eq!(scope(by_principal.at_endpoint(&ann, "/a", now)), None);
    assert_eq!(scope(by_principal.elsewhere(&ann, now)), None);
    assert_eq!(scope(by_principal.at_endpoint(&ann, "/b", now)), Some(Scope::Principal));
    assert_eq!(scope(by_principal.elsewhere(&ann, now)), Some(Scope::Principal));
    assert_eq!(scope(by_principal.at_endpoint(&bob, "/a", now)), None);
    let by_endpoint = limiter("", "2/h", "");
    assert_eq!(scope(by_endpoint.at_endpoint(&ann, "/a", now)), None);
    assert_eq!(scope(by_endpoint.at_endpoint(&bob, "/a", now)), None);
    assert_eq!(scope(by_endpoint.at_endpoint(&bob, "/a", now)), Some(Scope::Endpoint));
    assert_eq!(scope(by_endpoint.at_endpoint(&bob, "/b", now)), None);
    assert_eq!(scope(by_endpoint.elsewhere(&bob, now)), None);
    let by_pair = limiter("", "", "1/h");
    assert_eq!(scope(by_pair.at_endpoint(&ann, "/a", now)), None);
    assert_eq!(scope(by_pair.at_endpoint(&ann, "/a", now)), Some(Scope::Pair));
    assert_eq!(scope(by_pair.at_endpoint(&ann, "/b", now)), None);
    assert_eq!(scope(by_pair.at_endpoint(&bob, "/a", now)), None);
}

#[test]
fn who_is_refused_uses_up_nothing_of_others() {
    let now = Instant::now();
    let limiter = limiter("", "3/h", "1/h");
    let (ann, bob) = (caller("ann"), caller("bob"));
    limiter.at_endpoint(&ann, "/a", now).unwrap();
    for _ in 0..10 {
        assert_eq!(scope(limiter.at_endpoint(&ann, "/a", now)), Some(Scope::Pair));
    }
    limiter.at_endpoint(&bob, "/a", now).unwrap();
    limiter.at_endpoint(&caller("eve"), "/a", now).unwrap();
    assert_eq!(scope(limiter.at_endpoint(&caller("joe"), "/a", now)), Some(Scope::Endpoint));
    assert_eq!(scope(limiter.at_endpoint(&caller("joe"), "/a", now)), Some(Scope::Endpoint), "given back");
}

#[test]
fn an_endpoint_may_have_limits_of_its_own() {
    let now = Instant::now();
    let own = PathLimits { endpoint: Rate::parse("1/h"), pair: None };
    let usual = PathLimits { endpoint: None, pair: Rate::parse("2/h") };
    let paths = HashMap::from([("/a".to_owned(), own)]);
    let limiter = Limiter::new(Limits { principal: None, usual, paths }).unwrap();
    let ann = caller("ann");
    limiter.at_endpoint(&ann, "/a", now).unwrap();
    assert_eq!(scope(limiter.at_endpoint(&ann, "/a", now)), Some(Scope::Endpoint));
    limiter.at_endpoint(&ann, "/b", now).unwrap();
    limiter.at_endpoint(&ann, "/b", now).unwrap();
    assert_eq!(scope(limiter.at_endpoint(&ann, "/b", now)), Some(Scope::Pair));
}

#[test]
fn callers_are_told_apart_by_issuer_and_by_having_a_token() {
    let now = Instant::now();
    let limiter = limiter("1/h", "", "");
    let none = Principal::anonymous();
    let ours = Principal { token: Some("1".into()), ..none.clone() };
    let theirs = Principal { issuer: "https://idp".into(), ..none.clone() };
    for one in [&none, &ours, &theirs] {
        limiter.elsewhere(one, now).unwrap();
    }
    let other_token = Principal { token: Some("2".into()), ..ours };
    assert_eq!(scope(limiter.elsewhere(&other_token, now)), Some(Scope::Principal));
}

#[test]
fn the_wait_is_told_in_words() {
    let limiter = limiter("1/m", "", "");
    let now = Instant::now();
    let ann = caller("ann");
    limiter.elsewhere(&ann, now).unwrap();
    let exceeded = limiter.elsewhere(&ann, now).unwrap_err();
    assert_eq!(exceeded.retry_after, Duration::from_secs(60));
    assert_eq!(exceeded.to_string(), "too many requests by this caller; try again in 60 s");
    assert!(limiter.elsewhere(&ann, now + Duration::from_secs(60)).is_ok());
    let short = Exceeded { scope: Scope::Pair, retry_after: Duration::from_millis(1) };
    assert_eq!(short.seconds(), 1);
}

/// Not an exact measure; an order of magnitude is kept, also in a debug build on a busy machine.
#[test]
fn counting_is_quick() {
    let limiter = limiter("100000/s", "100000/s", "100000/s");
    let (ann, rounds) = (caller("ann"), 10_000);
    let began = Instant::now();
    for _ in 0..rounds {
        let _ = limiter.at_endpoint(&ann, "/virtual/dev-tools", began);
    }
    let each = began.elapsed() / rounds;
    assert!(each < Duration::from_micros(50), "{each:?}");
}

//! Grants: what a credential carries, what groups add, what is missing.

use super::*;

fn scopes(names: &[&str]) -> Vec<Scope> {
    names.iter().map(|name| Scope::parse("scope", name).unwrap()).collect()
}

fn principal(groups: &[&str], own: &[&str]) -> Principal {
    Principal {
        subject: "ada".into(),
        groups: groups.iter().map(|name| (*name).to_owned()).collect(),
        scopes: scopes(own),
        token: Some("0f".into()),
        ..Principal::anonymous()
    }
}

fn groups() -> BTreeMap<String, Arc<Group>> {
    let group = |name: &str, granted: &[&str]| {
        let (description, scopes) = (String::new(), scopes(granted));
        (name.to_owned(), Arc::new(Group { name: name.into(), description, scopes, revision: 1 }))
    };
    [group("staff", &["docs-read", "github-read"]), group("writers", &["github-write"]), group("empty", &[])]
        .into()
}

fn check(principal: &Principal, required: &[&str], expected: Option<&str>) {
    let grants = Grants::of(principal, &groups());
    let required = scopes(required);
    assert_eq!(grants.missing(&required).map(Scope::as_str), expected, "{principal:?}");
}

#[test]
fn all_required_scopes_are_needed() {
    let nobody = principal(&[], &[]);
    check(&nobody, &[], None);
    check(&nobody, &["docs-read"], Some("docs-read"));
    let staff = principal(&["staff"], &[]);
    check(&staff, &["docs-read"], None);
    check(&staff, &["docs-read", "github-read"], None);
    check(&staff, &["docs-read", "github-write", "slack"], Some("github-write"));
    check(&staff, &["docs"], Some("docs"));
    check(&staff, &["Docs-Read"], Some("Docs-Read"));
    let several = principal(&["staff", "writers", "unknown", "empty"], &["slack"]);
    check(&several, &["docs-read", "github-write", "slack"], None);
    check(&several, &["jira"], Some("jira"));
    check(&principal(&["Staff"], &[]), &["docs-read"], Some("docs-read"));
    check(&Principal::anonymous(), &["docs-read"], Some("docs-read"));
    check(&Principal::anonymous(), &[], None);
}

#[test]
fn administrators_lack_nothing() {
    let admin = Principal { is_admin: true, ..principal(&[], &[]) };
    check(&admin, &["docs-read", "anything"], None);
    assert!(Grants::of(&admin, &groups()).is_everything());
    assert!(!Grants::default().is_everything());
}

#[test]
fn grants_list_what_is_held() {
    let grants = Grants::of(&principal(&["staff"], &["slack", "docs-read"]), &groups());
    let mut held: Vec<_> = grants.scopes().map(Scope::as_str).collect();
    held.sort_unstable();
    assert_eq!(held, ["docs-read", "github-read", "slack"]);
}

#[test]
fn the_same_caller_has_subject_and_issuer_in_common() {
    let ada = principal(&[], &[]);
    let renewed = Principal { token: Some("ff".into()), is_admin: true, ..ada.clone() };
    assert!(ada.is_same_caller(&renewed), "another token of the same person");
    let others = [
        Principal { subject: "bob".into(), ..ada.clone() },
        Principal { issuer: "https://idp.example.com".into(), ..ada.clone() },
        Principal::anonymous(),
    ];
    for other in others {
        assert!(!ada.is_same_caller(&other), "{other:?}");
    }
    assert!(Principal::anonymous().is_same_caller(&Principal::anonymous()));
    let named_so = Principal { subject: "anonymous".into(), ..ada };
    assert!(!named_so.is_same_caller(&Principal::anonymous()));
}

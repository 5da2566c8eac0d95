//! The catalog as a whole: cheap copies, and how refusals read.

use crate::Catalog;
use crate::access::{Group, Scope};
use crate::error::{Invalid, Refusal};
use crate::name::Slug;
use std::sync::Arc;

#[test]
fn a_copy_is_shared_until_one_of_them_changes() {
    let before = Catalog::default();
    let mut after = before.clone();
    let group = Group { name: "staff".into(), description: String::new(), scopes: Vec::new(), revision: 1 };
    Arc::make_mut(&mut after.groups).insert("staff".into(), Arc::new(group));
    assert!(before.groups.is_empty());
    assert_eq!(after.groups.len(), 1);
    assert!(Arc::ptr_eq(&before.servers, &after.servers));
}

#[test]
fn refusals_say_what_to_do() {
    let slug = |text: &str| Slug::parse("path", text).unwrap();
    let invalid = [Invalid::new("path", "is required"), Scope::parse("scopes[1]", "").unwrap_err()];
    for (refusal, expected) in [
        (
            Refusal::Invalid(invalid.into()),
            "path: is required; scopes[1]: \"\" must be 1 to 256 printable ASCII characters without blanks, \
             quotes or backslashes",
        ),
        (Refusal::NoSuch { kind: "server", name: "/a".into(), known: Vec::new() }, "no such server: /a"),
        (
            Refusal::Pinned { path: "/a".into(), label: "v1".into(), by: vec![slug("one"), slug("two")] },
            "version v1 of /a is pinned by the virtual servers one, two; change them, or force the removal",
        ),
        (
            Refusal::Moved { name: "/a".into(), current: 4, expected: 3 },
            "/a changed meanwhile: it is at revision 4, not 3; read it again and repeat the edit",
        ),
    ] {
        assert_eq!(refusal.to_string(), expected);
    }
}

use std::sync::Arc;

use catalog::access::Group;

use super::*;

fn group(description: &str, scopes: &[&str]) -> Arc<Group> {
    let scopes = scopes.iter().map(|scope| Scope::parse("scope", scope).unwrap()).collect();
    Arc::new(Group { name: "staff".into(), description: description.into(), scopes, revision: 7 })
}

fn told(catalog: &Catalog, edit: Edit) -> Value {
    serde_json::from_str(&of(catalog, &[edit]).unwrap()).unwrap()
}

#[test]
fn only_what_differs_is_told() {
    let mut catalog = Catalog::default();
    assert_eq!(
        told(&catalog, Edit::PutGroup(group("people", &["a"]))),
        json!({ "before": null, "after": { "name": "staff", "description": "people", "scopes": ["a"] } })
    );
    Arc::make_mut(&mut catalog.groups).insert("staff".into(), group("people", &["a"]));
    assert_eq!(
        told(&catalog, Edit::PutGroup(group("people", &["a", "b"]))),
        json!({ "before": { "scopes": ["a"] }, "after": { "scopes": ["a", "b"] } })
    );
    let gone = told(&catalog, Edit::DeleteGroup("staff".into()));
    assert_eq!((&gone["before"]["description"], &gone["after"]), (&json!("people"), &Value::Null));
}

#[test]
fn what_is_too_long_is_told_by_its_length() {
    let told = told(&Catalog::default(), Edit::PutGroup(group(&"x".repeat(MAX_BYTES), &["a"])));
    assert_eq!(told["after"]["description"], format!("({} bytes)", MAX_BYTES + 2));
    assert_eq!(told["after"]["scopes"], json!(["a"]));
}

#[test]
fn objects_are_looked_into() {
    let sides = differences(
        json!({ "a": 1, "b": { "c": 1, "d": [1] }, "gone": 1 }),
        json!({ "a": 1, "b": { "c": 1, "d": [2] }, "new": 2 }),
    );
    assert_eq!(sides, (json!({ "b": { "d": [1] }, "gone": 1 }), json!({ "b": { "d": [2] }, "new": 2 })));
}

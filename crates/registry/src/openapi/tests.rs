//! The document against the rules that all routes keep.

use serde_json::Value;

use super::*;

fn all() -> Vec<(String, Value)> {
    let document: Value = serde_json::from_str(&openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let each = |(path, item): (&String, &Value)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(|(method, operation)| (format!("{method} {path}"), operation.clone())).collect::<Vec<_>>()
    };
    paths.iter().flat_map(each).collect()
}

#[test]
fn the_document_is_openapi_3_1_and_knows_the_main_routes() {
    let document: Value = serde_json::from_str(&openapi()).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["title"], "Switchyard");
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    let known: Vec<String> = all().into_iter().map(|(name, _)| name).collect();
    for wanted in [
        "post /api/virtual-servers",
        "put /api/virtual-servers/{slug}",
        "get /api/virtual-servers/{slug}/preview",
        "post /api/tokens",
        "delete /api/tokens/{id}",
        "put /api/groups/{name}",
        "get /api/openapi.json",
    ] {
        assert!(known.iter().any(|one| one == wanted), "{wanted} is not among {known:?}");
    }
}

#[test]
fn every_operation_is_described() {
    let tags: Vec<&str> = TAGS.iter().map(|(name, _)| *name).collect();
    let mut ids = std::collections::BTreeSet::new();
    for (name, operation) in all() {
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name} has no summary");
        let tag = operation["tags"][0].as_str().unwrap_or_default();
        assert!(tags.contains(&tag), "{name} has the unknown tag {tag:?}");
        assert!(ids.insert(operation["operationId"].to_string()), "{name} shares its operationId");
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.keys().any(|status| status.starts_with(['2', '3'])), "{name} never succeeds");
        let is_open = operation["security"].as_array().is_some();
        assert_eq!(answers.contains_key("401"), !is_open, "401 of {name}");
        assert_eq!(answers.contains_key("404"), !is_open && name.contains('{'), "404 of {name}");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(document: &Value, value: &Value) {
        match value {
            Value::Object(members) => {
                if let Some(name) = members.get("$ref").and_then(Value::as_str) {
                    assert!(document.pointer(&name[1..]).is_some(), "{name} leads nowhere");
                }
                members.values().for_each(|one| walk(document, one));
            }
            Value::Array(list) => list.iter().for_each(|one| walk(document, one)),
            _ => {}
        }
    }
    let document: Value = serde_json::from_str(&openapi()).unwrap();
    walk(&document, &document);
}

/// A route added without its documentation would be `.route(…)`; only `.routes(routes!(…))` documents.
#[test]
fn every_route_has_an_operation() {
    let api = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api");
    let mut folders = vec![api];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|kind| kind == "rs") {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                let bare = [".route(", ".route_service(", ".nest(", ".nest_service("];
                let found = bare.iter().find(|call| text.contains(**call));
                assert!(found.is_none(), "{} has a route without documentation", entry.path().display());
                seen += text.matches("routes!(").count();
            }
        }
    }
    assert!(seen > 5, "{seen} routes");
}

//! Pairs of offers, made by hand, and what a person must be told about them.

use catalog::endpoint::{Endpoint, Era};
use catalog::name::{Slug, ToolName};
use catalog::server::{Server, Version};
use catalog::time::Timestamp;
use catalog::virtual_server::{Mapping, VirtualServer};
use catalog::{Catalog, VersionKey};
use serde_json::json;

use super::*;

/// Compares two input schemas of one tool: the reasons, and whether it breaks.
fn check_input(old: Value, new: Value, breaking: bool, reasons: &[&str]) {
    let tool = |schema: &Value| json!({"name": "t", "inputSchema": schema});
    check("inputSchema", &tool(&old), &tool(&new), breaking, reasons);
}

fn check_output(old: Value, new: Value, breaking: bool, reasons: &[&str]) {
    let tool = |schema: &Value| json!({"name": "t", "outputSchema": schema});
    check("outputSchema", &tool(&old), &tool(&new), breaking, reasons);
}

fn check(what: &str, old: &Value, new: &Value, breaking: bool, reasons: &[&str]) {
    let (old_offer, new_offer) = (offer(std::slice::from_ref(old)), offer(std::slice::from_ref(new)));
    let diff = between(&old_offer, &new_offer);
    assert!(diff.tools.added.is_empty() && diff.tools.removed.is_empty());
    let found: Vec<_> = diff.tools.changed.iter().flat_map(|one| &one.reasons).collect();
    assert_eq!(found, reasons, "{what} from {old} to {new}");
    assert_eq!(diff.breaking, breaking, "{what} from {old} to {new}");
}

fn items(list: &[Value], key: &str) -> Vec<Item> {
    let name = |one: &Value| one[key].as_str().unwrap().into();
    list.iter().map(|one| Item { name: name(one), json: one.to_string().into() }).collect()
}

fn offer(tools: &[Value]) -> Inventory {
    Inventory { tools: items(tools, "name"), ..Inventory::empty(Era::Legacy, "2025-11-25", Timestamp(0)) }
}

#[test]
fn inputs_break_where_they_accept_less() {
    let text = json!({"type": "string"});
    let one = |schema: Value| json!({"type": "object", "properties": {"q": schema}});
    let none = json!({"type": "object", "properties": {}});
    check_input(one(text.clone()), one(text.clone()), false, &[]);
    check_input(none.clone(), one(text.clone()), false, &["input `q`: it is new and optional"]);
    check_input(one(text.clone()), none.clone(), true, &["input `q`: it is gone"]);
    let needed = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    check_input(none, needed.clone(), true, &["input `q`: it is new and required"]);
    check_input(one(text.clone()), needed.clone(), true, &["input `q`: it is now required"]);
    check_input(needed, one(text.clone()), false, &["input `q`: it is no longer required"]);
    let number = json!({"type": "integer"});
    let changed = ["input `q`: its type changed from string to integer"];
    check_input(one(text.clone()), one(number.clone()), true, &changed);
    let widened = ["input `q`: its type changed from integer to number"];
    check_input(one(number.clone()), one(json!({"type": "number"})), false, &widened);
    let nullable = json!({"type": ["string", "null"]});
    let back = ["input `q`: its type changed from null or string to string"];
    check_input(one(nullable.clone()), one(text.clone()), true, &back);
    check_input(
        one(text.clone()),
        one(json!({})),
        false,
        &["input `q`: its type changed from string to anything"],
    );
    let described = json!({"type": "string", "description": "what to look for"});
    check_input(one(text.clone()), one(described), false, &["input `q`: its description changed"]);
    let (few, many) = (json!({"enum": ["a"]}), json!({"enum": ["a", "b"]}));
    check_input(one(many.clone()), one(few.clone()), true, &["input `q`: it can no longer be \"b\""]);
    check_input(one(few.clone()), one(many), false, &["input `q`: it can now also be \"b\""]);
    let limited = ["input `q`: it is now limited to \"a\""];
    check_input(one(json!({})), one(few), true, &limited);
    let bounded = |most: i64| json!({"type": "integer", "maximum": most});
    let lower = ["input `q`: maximum changed from 100 to 10"];
    check_input(one(bounded(100)), one(bounded(10)), true, &lower);
    check_input(one(number), one(bounded(10)), true, &["input `q`: maximum changed from none to 10"]);
    check_input(one(bounded(10)), one(bounded(100)), false, &["input `q`: maximum changed from 10 to 100"]);
    let pattern = json!({"type": "string", "pattern": "^a"});
    check_input(one(text.clone()), one(pattern.clone()), true, &["input `q`: the rule `pattern` changed"]);
    check_input(one(pattern), one(text), false, &["input `q`: the rule `pattern` is gone"]);
}

#[test]
fn nesting_references_and_alternatives_are_followed() {
    let list = |item: Value| json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b": item}}}}});
    let deep = ["input `a[].b`: its type changed from string to boolean"];
    check_input(list(json!({"type": "string"})), list(json!({"type": "boolean"})), true, &deep);

    let by_reference = |kind: &str| json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": kind}}});
    let changed = ["input `a`: its type changed from string to integer"];
    check_input(by_reference("string"), by_reference("integer"), true, &changed);
    let inlined = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    check_input(by_reference("string"), inlined, false, &[]);

    let one = |schema: Value| json!({"type": "object", "properties": {"q": schema}});
    let optional = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
    let widened = ["input `q`: its alternatives changed"];
    check_input(one(json!({"type": "string"})), one(optional.clone()), false, &widened);
    check_input(one(optional), one(json!({"type": "string"})), true, &["input `q`: it no longer takes null"]);

    let tree = |extra: &str| {
        json!({"$ref": "#/$defs/Node", "$defs": {"Node": {"type": "object", "properties": {
            "left": {"$ref": "#/$defs/Node"}, "right": {"$ref": "#/$defs/Node"}, "value": {"type": extra}}}}})
    };
    let recursive = ["input `value`: its type changed from string to integer"];
    check_input(tree("string"), tree("integer"), true, &recursive);
}

#[test]
fn a_schema_made_to_explode_is_given_up() {
    let level = |n: usize| json!({"anyOf": [{"$ref": format!("#/$defs/{}", n + 1)}, {"$ref": format!("#/$defs/{}", n + 1)}]});
    let bomb = |leaf: &str| {
        let mut levels: Map<String, Value> = (0..20).map(|n| (n.to_string(), level(n))).collect();
        levels.insert("20".into(), json!({"type": leaf}));
        json!({"type": "object", "properties": {"q": {"$ref": "#/$defs/0"}}, "$defs": levels})
    };
    check_input(bomb("string"), bomb("integer"), true, &["input: its schemas are too large to compare"]);
}

#[test]
fn outputs_break_where_they_promise_less() {
    let one = |schema: Value, required: &[&str]| json!({"type": "object", "properties": {"n": schema}, "required": required});
    let (number, integer) = (json!({"type": "number"}), json!({"type": "integer"}));
    check_output(
        one(integer.clone(), &[]),
        one(number.clone(), &[]),
        true,
        &["output `n`: its type changed from integer to number"],
    );
    check_output(
        one(number.clone(), &[]),
        one(integer, &[]),
        false,
        &["output `n`: its type changed from number to integer"],
    );
    check_output(
        one(number.clone(), &["n"]),
        one(number.clone(), &[]),
        true,
        &["output `n`: it may now be absent"],
    );
    check_output(
        one(number.clone(), &[]),
        one(number.clone(), &["n"]),
        false,
        &["output `n`: it is now always there"],
    );
    check_output(one(number.clone(), &["n"]), json!({"type": "object"}), true, &["output `n`: it is gone"]);
    check_output(json!({"type": "object"}), one(number, &[]), false, &["output `n`: it is new and optional"]);
    let gone = ["output: its schema is gone"];
    check("output", &json!({"name": "t", "outputSchema": {}}), &json!({"name": "t"}), true, &gone);
    let come = ["output: it has a schema now"];
    check("output", &json!({"name": "t"}), &json!({"name": "t", "outputSchema": {}}), false, &come);
}

#[test]
fn words_about_a_tool_break_nothing() {
    let old = json!({"name": "t", "title": "T", "description": "one", "annotations": {"readOnlyHint": true}});
    let new = json!({"name": "t", "description": "two", "icons": [], "annotations": {"readOnlyHint": false}});
    let reasons =
        ["its title is gone", "its description changed", "its annotations changed", "its icons is new"];
    check("words", &old, &new, false, &reasons);
}

#[test]
fn tools_prompts_and_resources_come_and_go() {
    let mut old = offer(&[json!({"name": "stays"}), json!({"name": "goes"})]);
    let mut new = offer(&[json!({"name": "comes"}), json!({"name": "stays"})]);
    old.prompts =
        items(&[json!({"name": "p", "arguments": [{"name": "a"}, {"name": "b", "required": true}]})], "name");
    new.prompts =
        items(&[json!({"name": "p", "arguments": [{"name": "a", "required": true}, {"name": "c"}]})], "name");
    old.resources = items(&[json!({"uri": "file:///a", "mimeType": "text/plain"})], "uri");
    new.resources = items(&[json!({"uri": "file:///a", "mimeType": "text/html"})], "uri");
    old.templates = items(&[json!({"uriTemplate": "db://{id}"})], "uriTemplate");
    let diff = between(&old, &new);
    let names =
        |list: &[OneChange]| list.iter().map(|one| (one.name.clone(), one.breaking)).collect::<Vec<_>>();
    assert_eq!(names(&diff.tools.added), [("comes".to_owned(), false)]);
    assert_eq!(names(&diff.tools.removed), [("goes".to_owned(), true)]);
    let reasons = ["the argument `a` is now required", "the argument `b` is gone", "the argument `c` is new"];
    assert_eq!(diff.prompts.changed[0].reasons, reasons);
    assert_eq!(diff.resources.changed[0].reasons, ["its media type changed from text/plain to text/html"]);
    assert_eq!(names(&diff.resource_templates.removed), [("db://{id}".to_owned(), true)]);
    assert!(diff.breaking);
    assert!(!between(&old, &old.clone()).breaking);
}

#[test]
fn virtual_servers_with_a_broken_tool_are_named() {
    let path = ServerPath::parse("path", "/github").unwrap();
    let label = |text: &str| VersionLabel::parse("version", text).unwrap();
    let mut catalog = two_versions(&path, &label("v1"), &label("v2"));
    let inventories = [
        (label("v1"), offer(&[json!({"name": "search"}), json!({"name": "kept"})])),
        (label("v2"), offer(&[json!({"name": "kept"})])),
    ];
    let unread = of_versions(&catalog, &path, "v1", "v2").unwrap_err().to_string();
    assert!(unread.contains("/github v1 are not known yet") && unread.contains("/github v2"), "{unread}");
    for (label, inventory) in inventories {
        std::sync::Arc::make_mut(&mut catalog.inventories)
            .insert(VersionKey::new(&path, &label), inventory.into());
    }
    for (slug, tool, pin) in [
        ("follows", "search", None),
        ("pins-old", "search", Some("v1")),
        ("pins-new", "search", Some("v2")),
        ("unhurt", "kept", None),
    ] {
        let row = Mapping {
            tool: tool.into(),
            server: path.clone(),
            alias: Some(ToolName::parse("alias", "find").unwrap()),
            pin: pin.map(label),
            description: None,
        };
        let one = virtual_server(slug, row);
        std::sync::Arc::make_mut(&mut catalog.virtual_servers).insert(one.slug.clone(), one.into());
    }
    let diff = of_versions(&catalog, &path, "v1", "v2").unwrap();
    let touched: Vec<_> = diff.virtual_servers.iter().map(|one| (one.path.as_str(), one.pinned)).collect();
    assert_eq!(touched, [("/virtual/follows", false), ("/virtual/pins-old", true)]);
    assert_eq!(diff.virtual_servers[0].tools, ["search"]);
    let written = serde_json::to_value(&diff).unwrap();
    assert_eq!(written["removed"][0]["name"], "search");
    assert_eq!((written["from"].as_str(), written["to"].as_str()), (Some("v1"), Some("v2")));
    let missing = of_versions(&catalog, &path, "v1", "v9").unwrap_err().to_string();
    assert!(missing.contains("v9") && missing.contains("v1, v2"), "{missing}");
}

fn two_versions(path: &ServerPath, first: &VersionLabel, second: &VersionLabel) -> Catalog {
    let version = |label: &VersionLabel| {
        Version::new(label.clone(), Endpoint::at("http://127.0.0.1:9000/mcp".parse().unwrap()), Timestamp(0))
    };
    let server = Server::new(path.clone(), "GitHub".into(), version(first), Timestamp(0));
    let server = server.add(version(second), Timestamp(0)).unwrap();
    let mut catalog = Catalog::default();
    std::sync::Arc::make_mut(&mut catalog.servers).insert(path.clone(), server.into());
    catalog
}

fn virtual_server(slug: &str, row: Mapping) -> VirtualServer {
    VirtualServer {
        slug: Slug::parse("path", slug).unwrap(),
        name: slug.into(),
        description: String::new(),
        tags: Vec::new(),
        mappings: vec![row],
        required_scopes: Vec::new(),
        overrides: Vec::new(),
        instructions: None,
        exposes_prompts: true,
        exposes_resources: true,
        resource_routes: Vec::new(),
        is_enabled: true,
        owner: None,
        revision: 1,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    }
}

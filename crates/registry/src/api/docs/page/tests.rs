//! The page against documents made by hand.

use serde_json::json;

use super::*;

#[test]
fn operations_are_shown_with_their_shapes() {
    let document = json!({
        "info": {"title": "T", "version": "1", "description": "Say `this`.\n\nThen that."},
        "tags": [{"name": "some things", "description": "about"}],
        "paths": {"/api/x/{id}": {"post": {"tags": ["some things"], "summary": "Does it", "parameters":
            [{"name": "id", "in": "path", "required": true, "description": "which"}],
            "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/X"}}}},
            "responses": {"201": {"description": "made"}}}}},
        "components": {"schemas": {"X": {"type": "object", "required": ["a"], "properties": {
            "a": {"type": "string", "description": "a name"},
            "b": {"type": "array", "items": {"$ref": "#/components/schemas/X"}},
            "c": {"oneOf": [{"type": "null"}, {"type": "integer"}]}}}}}
    });
    let page = render(&document);
    for wanted in [
        "<p>Say <code>this</code>.</p>",
        "<h2 id=\"some-things\">some things</h2>",
        "<b class=\"post\">POST</b> <code>/api/x/{id}</code> <span>Does it</span>",
        "<td><code>id</code></td><td>path</td><td>required</td><td>which</td>",
        "&quot;a&quot;: string,  // a name",
        "&quot;c&quot;?: null | integer,",
        "<code>201</code> made",
    ] {
        assert!(page.contains(wanted), "{wanted} is not in {page}");
    }
}

#[test]
fn nothing_in_the_document_becomes_markup() {
    let evil = "<script>alert(1)</script>\"";
    let document = json!({
        "info": {"title": evil, "version": evil, "description": evil},
        "tags": [{"name": "t", "description": evil}],
        "paths": {evil: {"get": {"tags": ["t"], "summary": evil, "description": evil,
            "responses": {evil: {"description": evil, "content": {"application/json": {"example": evil, "schema":
                {"properties": {evil: {"type": evil, "description": evil}}}}}}}}}}
    });
    let page = render(&document);
    assert!(!page.contains("<script"), "{page}");
    assert!(!page.contains("alert(1)</script>"), "{page}");
}

//! The documents, as anybody gets them.

use serde_json::Value;

use crate::scene::Scene;

#[tokio::test]
async fn documents_need_no_token_and_load_nothing_from_elsewhere() {
    let scene = Scene::start().await;
    let document = scene.call("GET /api/openapi.json", "", Value::Null, &[]).await;
    assert_eq!(document.header("content-type"), "application/json");
    assert!(document.expect(200)["paths"]["/api/servers/register"]["post"].is_object());
    let page = scene.call("GET /api/docs", "", Value::Null, &[]).await;
    assert!(page.header("content-security-policy").starts_with("default-src 'none'"));
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    let html = page.expect(200);
    let html = html.as_str().unwrap();
    for wanted in
        ["<code>/api/virtual-servers/{slug}/preview</code>", "&quot;tool_mappings&quot;", "Issues a token"]
    {
        assert!(html.contains(wanted), "{wanted} is not on the page");
    }
    assert!(!html.contains("<script") && !html.contains("http://") && !html.contains("https://"));
    let style = scene.call("GET /api/docs/docs.css", "", Value::Null, &[]).await;
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    style.expect(200);
}

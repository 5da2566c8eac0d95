use std::sync::Arc;

use serde_json::json;
use testkit::{LegacyBackend, ModernBackend};

use super::*;
use crate::stub::{Stub, backends, endpoint};

const NOW: Timestamp = Timestamp(1_000);

fn names(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| &*item.name).collect()
}

#[tokio::test]
async fn both_eras_are_read_to_the_last_page() {
    let tools: Vec<String> = (0..7).map(|n| format!("tool_{n}")).collect();
    let legacy = LegacyBackend::start("old")
        .tools(tools.iter().map(String::as_str))
        .prompt("review")
        .resource("file:///a")
        .template("file:///{x}")
        .version("1.4.0")
        .await;
    let modern = ModernBackend::start("new")
        .tools(tools.iter().map(String::as_str))
        .prompt("review")
        .resource("file:///a")
        .template("file:///{x}")
        .version("1.4.0")
        .await;
    legacy.page_size(2);
    modern.page_size(2);
    for (url, era, revision) in
        [(legacy.url(), Era::Legacy, "2025-11-25"), (modern.url(), Era::Modern, "2026-07-28")]
    {
        let read = backends().inventory(&endpoint(&url), None, NOW).await.unwrap();
        assert_eq!((read.era, read.protocol_version.as_str(), read.read_at), (era, revision, NOW));
        assert_eq!(names(&read.tools), tools);
        assert_eq!(names(&read.prompts), ["review"]);
        assert_eq!(names(&read.resources), ["file:///a"]);
        assert_eq!(names(&read.templates), ["file:///{x}"]);
        assert_eq!(read.reported.version.as_deref(), Some("1.4.0"));
        assert!(read.tools[0].json.starts_with('{') && read.tools[0].json.contains("inputSchema"));
    }
    assert!(legacy.sessions().is_empty(), "its session was ended");
    assert_eq!((legacy.asked("tools/list").len(), modern.asked("tools/list").len()), (4, 4));
}

#[tokio::test]
async fn only_lists_that_are_offered_are_asked_for() {
    let legacy = LegacyBackend::start("old").tool("a").prompt("p").capabilities(json!({ "tools": {} })).await;
    let read = backends().inventory(&endpoint(&legacy.url()), None, NOW).await.unwrap();
    assert_eq!((read.tools.len(), read.prompts.len()), (1, 0));
    assert!(legacy.asked("prompts/list").is_empty() && legacy.asked("resources/list").is_empty());
}

#[tokio::test]
async fn a_pager_without_end_is_left() {
    let legacy = LegacyBackend::start("old").tools(["a", "b", "c"]).await;
    legacy.page_size(1);
    legacy.loop_cursors(true);
    let error = backends().inventory(&endpoint(&legacy.url()), None, NOW).await.unwrap_err();
    assert!(error.to_string().contains("names the same next page twice"), "{error}");
    assert!(legacy.sessions().is_empty(), "its session was ended all the same");
}

/// A backend of the older era whose lists are made by a function of the method and the count of requests.
async fn read(page: impl Fn(&str, usize) -> String + Send + Sync + 'static) -> Result<Inventory, Error> {
    let page = Arc::new(page);
    let stub = Stub::start(move |mut wire| {
        let page = page.clone();
        async move {
            let mut asked = 0;
            while let Some(said) = wire.request().await {
                let method = said.body.split("\"method\":\"").nth(1).unwrap_or("").split('"').next().unwrap().to_owned();
                let result = match method.as_str() {
                    "initialize" => r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}}}"#.into(),
                    _ if method.ends_with("/list") => {
                        asked += 1;
                        page(&method, asked)
                    }
                    _ => r#""error":{"code":-32601,"message":"Method not found"}"#.into(),
                };
                let id = said.body.split("\"id\":").nth(1).unwrap_or("0").split(',').next().unwrap().to_owned();
                wire.say(&crate::stub::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},{result}}}"#))).await;
            }
        }
    })
    .await;
    backends().inventory(&stub.endpoint(), None, NOW).await
}

#[tokio::test]
async fn items_are_kept_as_written_and_the_first_of_a_name_wins() {
    let tools = r#""result":{"tools":[{"title":"no name"},{ "name" : "caf\u00e9", "x":1.50 },{"name":"b"},{"name":7},"text",{"name":"b","second":true}],"nextCursor":""}"#;
    let read = read(move |method, _| match method {
        "tools/list" => tools.into(),
        "resources/list" => r#""error":{"code":-32603,"message":"broken"}"#.into(),
        _ => r#""error":{"code":-32601,"message":"Method not found"}"#.into(),
    })
    .await
    .unwrap();
    let kept: Vec<_> = read.tools.iter().map(|item| (&*item.name, &*item.json)).collect();
    assert_eq!(kept, [("café", r#"{ "name" : "caf\u00e9", "x":1.50 }"#), ("b", r#"{"name":"b"}"#)]);
    assert!(read.resources.is_empty() && read.templates.is_empty());
    assert_eq!((&*read.server_info, read.reported.version), ("{}", None));
}

#[tokio::test]
async fn hostile_pagers_meet_a_limit() {
    let endless = read(|_, n| format!(r#""result":{{"tools":[],"nextCursor":"{n}"}}"#)).await;
    assert!(matches!(endless, Err(Error::TooLarge { .. })), "{endless:?}");
    let many = (0..9_000).map(|n| format!(r#"{{"name":"{n}"}}"#)).collect::<Vec<_>>().join(",");
    let crowded = read(move |_, n| format!(r#""result":{{"tools":[{many}],"nextCursor":"{n}"}}"#)).await;
    assert!(matches!(crowded, Err(Error::TooLarge { .. })), "{crowded:?}");
    let huge = format!(r#""result":{{"tools":[{{"name":"{}"}}]}}"#, "x".repeat(9 << 20));
    let huge = read(move |_, _| huge.clone()).await;
    assert!(matches!(huge, Err(Error::TooLarge { .. })), "{huge:?}");
}

#[test]
fn a_next_page_that_cannot_be_asked_for_is_no_end() {
    let add = |cursor: &str| {
        let page = format!(r#"{{"tools":[{{"name":"a"}}],"nextCursor":{cursor}}}"#);
        Pages::new(ListKind::Tools).add(&page.into())
    };
    for cursor in ["7", "{}", "[\"x\"]", "true"] {
        let error = add(cursor).unwrap_err().to_string();
        assert!(error.contains("names a next page that is no string"), "{cursor}: {error}");
    }
    assert_eq!(add("null").unwrap(), None);
    assert_eq!(add("\"x\"").unwrap().unwrap(), "\"x\"");
}

#[tokio::test]
async fn tools_that_cannot_be_read_fail_the_whole() {
    for page in
        [r#""result":{"tools":{}}"#, r#""result":{}"#, r#""error":{"code":-32603,"message":"broken"}"#]
    {
        assert!(read(move |_, _| page.into()).await.is_err(), "{page}");
    }
}

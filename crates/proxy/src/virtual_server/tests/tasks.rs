//! Lists of tasks that are longer than a page of ours.

use tokio::io::AsyncWriteExt;

use super::*;
use crate::opaque::Place;
use crate::stage::{Scripted, json_answer};

/// A backend whose list of tasks is one task that fills more than half of a page of ours.
async fn wordy() -> Scripted {
    Scripted::start(|request, mut stream| async move {
        let body = request.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({ "protocolVersion": "2025-11-25", "capabilities": {},
                "serverInfo": { "name": "wordy", "version": "1" } }),
            _ => json!({ "tasks": [{ "taskId": "t", "statusMessage": "x".repeat(2200 << 10) }] }),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        stream.write_all(json_answer(200, "", &answer.to_string()).as_bytes()).await.ok()?;
        Some(stream)
    })
    .await
}

#[tokio::test]
async fn a_page_that_has_no_room_comes_with_the_next() {
    let backends = [wordy().await, wordy().await];
    let [a, b] = backends.each_ref().map(|one| one.url.clone());
    let servers = [("/a", a, "one"), ("/b", b, "two")];
    let offered = servers.each_ref().map(|(_, _, tool)| [*tool]);
    let rows: Vec<_> = servers
        .iter()
        .zip(&offered)
        .map(|((path, url, _), tools)| (*path, &**url, Era::Legacy, &tools[..]))
        .collect();
    let mut world = World::new(&rows);
    world.change(|catalog| {
        for inventory in Arc::make_mut(&mut catalog.inventories).values_mut() {
            Arc::make_mut(inventory).capabilities = r#"{"tools":{},"tasks":{"list":{}}}"#.into();
        }
    });
    let (session, _) = world.initialize("2025-11-25").await;
    let (target, ann) = (world.target(), caller("ann"));
    let begun = |version| {
        let place = Place { endpoint: Some(&target.binding), tool: "" };
        world.plane.shared.opaque.begun_task(place, version, b"\"t\"", &ann).to_string()
    };
    let expected: Vec<String> = target.backends.iter().map(|version| begun(version)).collect();
    let (mut listed, mut params) = (Vec::new(), json!({}));
    for page in 1..=2 {
        let answer = world.send(Some(&session), &request("tasks/list", params)).await.unwrap().2;
        let mut result = answer["result"].clone();
        assert_eq!(result["tasks"].as_array().unwrap().len(), 1, "page {page}");
        listed.push(result["tasks"][0]["taskId"].as_str().unwrap().to_owned());
        assert_eq!(result["nextCursor"].is_string(), page < 2);
        params = json!({ "cursor": result["nextCursor"].take() });
    }
    assert_eq!(listed, expected);
}

//! The audit trail over the wire: where a deed came from, and what a crash leaves of the trail.

use serde_json::{Value, json};

use crate::app::App;

#[tokio::test]
async fn an_answered_write_is_on_the_trail_even_after_a_crash() {
    let mut app = App::start().await;
    app.admin().send("POST /api/groups", json!({ "name": "staff" })).await.expect(201);
    app.crash().await;
    let trail = app.admin().get("/api/audit?action=group").await.expect(200);
    let entry = &trail["entries"][0];
    let told = ["actor", "action", "object", "outcome", "source"].map(|name| entry[name].as_str().unwrap());
    assert_eq!(told, ["admin", "group.create", "staff", "ok", "127.0.0.1"]);
    assert_eq!(trail["total_count"], 1);
    app.anonymous().get("/api/audit").await.expect(401);
    app.anonymous().send("DELETE /api/groups/staff", Value::Null).await.expect(401);
}

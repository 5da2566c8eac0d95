//! The answers a newcomer sees.

use super::*;

fn count(answer: &Value) -> u64 {
    answer["total_count"].as_u64().unwrap()
}

#[test]
fn searches_find_by_any_word_in_any_case() {
    assert_eq!(count(&search_code(&json!({ "query": "Bug FIXES" }))), 3);
    assert_eq!(count(&search_code(&json!({ "query": "bug", "repo": "acme/search" }))), 1);
    assert_eq!(count(&search_code(&json!({ "query": "zebra" }))), 0);
    assert_eq!(count(&search_issues(&json!({ "query": "certificates" }))), 1);
    assert_eq!(count(&search_issues(&json!({ "jql": "SHOP-103" }))), 1);
    assert_eq!(count(&resolve_library(&json!({ "libraryName": "react" }))), 1);
    assert_eq!(count(&search_docs(&json!({ "query": "timeout" }))), 1);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let [one, two] =
        [(), ()].map(|()| create_issue(&json!({ "project": "SHOP", "summary": "More coupons" })));
    assert_eq!(one, two);
    assert!(one["key"].as_str().unwrap().starts_with("SHOP-"));
    let message = json!({ "channel": "#dev-tools", "text": "Hello" });
    assert_eq!(send_message(&message), send_message(&message));
    assert_eq!(send_message(&message)["ok"], true);
    assert_eq!(send_message(&json!({ "channel": "nowhere" }))["error"], "channel_not_found");
}

#[test]
fn documentation_is_found_by_id_and_topic() {
    let docs = |topic: &str| {
        library_docs(&json!({ "context7CompatibleLibraryID": "/tokio-rs/tokio", "topic": topic }))
    };
    assert!(docs("timeouts").as_str().unwrap().contains("tokio::time::timeout"));
    assert!(docs("").as_str().unwrap().contains("runtime"));
    assert!(docs("gardening").as_str().unwrap().starts_with("Nothing is known"));
}

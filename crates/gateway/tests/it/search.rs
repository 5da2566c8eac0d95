//! Finding things, with and without a model.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::LegacyBackend;

use crate::app::{App, PATIENCE};

/// Returns the model that `make peers` installs; on a build machine it must be there.
fn model() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers");
    let folder = std::env::var_os("PEERS_DIR").map_or_else(beside, PathBuf::from).join("model");
    if folder.join("model.onnx").exists() {
        return Some(std::path::absolute(folder).unwrap());
    }
    let complaint = format!("no model in {}: run `make peers`, which installs it", folder.display());
    assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{complaint}");
    eprintln!("SKIPPED, nothing was tested: {complaint}");
    None
}

impl App {
    async fn search(&self, query: &str) -> Value {
        let body = json!({ "query": query });
        self.admin().send("POST /api/search/semantic", body).await.expect(200)
    }

    /// Searches until everything is known by its meaning.
    async fn search_settled(&self, query: &str) -> Value {
        let begun = Instant::now();
        loop {
            let found = self.search(query).await;
            if found["search_mode"] == "hybrid" {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "{found}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn first(found: &Value) -> (&str, &str) {
    let name = |list: &str, field: &str| found[list][0][field].as_str().unwrap_or_default();
    (name("servers", "path"), name("tools", "tool_name"))
}

#[tokio::test]
async fn a_real_model_finds_what_no_word_tells() {
    let Some(model) = model() else { return };
    let mut app = App::configured(&format!("[search]\nmodel_dir = {model:?}")).await;
    let one = LegacyBackend::start("one").tool("weather_forecast").version("1").await;
    let two = LegacyBackend::start("two").tool("send_invoice").version("1").await;
    app.serve_version("/sky", "v1.0.0", &one.url()).await;
    app.serve_version("/money", "v1.0.0", &two.url()).await;
    let found = app.search_settled("do I need an umbrella tomorrow").await;
    assert_eq!(first(&found), ("/sky", "weather_forecast"));
    assert_eq!(first(&app.search_settled("bill a customer").await), ("/money", "send_invoice"));

    // A switch is found at once, the old version never again.
    app.serve_version("/sky", "v2.0.0", &two.url()).await;
    let switch = json!({ "version": "v2.0.0" });
    app.admin().send("PUT /api/servers/sky/versions/default", switch).await.expect(200);
    let begun = Instant::now();
    let found = app.search_settled("weather forecast").await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let tools = found["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["tool_name"] != "weather_forecast"), "{found}");

    app.restart().await;
    assert_eq!(first(&app.search_settled("bill a customer").await).1, "send_invoice");
    assert!(app.log().contains("searching by meaning"), "{}", app.log());
}

#[tokio::test]
async fn without_a_model_words_answer_and_say_so() {
    for toml in ["", "[search]\nembedder = \"off\"", "[search]\nmodel_dir = \".\""] {
        let app = App::configured(toml).await;
        let backend = LegacyBackend::start("one").tool("weather_forecast").version("1").await;
        app.serve_version("/sky", "v1.0.0", &backend.url()).await;
        let found = app.search("forecasts").await;
        assert_eq!(
            (&found["search_mode"], first(&found).1),
            (&json!("keyword"), "weather_forecast"),
            "{toml}"
        );
    }
}

#[tokio::test]
async fn an_endpoint_that_is_away_costs_nothing_but_its_vectors() {
    let app = App::configured(
        "[search]\nembedder = \"endpoint\"\nendpoint_url = \"http://127.0.0.1:9/v1/embeddings\"\nendpoint_key = \"secret-key\"",
    )
    .await;
    let backend = LegacyBackend::start("one").tool("weather_forecast").version("1").await;
    app.serve_version("/sky", "v1.0.0", &backend.url()).await;
    let found = app.search("forecast").await;
    assert_eq!((&found["search_mode"], first(&found).1), (&json!("keyword"), "weather_forecast"));
    assert!(!app.log().contains("secret-key"));
}

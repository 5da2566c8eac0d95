//! Search by meaning through the router, with a model that a page explains.

use std::sync::Mutex;

use search::embed::Error;
use serde_json::{Value, json};
use testkit::LegacyBackend;

use super::*;
use crate::scene::Scene;

/// A model that knows three subjects by their words, and counts what it is asked.
#[derive(Default)]
struct Subjects {
    asked: Mutex<Vec<String>>,
    is_down: AtomicBool,
}

impl Embedder for Subjects {
    fn model(&self) -> &str {
        "subjects"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        if self.is_down.load(Ordering::Acquire) {
            return Err(Error::Unreachable("it is down".into()));
        }
        if texts.iter().any(|text| text.contains("poison")) {
            return Err(Error::Failed("it chokes".into()));
        }
        const SUBJECTS: [&[&str]; 3] =
            [&["rain", "forecast", "umbrella"], &["money", "invoice"], &["music", "song"]];
        self.asked.lock().unwrap().extend(texts.iter().map(ToString::to_string));
        let vector = |text: &&str| -> Vec<f32> {
            let has = |words: &&[&str]| words.iter().any(|word| text.to_lowercase().contains(word));
            let subjects = SUBJECTS.iter().map(|words| if has(words) { 1.0 } else { 0.0 });
            // Whatever is about nothing is near nothing.
            subjects.chain([0.01]).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

impl Subjects {
    fn asked(&self, text: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| asked.contains(text)).count()
    }
}

async fn search(scene: &Scene, query: &str) -> Value {
    scene.reader("POST /api/search/semantic", json!({ "query": query })).await.expect(200)
}

fn paths(found: &Value) -> Vec<&str> {
    found["servers"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect()
}

/// Searches until the whole index is known by its meaning.
async fn settled(scene: &Scene, query: &str) -> Value {
    loop {
        let found = search(scene, query).await;
        if found["search_mode"] == "hybrid" {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn register(scene: &Scene, path: &str, description: &str, url: &str) {
    scene.register(path, url).await;
    let edit = json!({ "description": description });
    scene.admin(&format!("PATCH /api/servers{path}"), edit).await.expect(200);
}

#[tokio::test]
async fn what_shares_no_word_is_found_by_its_meaning() {
    let scene = Scene::start().await;
    let weather = LegacyBackend::start("a").tool("forecast").await;
    let books = LegacyBackend::start("b").tool("send_invoice").await;
    register(&scene, "/sky", "Will it rain?", &weather.url()).await;
    register(&scene, "/books", "Keeps accounts", &books.url()).await;
    let found = search(&scene, "umbrella").await;
    assert_eq!((&found["search_mode"], paths(&found)), (&json!("keyword"), vec![]));

    let model = Arc::new(Subjects::default());
    scene.registry.embed_with(model.clone(), None).unwrap();
    let found = settled(&scene, "umbrella").await;
    assert_eq!(paths(&found), ["/sky"]);
    assert_eq!(found["tools"][0]["tool_name"], "forecast");
    assert_eq!((&found["total_servers"], &found["total_tools"]), (&json!(1), &json!(1)));
    let score = found["servers"][0]["relevance_score"].as_f64().unwrap();
    assert!(score > 0.5 && score < 1.0, "{score}");
    // By what its tool does, though it says nothing of it itself.
    let found = settled(&scene, "money").await;
    assert_eq!(paths(&found), ["/books"]);
    assert_eq!(found["servers"][0]["matching_tools"][0]["tool_name"], "send_invoice");
    // The same query is not asked twice.
    assert_eq!(model.asked("umbrella"), 1);
    assert_eq!(paths(&settled(&scene, "#none umbrella").await), [""; 0]);
}

#[tokio::test]
async fn a_switch_is_found_at_once_and_unchanged_text_is_not_asked_for_again() {
    let scene = Scene::start().await;
    let file = scene.directory.path().join("vectors");
    let one = LegacyBackend::start("one").tool("song").await;
    let two = LegacyBackend::start("two").tool("invoice").await;
    scene.register("/it", &one.url()).await;
    scene.add_version("/it", "v2", &two.url()).await;
    let model = Arc::new(Subjects::default());
    scene.registry.embed_with(model.clone(), Some(file.clone())).unwrap();
    let tools = |found: &Value| -> Vec<String> {
        let tools = found["tools"].as_array().unwrap().iter();
        tools.map(|one| one["tool_name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(tools(&settled(&scene, "music").await), ["song"]);
    for (label, asked, finds) in [("v2", "money", "invoice"), ("v1.0.0", "music", "song")] {
        let begun = std::time::Instant::now();
        scene.admin("PUT /api/servers/it/versions/default", json!({ "version": label })).await.expect(200);
        assert_eq!(tools(&settled(&scene, asked).await), [finds]);
        assert!(begun.elapsed() < Duration::from_secs(1));
    }
    assert_eq!(tools(&settled(&scene, "money").await), [""; 0]);
    assert_eq!((model.asked("song"), model.asked("invoice")), (1, 1));

    // A registry that starts afresh begins with what the file keeps.
    let again = scene.restart().await;
    let model = Arc::new(Subjects::default());
    again.registry.embed_with(model.clone(), Some(file)).unwrap();
    assert_eq!(tools(&settled(&again, "music").await), ["song"]);
    assert_eq!(model.asked("song"), 0);
}

#[tokio::test]
async fn without_the_model_words_answer_and_say_so() {
    let scene = Scene::start().await;
    let backend = LegacyBackend::start("a").tool("forecast").await;
    register(&scene, "/sky", "Will it rain?", &backend.url()).await;
    register(&scene, "/poison", "poison", &backend.url()).await;
    let model = Arc::new(Subjects::default());
    scene.registry.embed_with(model.clone(), None).unwrap();
    // What the model chokes on costs nothing but its own vector.
    let found = settled(&scene, "rain").await;
    assert_eq!(paths(&found)[0], "/sky");
    assert_eq!(paths(&settled(&scene, "forecast").await).len(), 2, "both have the tool");
    let found = search(&scene, "poison").await;
    assert_eq!((&found["search_mode"], paths(&found)), (&json!("keyword"), vec!["/poison"]));
    model.is_down.store(true, Ordering::Release);
    let found = search(&scene, "umbrella").await;
    assert_eq!((&found["search_mode"], paths(&found)), (&json!("keyword"), vec![]));
    assert_eq!(paths(&settled(&scene, "rain").await)[0], "/sky", "known queries need no model");
}

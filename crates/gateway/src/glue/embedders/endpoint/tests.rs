//! A stub that answers as OpenAI's endpoint does, and one that does not.

use axum::Json;
use axum::Router;
use axum::routing::post;
use catalog::endpoint::{AddressRule, Secret};
use serde_json::{Value, json};
use url::Url;

use super::*;

async fn endpoint(key: &str) -> Arc<Endpoint> {
    let answer = |headers: HeaderMap, Json(question): Json<Value>| async move {
        if headers.get(AUTHORIZATION).is_none_or(|value| value != "Bearer right") {
            return Err(StatusCode::UNAUTHORIZED);
        }
        assert_eq!(question["model"], "small");
        let input = question["input"].as_array().unwrap();
        if input.iter().any(|text| text == "poison") {
            return Err(StatusCode::BAD_REQUEST);
        }
        let each = input.iter().enumerate();
        let one = |(index, text): (usize, &Value)| json!({ "index": index, "embedding": [text.as_str().unwrap().len(), 1] });
        // In any order.
        Ok(Json(json!({ "data": each.map(one).rev().collect::<Vec<_>>() })))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/embeddings", listener.local_addr().unwrap());
    tokio::spawn(
        async move { axum::serve(listener, Router::new().route("/v1/embeddings", post(answer))).await },
    );
    let settings = backend::Settings::new(&[], AddressRule { allow_private: true }).unwrap();
    let key = Some(Secret::new(key.to_owned()));
    let given = EmbeddingEndpoint { url: Url::parse(&url).unwrap(), model: "small".into(), key };
    Arc::new(Endpoint::new(given, Arc::new(Fetcher::new(&settings))))
}

async fn embed(endpoint: &Arc<Endpoint>, texts: &'static [&'static str]) -> Result<Vec<Vec<f32>>, Error> {
    let endpoint = endpoint.clone();
    tokio::task::spawn_blocking(move || endpoint.embed(texts)).await.unwrap()
}

#[tokio::test]
async fn vectors_come_in_the_order_of_the_texts() {
    let endpoint = endpoint("right").await;
    assert_eq!(embed(&endpoint, &["a", "abc"]).await.unwrap(), [[1.0, 1.0], [3.0, 1.0]]);
    assert!(matches!(embed(&endpoint, &["a", "poison"]).await, Err(Error::Failed(_))));
    assert!(endpoint.model().ends_with("/v1/embeddings small"));
}

#[tokio::test]
async fn what_is_not_about_the_texts_is_tried_again() {
    let endpoint = endpoint("wrong").await;
    let error = embed(&endpoint, &["a"]).await.unwrap_err();
    assert!(matches!(&error, Error::Unreachable(reason) if reason.contains("401")), "{error}");
    assert!(!error.to_string().contains("wrong"));
    assert!(vectors(b"{}", 1).is_err());
    assert!(vectors(br#"{"data":[]}"#, 1).is_err());
    assert!(vectors(br#"{"data":[{"index":1,"embedding":[1]}]}"#, 1).is_err());
}

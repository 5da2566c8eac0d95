//! What holds for any schema and any arguments.

use http::HeaderMap;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::param::{check, headers, marks};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[ \t\r\nA=?]{0,6}".prop_map(Value::from),
        Just(json!("=?base64?QQ==?=")),
    ]
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        _ => "string",
    }
}

/// Marked arguments beside unmarked ones, some of them one object further inside.
fn call() -> impl Strategy<Value = (Value, Value)> {
    let one = ("[a-z\"é]{1,4}", scalar(), any::<bool>(), any::<bool>());
    prop::collection::vec(one, 0..8).prop_map(|rows| {
        let (mut outer, mut inner) = (Map::new(), Map::new());
        let (mut outer_schema, mut inner_schema) = (Map::new(), Map::new());
        for (at, (name, value, is_inner, is_marked)) in rows.into_iter().enumerate() {
            let mut schema = json!({ "type": kind(&value) });
            if is_marked {
                schema["x-mcp-header"] = json!(format!("H{at}"));
            }
            let (arguments, properties) =
                if is_inner { (&mut inner, &mut inner_schema) } else { (&mut outer, &mut outer_schema) };
            arguments.insert(name.clone(), value);
            properties.insert(name, schema);
        }
        outer.insert("in.side".into(), Value::Object(inner));
        outer_schema.insert("in.side".into(), json!({ "type": "object", "properties": inner_schema }));
        (json!({ "type": "object", "properties": outer_schema }), Value::Object(outer))
    })
}

proptest! {
    #[test]
    fn headers_made_of_arguments_agree_with_them((schema, arguments) in call()) {
        let (schema, arguments) = (schema.to_string(), arguments.to_string());
        let marks = marks(schema.as_bytes()).expect("fit marks");
        let mut made = HeaderMap::new();
        for (name, value) in headers(&marks, Some(arguments.as_bytes())) {
            prop_assert!(value.to_str().is_ok_and(|text| text.trim() == text), "{:?}", value);
            made.insert(name, value);
        }
        prop_assert_eq!(check(&marks, Some(arguments.as_bytes()), &made), Ok(()));
        // Each of them is needed.
        for name in made.keys() {
            let mut fewer = made.clone();
            fewer.remove(name);
            prop_assert!(check(&marks, Some(arguments.as_bytes()), &fewer).is_err());
        }
    }

    #[test]
    fn numbers_agree_with_other_spellings(number in -1_000_000_000_i64..1_000_000_000, zeros in 0_usize..4) {
        let schema = br#"{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}"#;
        let marks = marks(schema).expect("fit marks");
        let arguments = format!(r#"{{"n":{number}}}"#);
        for (spelling, agrees) in [
            (format!("{number}.{}", "0".repeat(zeros + 1)), true),
            (format!("{number}{}e-{zeros}", "0".repeat(zeros)), number != 0 || zeros == 0),
            (format!("{}", number + 1), false),
        ] {
            let mut sent = HeaderMap::new();
            sent.insert("mcp-param-n", spelling.parse().expect("ascii"));
            prop_assert_eq!(check(&marks, Some(arguments.as_bytes()), &sent).is_ok(), agrees, "{}", spelling);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(schema in ".{0,64}", tail in "[\\[\\]{}\":,a-z]{0,64}") {
        for text in [schema.clone(), format!("{{\"x-mcp-header\":{tail}"), format!("{{\"properties\":{schema}")] {
            let _ = marks(text.as_bytes());
        }
    }
}

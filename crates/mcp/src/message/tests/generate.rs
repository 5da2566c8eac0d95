//! Makes messages that are JSON and often, not always, valid.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A JSON text: scalars of all kinds and shallow nesting, with white space.
pub(crate) fn json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        select(vec!["null", "true", "false", "0", "-1.5e3", "12345678901234567890", "{}", "[]"])
            .prop_map(str::to_owned),
        string(),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(" ,"))),
            vec((string(), inner), 0..4).prop_map(|members| object(&members)),
        ]
    })
}

/// A JSON string, some of its characters escaped though they need not be.
pub(crate) fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec!["", "name", "ping", "tools/call", "a\\b", "\"", "é😀", "{[", "\u{0}"])
            .prop_map(str::to_owned),
        any::<String>()
    ]
    .prop_flat_map(|text| (Just(text), any::<u8>()))
    .prop_map(|(text, escaped)| spelled(&text, escaped))
}

/// A message with members in any order, each at most once, most of the required ones there.
pub(crate) fn message() -> impl Strategy<Value = String> {
    let id = prop_oneof![4 => Just("1".to_owned()), 1 => json()];
    let method = prop_oneof![Just(r#""tools/call""#.to_owned()), Just(r#""pin\u0067""#.to_owned()), json()];
    let fields = vec![
        member("jsonrpc", 19, prop_oneof![9 => Just(r#""2.0""#.to_owned()), 1 => json()].boxed()),
        member("id", 15, id.boxed()),
        member("method", 14, method.boxed()),
        member("params", 14, prop_oneof![9 => params().boxed(), 1 => json().boxed()].boxed()),
        member("result", 4, json().boxed()),
        member("error", 4, json().boxed()),
        member("extra", 5, json().boxed()),
    ];
    shuffled(fields)
}

fn params() -> impl Strategy<Value = String> {
    let keys = ["name", "uri", "taskId", "cursor", "_meta", "requestState", "arguments", "nam"];
    shuffled(keys.map(|key| member(key, 8, prop_oneof![string().boxed(), json().boxed()].boxed())).to_vec())
}

type Member = BoxedStrategy<Option<(String, String)>>;

/// A member that is there in `often` of twenty cases.
fn member(key: &'static str, often: u32, value: BoxedStrategy<String>) -> Member {
    let escaped = prop_oneof![3 => Just(0_u8), 1 => any::<u8>()];
    let there = (escaped, value).prop_map(move |(escaped, value)| Some((spelled(key, escaped), value)));
    prop_oneof![often => there, 20 - often => Just(None)].boxed()
}

fn shuffled(members: Vec<Member>) -> impl Strategy<Value = String> {
    members
        .prop_map(|members| members.into_iter().flatten().collect::<Vec<_>>())
        .prop_shuffle()
        .prop_map(|members| object(&members))
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(key, value)| format!(" {key}\n: {value}\t")).collect();
    format!("{{{}}}", members.join(","))
}

/// Spells `text` as a JSON string; bit n of `escaped` escapes each character n, n + 8, … as `\u`.
fn spelled(text: &str, escaped: u8) -> String {
    let mut out = String::from("\"");
    for (place, character) in text.chars().enumerate() {
        if escaped >> (place % 8) & 1 == 1 {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            let quoted = serde_json::to_string(&character).expect("a character has a spelling");
            out.push_str(&quoted[1..quoted.len() - 1]);
        }
    }
    out.push('"');
    out
}

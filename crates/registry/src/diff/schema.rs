//! Whether one JSON Schema still does for those who were made for another.

mod words;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use words::{alternatives, constraints, covers, kind, members, required, resolved, spelled, types};

/// Deepest nesting that is compared; recursive schemas repeat themselves long before.
const MAX_DEPTH: usize = 24;
/// Most pairs of schemas compared for one tool: alternatives multiply, and a backend may mean harm.
const MAX_STEPS: usize = 20_000;

/// Words that describe and do not constrain.
const ANNOTATIONS: [&str; 14] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
];
/// Words that are compared one by one below.
const COMPARED: [&str; 9] =
    ["type", "enum", "const", "properties", "required", "items", "additionalProperties", "anyOf", "oneOf"];
/// Lower bounds: a greater number is stricter.
const LOWER: [&str; 5] = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
/// Upper bounds: a smaller number is stricter.
const UPPER: [&str; 5] = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];

/// Which way values flow through a schema, which decides what is a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Callers send them: accepting less breaks.
    Input,
    /// Callers receive them: promising less breaks.
    Output,
}

/// What was found, each as a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// What may make a caller fail.
    pub(super) breaking: Vec<String>,
    /// What only reads differently.
    pub(super) harmless: Vec<String>,
}

/// Compares two schemas and adds what it finds.
pub(super) fn compare(old: &Value, new: &Value, side: Side, found: &mut Findings) {
    let found_here = Findings::default();
    let mut walk = Walk { side, old_root: old, new_root: new, steps: 0, open: Vec::new(), found: found_here };
    walk.pair("", old, new, 0);
    if walk.steps >= MAX_STEPS {
        walk.found.breaking = vec![format!("{}: its schemas are too large to compare", side.word())];
    }
    found.breaking.append(&mut walk.found.breaking);
    found.harmless.append(&mut walk.found.harmless);
}

impl Side {
    fn word(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

struct Walk<'a> {
    side: Side,
    old_root: &'a Value,
    new_root: &'a Value,
    steps: usize,
    /// Pairs being compared further up: a recursive schema meets itself again.
    open: Vec<(&'a Value, &'a Value)>,
    found: Findings,
}

impl<'a> Walk<'a> {
    fn pair(&mut self, at: &str, old: &'a Value, new: &'a Value, depth: usize) {
        self.steps += 1;
        if self.steps >= MAX_STEPS || depth > MAX_DEPTH {
            return;
        }
        let (old, new) = (resolved(old, self.old_root), resolved(new, self.new_root));
        if self.is_same(old, new)
            || self.open.iter().any(|(a, b)| std::ptr::eq(*a, old) && std::ptr::eq(*b, new))
        {
            return;
        }
        self.open.push((old, new));
        self.schemas(at, old, new, depth);
        self.open.pop();
    }

    /// Equal text may still point at different definitions.
    fn is_same(&self, old: &Value, new: &Value) -> bool {
        let alike = |word: &str| self.old_root.get(word) == self.new_root.get(word);
        old == new && alike("$defs") && alike("definitions")
    }

    fn schemas(&mut self, at: &str, old: &'a Value, new: &'a Value, depth: usize) {
        let (Some(before), Some(after)) = (constraints(old), constraints(new)) else {
            if old != new {
                self.loss(at, "what it may be changed altogether".into());
            }
            return;
        };
        let (some, others) = (alternatives(before).is_some(), alternatives(after).is_some());
        if some || others {
            self.alternatives(at, old, new, depth);
        }
        if some != others {
            return;
        }
        self.types(at, before, after);
        self.values(at, before, after);
        self.properties(at, before, after, depth);
        self.bounds(at, before, after);
        if let (Some(one), Some(other)) = (before.get("items"), after.get("items")) {
            self.pair(&format!("{at}[]"), one, other, depth + 1);
        } else if before.contains_key("items") != after.contains_key("items") {
            let stricter = after.contains_key("items");
            self.strictness(at, stricter, "the rule for its items");
        }
        self.remaining(at, before, after);
    }

    fn types(&mut self, at: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let (before, after) = (types(old), types(new));
        if before == after {
            return;
        }
        let (from, to) = self.flow(&before, &after);
        let text = format!("its type changed from {} to {}", spelled(&before), spelled(&after));
        if covers(to, from) { self.remark(at, text) } else { self.loss(at, text) }
    }

    fn values(&mut self, at: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let list = |of: &Map<String, Value>| -> Option<Vec<String>> {
            let one = of.get("const").map(|value| vec![value.to_string()]);
            let many = || Some(of.get("enum")?.as_array()?.iter().map(Value::to_string).collect());
            one.or_else(many)
        };
        let (before, after) = (list(old), list(new));
        match (&before, &after) {
            (None, None) => {}
            (None, Some(only)) => {
                let text = format!("it is now limited to {}", only.join(", "));
                if self.side == Side::Input { self.loss(at, text) } else { self.remark(at, text) }
            }
            (Some(_), None) => {
                let text = "it is no longer limited to a list of values".to_owned();
                if self.side == Side::Output { self.loss(at, text) } else { self.remark(at, text) }
            }
            (Some(before), Some(after)) => {
                let gone: Vec<_> = before.iter().filter(|v| !after.contains(v)).cloned().collect();
                let come: Vec<_> = after.iter().filter(|v| !before.contains(v)).cloned().collect();
                if !gone.is_empty() {
                    let text = format!("it can no longer be {}", gone.join(", "));
                    if self.side == Side::Input { self.loss(at, text) } else { self.remark(at, text) }
                }
                if !come.is_empty() {
                    let text = format!("it can now also be {}", come.join(", "));
                    if self.side == Side::Output { self.loss(at, text) } else { self.remark(at, text) }
                }
            }
        }
    }

    fn properties(
        &mut self,
        at: &str,
        old: &'a Map<String, Value>,
        new: &'a Map<String, Value>,
        depth: usize,
    ) {
        let (before, after) = (members(old), members(new));
        let (needed, needs) = (required(old), required(new));
        let inner = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        for name in needs.difference(&needed) {
            let is_new = before.is_none_or(|members| !members.contains_key(*name));
            let text = if is_new { "it is new and required" } else { "it is now required" };
            match self.side {
                Side::Input => self.loss(&inner(name), text.into()),
                Side::Output => self.remark(&inner(name), "it is now always there".into()),
            }
        }
        let still_known = |name: &str| after.is_some_and(|members| members.contains_key(name));
        for name in needed.difference(&needs).filter(|name| still_known(name)) {
            match self.side {
                Side::Input => self.remark(&inner(name), "it is no longer required".into()),
                Side::Output => self.loss(&inner(name), "it may now be absent".into()),
            }
        }
        for (name, one) in before.into_iter().flatten() {
            match after.and_then(|members| members.get(name)) {
                Some(other) => self.pair(&inner(name), one, other, depth + 1),
                None => self.loss(&inner(name), "it is gone".into()),
            }
        }
        for name in after.into_iter().flatten().map(|(name, _)| name) {
            let is_new = before.is_none_or(|members| !members.contains_key(name));
            if is_new && !needs.contains(name.as_str()) {
                self.remark(&inner(name), "it is new and optional".into());
            }
        }
        self.additional(at, old, new, depth);
    }

    /// Other properties than those named. Refusing them breaks those who were told no names at all.
    fn additional(
        &mut self,
        at: &str,
        old: &'a Map<String, Value>,
        new: &'a Map<String, Value>,
        depth: usize,
    ) {
        let (before, after) = (old.get("additionalProperties"), new.get("additionalProperties"));
        if let (Some(one @ Value::Object(_)), Some(other @ Value::Object(_))) = (before, after) {
            return self.pair(&format!("{at}.*"), one, other, depth + 1);
        }
        let open = |value: Option<&Value>| value != Some(&Value::Bool(false));
        if open(before) && !open(after) {
            let text = "other properties are no longer allowed".to_owned();
            let nothing_named =
                members(old).is_none_or(Map::is_empty) || before.is_some_and(Value::is_object);
            if self.side == Side::Input && nothing_named {
                self.loss(at, text)
            } else {
                self.remark(at, text)
            }
        } else if !open(before) && open(after) {
            self.remark(at, "other properties are allowed now".into());
        } else if before.is_some_and(Value::is_object) != after.is_some_and(Value::is_object) {
            self.strictness(at, after.is_some_and(Value::is_object), "the rule for other properties");
        }
    }

    fn bounds(&mut self, at: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        for (words, lower) in [(LOWER, true), (UPPER, false)] {
            for word in words {
                let number = |of: &Map<String, Value>| of.get(word).and_then(Value::as_f64);
                let (before, after) = (number(old), number(new));
                let stricter = match (before, after) {
                    (Some(before), Some(after)) if before == after => continue,
                    (Some(before), Some(after)) => (after > before) == lower,
                    (None, Some(_)) => true,
                    (Some(_), None) => false,
                    (None, None) => continue,
                };
                let spell = |value: Option<f64>| value.map_or("none".to_owned(), |number| number.to_string());
                let text = format!("{word} changed from {} to {}", spell(before), spell(after));
                let breaks = stricter == (self.side == Side::Input);
                if breaks { self.loss(at, text) } else { self.remark(at, text) }
            }
        }
    }

    /// Each alternative that may be met must be allowed by one on the other side.
    fn alternatives(&mut self, at: &str, old: &'a Value, new: &'a Value, depth: usize) {
        let list = |of: &'a Value| -> Vec<&'a Value> {
            of.as_object().and_then(alternatives).map_or_else(|| vec![of], |list| list.iter().collect())
        };
        let (before, after) = (list(old), list(new));
        let (from, to) = self.flow(&before, &after);
        let mut lost = Vec::new();
        for one in from {
            let allowed = to.iter().any(|other| {
                let (old, new) = self.flow(one, other);
                let (old, new) = (*old, *new);
                let mut trial = Walk { found: Findings::default(), open: self.open.clone(), ..*self };
                trial.pair(at, old, new, depth + 1);
                self.steps = trial.steps;
                trial.found.breaking.is_empty()
            });
            if !allowed {
                lost.push(kind(one));
            }
        }
        if lost.is_empty() {
            if old != new {
                self.remark(at, "its alternatives changed".into());
            }
        } else if self.side == Side::Input {
            self.loss(at, format!("it no longer takes {}", lost.join(", ")));
        } else {
            self.loss(at, format!("it may now be {}", lost.join(", ")));
        }
    }

    /// Descriptions, and rules that are not understood: a change of those counts as breaking.
    fn remaining(&mut self, at: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for key in keys.into_iter().map(String::as_str) {
            let (before, after) = (old.get(key), new.get(key));
            let done = COMPARED.contains(&key) || LOWER.contains(&key) || UPPER.contains(&key);
            if before == after || done || matches!(key, "$defs" | "definitions") {
                continue;
            }
            if key == "default" {
                let spell = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
                self.remark(at, format!("its default changed from {} to {}", spell(before), spell(after)));
            } else if ANNOTATIONS.contains(&key) || key.starts_with("x-") {
                self.remark(at, format!("its {key} changed"));
            } else if after.is_none() && self.side == Side::Input {
                self.remark(at, format!("the rule `{key}` is gone"));
            } else {
                self.loss(at, format!("the rule `{key}` changed"));
            }
        }
    }

    /// Orders a pair so that every value the first allows has to be allowed by the second.
    fn flow<T>(&self, old: T, new: T) -> (T, T) {
        match self.side {
            Side::Input => (old, new),
            Side::Output => (new, old),
        }
    }

    fn strictness(&mut self, at: &str, stricter: bool, what: &str) {
        let text = format!("{what} is {}", if stricter { "new" } else { "gone" });
        if stricter == (self.side == Side::Input) { self.loss(at, text) } else { self.remark(at, text) }
    }

    fn loss(&mut self, at: &str, text: String) {
        self.found.breaking.push(sentence(self.side, at, &text));
    }

    fn remark(&mut self, at: &str, text: String) {
        self.found.harmless.push(sentence(self.side, at, &text));
    }
}

fn sentence(side: Side, at: &str, text: &str) -> String {
    if at.is_empty() { format!("{}: {text}", side.word()) } else { format!("{} `{at}`: {text}", side.word()) }
}

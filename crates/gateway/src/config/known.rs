//! Which keys there are, and which one a person meant by a key that there is not.

use std::collections::BTreeMap;

use figment::Figment;
use figment::value::{Dict, Value};

/// The sections and their keys, taken from the defaults, which name every one.
pub(super) struct Known(BTreeMap<String, Vec<String>>);

impl Known {
    /// Reads the keys off the defaults.
    pub(super) fn of(defaults: &Figment) -> Self {
        let all: Dict = defaults.extract().expect("the defaults are a table of tables");
        let sections = all.into_iter().map(|(section, value)| {
            let keys = value.into_dict().map(|dict| dict.into_keys().collect()).unwrap_or_default();
            (section, keys)
        });
        Self(sections.collect())
    }

    /// Says whether `section.key` is one.
    pub(super) fn has(&self, path: &str) -> bool {
        path.split_once('.').is_some_and(|(section, key)| {
            self.0.get(section).is_some_and(|keys| keys.iter().any(|known| known == key))
        })
    }

    /// Names each key of `tables` that is none, with its nearest neighbour.
    pub(super) fn faults(&self, tables: &Dict, source: &str) -> Vec<String> {
        let mut faults = Vec::new();
        for (section, value) in tables {
            match (self.0.get(section), value) {
                (None, _) => faults.push(self.fault(section, source)),
                (Some(keys), Value::Dict(_, inner)) => {
                    let strange = inner.keys().filter(|key| !keys.contains(key));
                    faults.extend(strange.map(|key| self.fault(&format!("{section}.{key}"), source)));
                }
                (Some(_), _) => {
                    faults.push(format!(
                        "{source}: {section} is a section; write [{section}] and its keys below"
                    ));
                }
            }
        }
        faults
    }

    /// Says that a key is unknown and which one may have been meant.
    pub(super) fn fault(&self, path: &str, source: &str) -> String {
        let hint = match self.nearest(path) {
            Some(near) => format!("; did you mean {near}?"),
            None => format!("; the sections are {}", self.0.keys().cloned().collect::<Vec<_>>().join(", ")),
        };
        format!("{source}: there is no setting {path}{hint}")
    }

    /// Finds the known key that looks most like `path`. A key that exists in another section wins.
    fn nearest(&self, path: &str) -> Option<String> {
        let last = path.rsplit('.').next().unwrap_or(path);
        let candidates = self.0.iter().flat_map(|(section, keys)| {
            let whole = keys.iter().map(move |key| (format!("{section}.{key}"), key.as_str()));
            whole.chain([(section.clone(), section.as_str())])
        });
        let scored = candidates.map(|(whole, key)| {
            let distance = distance(path, &whole).min(distance(last, key));
            (distance, whole)
        });
        // A third of the letters wrong is no slip of the finger any more.
        scored.min().filter(|(distance, _)| *distance <= last.len().div_ceil(3)).map(|(_, whole)| whole)
    }
}

/// Counts the letters to insert, remove or replace to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

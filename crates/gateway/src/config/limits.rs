//! `[limits]`: how often callers may come.

use std::collections::BTreeMap;

use limits::{PathLimits, Rate};
use serde::{Deserialize, Serialize};

/// What stands for no limit.
const OFF: &str = "off";

#[derive(Debug, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    /// All requests of one caller: `10/s`, `600/m burst 50`, or `off`.
    principal: String,
    /// All requests to one endpoint.
    endpoint: String,
    /// Requests of one caller to one endpoint.
    pair: String,
    /// Limits of single endpoints by their path, in place of the two above.
    paths: BTreeMap<String, SaidPath>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidPath {
    endpoint: Option<String>,
    pair: Option<String>,
}

impl Default for Said {
    fn default() -> Self {
        let off = || OFF.to_owned();
        Self { principal: off(), endpoint: off(), pair: off(), paths: BTreeMap::new() }
    }
}

impl Said {
    pub(super) fn resolve(self, faults: &mut Vec<String>) -> limits::Limits {
        let principal = rate("principal", &self.principal, faults);
        let usual = PathLimits {
            endpoint: rate("endpoint", &self.endpoint, faults),
            pair: rate("pair", &self.pair, faults),
        };
        let paths = self.paths.into_iter().map(|(path, said)| {
            if path.len() < 2 || !path.starts_with('/') {
                faults.push(format!("limits.paths: {path:?} is no endpoint's path; give one like /context7"));
            }
            let mut one = |key: &str, text: Option<String>, usual| match text {
                Some(text) => rate(&format!("paths.{path:?}.{key}"), &text, faults),
                None => usual,
            };
            let own = PathLimits {
                endpoint: one("endpoint", said.endpoint, usual.endpoint),
                pair: one("pair", said.pair, usual.pair),
            };
            (path.trim_end_matches('/').to_ascii_lowercase(), own)
        });
        limits::Limits { principal, usual, paths: paths.collect() }
    }
}

fn rate(key: &str, text: &str, faults: &mut Vec<String>) -> Option<Rate> {
    if text.trim() == OFF {
        return None;
    }
    let rate = Rate::parse(text);
    if rate.is_none() {
        let form = "must be a rate such as 10/s, 600/m, 5000/h or 600/m burst 50, or off";
        faults.push(format!("limits.{key}: {text:?} {form}"));
    }
    rate
}

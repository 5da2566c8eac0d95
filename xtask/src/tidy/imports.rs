//! Inside a crate, imports go one way: no two files import each other. A file that names what lies in its own folder
//! (`lib.rs` its modules, `foo.rs` what is in `foo/`) contains it and does not import it.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::source::{self, Package};

/// Returns a fault for each pair of files that import each other.
pub(super) fn mutual(package: &Package) -> Vec<String> {
    let modules: BTreeMap<String, &str> = package
        .files
        .iter()
        .filter(|file| {
            file.local.starts_with("src/") && !file.is_test() && !file.local.starts_with("src/bin/")
        })
        .map(|file| (module(&file.local), file.text.as_str()))
        .collect();
    let imports: BTreeMap<&str, BTreeSet<String>> = modules
        .iter()
        .map(|(name, text)| (name.as_str(), imported(name, &source::code(text), &modules)))
        .collect();
    let mut faults = Vec::new();
    for (name, targets) in &imports {
        for target in targets {
            if *name < target.as_str()
                && imports.get(target.as_str()).is_some_and(|back| back.contains(*name))
            {
                faults.push(format!("{}: `{name}` and `{target}` import each other", package.name));
            }
        }
    }
    faults
}

/// `src/virtual_server/call.rs` is `crate::virtual_server::call`; `src/lib.rs` is `crate`.
fn module(local: &str) -> String {
    let stem = local.trim_start_matches("src/").trim_end_matches(".rs");
    match stem {
        "lib" | "main" => "crate".to_owned(),
        other => format!("crate::{}", other.replace('/', "::")),
    }
}

/// Returns the modules whose items the code of `own` names.
fn imported(own: &str, code: &str, modules: &BTreeMap<String, &str>) -> BTreeSet<String> {
    let mut targets = BTreeSet::new();
    for path in paths(code) {
        let Some(absolute) = absolute(own, &path) else { continue };
        if let Some(target) = owner(&absolute, modules)
            && target != own
            && !target.starts_with(&format!("{own}::"))
        {
            targets.insert(target);
        }
    }
    targets
}

/// Returns the longest module that a path lies in.
fn owner(path: &str, modules: &BTreeMap<String, &str>) -> Option<String> {
    let mut candidate = path;
    loop {
        if modules.contains_key(candidate) {
            return Some(candidate.to_owned());
        }
        candidate = candidate.rsplit_once("::")?.0;
    }
}

/// Turns `super::a` and `self::a` into a path from the crate's root.
fn absolute(own: &str, path: &str) -> Option<String> {
    if path == "crate" || path.starts_with("crate::") {
        return Some(path.to_owned());
    }
    let mut base = own;
    let mut rest = path.strip_prefix("self::").unwrap_or(path);
    while let Some(after) = rest.strip_prefix("super::") {
        base = base.rsplit_once("::")?.0;
        rest = after;
    }
    (rest != path).then(|| format!("{base}::{rest}"))
}

/// Returns each path of at least two segments in the code, with the trees of `use` spread out.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let words: Vec<&str> = tokens(code);
    let mut at = 0;
    while at < words.len() {
        let starts = is_word(words[at]) && (at == 0 || words[at - 1] != "::");
        if starts && words.get(at + 1) == Some(&"::") {
            at = tree(&words, at, "", &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads one path or tree that starts at `at`; returns where it ends.
fn tree(words: &[&str], mut at: usize, prefix: &str, found: &mut Vec<String>) -> usize {
    let mut path = prefix.to_owned();
    while at < words.len() {
        match words[at] {
            "{" => {
                at += 1;
                while at < words.len() && words[at] != "}" {
                    if words[at] == "," {
                        at += 1;
                    } else {
                        let before = at;
                        at = tree(words, at, &path, found);
                        at = at.max(before + 1);
                    }
                }
                return at + 1;
            }
            "*" => {
                at += 1;
                break;
            }
            word if is_word(word) => {
                if word != "self" || path.is_empty() {
                    if !path.is_empty() {
                        path.push_str("::");
                    }
                    path.push_str(word);
                }
                at += 1;
                if words.get(at) == Some(&"as") {
                    at += 2;
                }
                if words.get(at) != Some(&"::") {
                    break;
                }
                at += 1;
            }
            _ => break,
        }
    }
    found.push(path);
    at
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Splits code into words, `::` and single characters.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

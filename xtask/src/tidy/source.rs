//! The Rust files of the repository, and their text without comments, literals and tests.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// A folder with a `Cargo.toml`.
pub(super) struct Package {
    pub(super) name: String,
    pub(super) files: Vec<File>,
}

pub(super) struct File {
    /// Relative to the repository, with slashes: `crates/mcp/src/list.rs`.
    pub(super) path: String,
    /// Relative to the package: `src/list.rs`.
    pub(super) local: String,
    pub(super) text: String,
}

impl File {
    /// Tells whether the whole file is test code.
    pub(super) fn is_test(&self) -> bool {
        self.local.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "benches" | "examples"))
    }
}

/// Reads `crates/*`, `xtask` and `fuzz`.
pub(super) fn packages(root: &Path) -> anyhow::Result<Vec<Package>> {
    let mut folders = vec!["xtask".to_owned(), "fuzz".to_owned()];
    for entry in fs::read_dir(root.join("crates")).context("crates")? {
        folders.push(format!("crates/{}", entry?.file_name().to_string_lossy()));
    }
    folders.sort();
    let mut packages = Vec::new();
    for folder in folders.into_iter().filter(|folder| root.join(folder).join("Cargo.toml").is_file()) {
        let mut files = Vec::new();
        collect(root, &folder, "", &mut files)?;
        let name = folder.rsplit('/').next().unwrap_or(&folder).to_owned();
        packages.push(Package { name, files });
    }
    Ok(packages)
}

fn collect(root: &Path, package: &str, below: &str, files: &mut Vec<File>) -> anyhow::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(root.join(package).join(below))?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let local = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if entry.file_type()?.is_dir() {
            if !matches!(name.as_str(), "target" | "corpus" | "artifacts") {
                collect(root, package, &local, files)?;
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).with_context(|| format!("{package}/{local}"))?;
            files.push(File { path: format!("{package}/{local}"), local, text });
        }
    }
    Ok(())
}

/// Returns the code alone: comments and the insides of literals are dropped, and so is what `#[cfg(test)]` marks.
pub(super) fn code(text: &str) -> String {
    without_tests(&without_literals(text))
}

fn without_literals(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = raw_string(rest, &out) {
            length
        } else if rest.starts_with('"') {
            quoted(rest)
        } else if rest.starts_with('\'') {
            character(rest)
        } else {
            0
        };
        if skipped > 0 {
            out.push(' ');
            at += skipped;
        } else {
            let next = rest.chars().next().expect("there is text left");
            out.push(next);
            at += next.len_utf8();
        }
    }
    out
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Length of `r"…"`, `r#"…"#` and the like at the start of `text`; `before` tells a prefix from the end of a word.
fn raw_string(text: &str, before: &str) -> Option<usize> {
    if before.ends_with(|last: char| last.is_alphanumeric() && !matches!(last, 'b' | 'c') || last == '_') {
        return None;
    }
    let after = text.strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let inside = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&end).map_or(inside.len(), |found| found + end.len());
    Some(1 + hashes + 1 + length)
}

fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a character literal, or 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => {
            text[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 3)
        }
        Some(_) => characters.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

fn without_tests(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        out.push_str(&rest[..at]);
        rest = &rest[at + item_length(&rest[at..])..];
    }
    out.push_str(rest);
    out
}

/// Length of one item with its attributes: up to its `;`, or to the brace that closes its body.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return at + 1,
            b'}' => depth -= 1,
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

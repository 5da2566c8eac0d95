//! What commands print: tables and fields for people, JSON for programs.

use std::io::Write;

use serde_json::Value;

/// Longest text in a cell of a table; what is longer is for `show` or `--json`.
const MAX_CELL: usize = 60;

/// Where results go, and in which form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    pub(super) is_json: bool,
}

/// A column of a table: its title and the member it shows, nested ones with dots.
pub(super) type Column = (&'static str, &'static str);

impl Output {
    /// Prints a sentence about what was done, and the gateway's warnings; with `--json` the document instead.
    pub(super) fn done(self, sentence: &str, document: &Value) {
        if self.is_json {
            return self.json(document);
        }
        line(sentence);
        let warnings = document.get("warnings").and_then(Value::as_array);
        for warning in warnings.into_iter().flatten().filter_map(Value::as_str) {
            complain(&format!("warning: {warning}"));
        }
    }

    /// Prints the list under one of `keys` as a table.
    pub(super) fn table(self, document: &Value, keys: &[&str], columns: &[Column]) {
        if self.is_json {
            return self.json(document);
        }
        let rows = keys.iter().find_map(|key| document.get(key)).unwrap_or(document);
        let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
        let cells = rows.iter().map(|row| columns.iter().map(|(_, member)| cell(row, member)).collect());
        write_table(columns, &cells.collect::<Vec<Vec<String>>>());
        if let Some(total) = document.get("total_count").and_then(Value::as_u64)
            && total > rows.len() as u64
        {
            line(&format!("{} of {total}; --limit and --offset show the others", rows.len()));
        }
    }

    /// Prints the members of a document, one a line.
    pub(super) fn fields(self, document: &Value) {
        let Some(members) = document.as_object().filter(|_| !self.is_json) else {
            return self.json(document);
        };
        let width = members.keys().map(|key| key.len()).max().unwrap_or_default();
        for (key, value) in members.iter().filter(|(key, _)| *key != "_id") {
            match value {
                Value::Null => {}
                Value::Array(items) if items.is_empty() => {}
                Value::String(text) if text.is_empty() => {}
                Value::Array(items) if items.iter().any(Value::is_object) => {
                    line(&format!("{key}:"));
                    items.iter().for_each(|item| line(&format!("  {item}")));
                }
                value => line(&format!("{key:width$}  {}", text(value))),
            }
        }
    }

    /// Prints a document as JSON.
    pub(super) fn json(self, document: &Value) {
        line(&serde_json::to_string_pretty(document).expect("a JSON tree is always JSON"));
    }
}

/// Prints a line on standard output. Nobody may be reading any more (`| head`), which is no fault.
pub(super) fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints why a command failed on standard error.
pub(super) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "switchyard: {text}");
}

fn write_table(columns: &[Column], rows: &[Vec<String>]) {
    let widths: Vec<usize> = (0..columns.len())
        .map(|i| {
            rows.iter()
                .map(|row| row[i].chars().count())
                .chain([columns[i].0.len()])
                .max()
                .unwrap_or_default()
        })
        .collect();
    let write = |cells: &[&str]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        line(padded.collect::<Vec<_>>().join("  ").trim_end());
    };
    write(&columns.iter().map(|(title, _)| *title).collect::<Vec<_>>());
    for row in rows {
        write(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

fn cell(row: &Value, member: &str) -> String {
    let value = member.split('.').try_fold(row, |value, key| value.get(key));
    let text = value.map(text).unwrap_or_default().replace('\n', " ");
    match text.char_indices().nth(MAX_CELL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

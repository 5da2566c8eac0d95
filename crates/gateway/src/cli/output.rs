//! What commands print: tables and fields for people, JSON for programs.

use std::io::{self, Write};

use serde_json::Value;

use super::failure::Failure;
use super::visible::{visible, visible_lines};

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
    pub(super) fn done(self, sentence: &str, document: &Value) -> Result<(), Failure> {
        if self.is_json {
            return self.json(document);
        }
        line(&visible(sentence))?;
        let warnings = document.get("warnings").and_then(Value::as_array);
        for warning in warnings.into_iter().flatten().filter_map(Value::as_str) {
            complain(&format!("warning: {}", visible(warning)));
        }
        Ok(())
    }

    /// Prints the list under `key` as a table.
    ///
    /// **Errors:** that there is no list of objects.
    pub(super) fn table(self, document: &Value, key: &str, columns: &[Column]) -> Result<(), Failure> {
        let rows =
            document.get(key).and_then(Value::as_array).filter(|rows| rows.iter().all(Value::is_object));
        let rows = rows.ok_or_else(|| unexpected(&format!("a list of objects under {key:?}")))?;
        if self.is_json {
            return self.json(document);
        }
        let cells = rows.iter().map(|row| columns.iter().map(|(_, member)| cell(row, member)).collect());
        write_table(columns, &cells.collect::<Vec<Vec<String>>>())?;
        match document.get("total_count").and_then(Value::as_u64) {
            Some(total) if total > rows.len() as u64 => {
                line(&format!("{} of {total}; --limit and --offset show the others", rows.len()))
            }
            _ => Ok(()),
        }
    }

    /// Prints the members of a document, one a line.
    ///
    /// **Errors:** that it has none.
    pub(super) fn fields(self, document: &Value) -> Result<(), Failure> {
        let members = document.as_object().filter(|members| !members.is_empty());
        let members = members.ok_or_else(|| unexpected("an object with members"))?;
        if self.is_json {
            return self.json(document);
        }
        let named = members.iter().map(|(key, value)| (visible(key), value));
        let named: Vec<_> = named.filter(|(key, _)| key != "_id").collect();
        let width = named.iter().map(|(key, _)| key.chars().count()).max().unwrap_or_default();
        for (key, value) in named {
            match value {
                Value::Null => {}
                Value::Array(items) if items.is_empty() => {}
                Value::String(text) if text.is_empty() => {}
                Value::Array(items) if items.iter().any(Value::is_object) => {
                    line(&format!("{key}:"))?;
                    items.iter().try_for_each(|item| line(&format!("  {}", visible(&item.to_string()))))?;
                }
                value => line(&format!("{key:width$}  {}", visible(&text(value))))?,
            }
        }
        Ok(())
    }

    /// Prints a document as JSON.
    pub(super) fn json(self, document: &Value) -> Result<(), Failure> {
        line(&serde_json::to_string_pretty(document).expect("a JSON tree is always JSON"))
    }
}

/// Prints a line on standard output. Nobody may be reading any more (`| head`), which is no fault.
///
/// **Errors:** that it could not be written, for want of space for example.
pub(super) fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Copies bytes to standard output. Nobody may be reading any more, which is no fault.
///
/// **Errors:** that they could not be written.
pub(super) fn copy(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says whether what is printed goes nowhere: to the null device, which the program also has where it was
/// started with its standard output closed.
pub(super) fn leads_nowhere() -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        use std::os::unix::fs::MetadataExt;
        let out = io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
        let device = out.and_then(|file| file.metadata()).map(|metadata| metadata.rdev());
        let null = std::fs::metadata("/dev/null").map(|metadata| metadata.rdev());
        matches!((device, null), (Ok(device), Ok(null)) if device == null)
    }
    #[cfg(not(unix))]
    false
}

/// Says that the gateway's answer is none of a gateway.
pub(super) fn unexpected(expected: &str) -> Failure {
    Failure::refused(format!("the answer is not {expected}; is it a switchyard gateway?"))
}

/// Prints why a command failed on standard error.
pub(super) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "switchyard: {}", visible_lines(text));
}

fn write_table(columns: &[Column], rows: &[Vec<String>]) -> Result<(), Failure> {
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
        line(padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    write(&columns.iter().map(|(title, _)| *title).collect::<Vec<_>>())?;
    rows.iter().try_for_each(|row| write(&row.iter().map(String::as_str).collect::<Vec<_>>()))
}

fn cell(row: &Value, member: &str) -> String {
    let value = member.split('.').try_fold(row, |value, key| value.get(key));
    let text = visible(&value.map(text).unwrap_or_default());
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

#[cfg(test)]
mod tests;

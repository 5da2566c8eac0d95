//! Rules of the repository that the compiler does not check: file headers, names, one-way imports, no JSON
//! trees on the data plane, and the walls between crates.

mod files;
mod imports;
mod source;
#[cfg(test)]
mod tests;
mod trees;
mod walls;

use std::path::Path;

/// A file longer than this has, as a rule, two reasons to change; it is named, not refused.
const LONG_FILE_LINES: usize = 400;

/// What is wrong, and what deserves a look.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) faults: Vec<String>,
    pub(crate) remarks: Vec<String>,
}

/// Prints the findings; fails when there is a fault.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let findings = check(root)?;
    for remark in &findings.remarks {
        println!("remark: {remark}");
    }
    for fault in &findings.faults {
        println!("fault: {fault}");
    }
    match findings.faults.len() {
        0 => println!("tidy"),
        count => anyhow::bail!("{count} faults"),
    }
    Ok(())
}

/// Applies every rule to the repository at `root`.
pub(crate) fn check(root: &Path) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    for package in source::packages(root)? {
        for file in &package.files {
            findings.faults.extend(files::faults(file));
            findings.faults.extend(trees::fault(&package.name, file));
            if file.text.lines().count() > LONG_FILE_LINES {
                findings.remarks.push(format!("{}: longer than {LONG_FILE_LINES} lines", file.path));
            }
        }
        findings.faults.extend(imports::mutual(&package));
    }
    findings.faults.extend(walls::faults(root)?);
    Ok(findings)
}

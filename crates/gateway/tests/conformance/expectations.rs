//! Every expected failure says why: what the documentation says is not carried across eras, or what is still to be built.

use std::path::Path;

use crate::suite::expected;

#[test]
fn each_expected_failure_has_its_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let documented = std::fs::read_to_string(root.join("docs/compatibility.md")).unwrap();
    for file in std::fs::read_dir(expected()).unwrap() {
        let file = file.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines().filter(|line| line.trim_start().starts_with("- ")) {
            let name = file.display();
            let (_, reason) = line.split_once(" # ").unwrap_or_else(|| panic!("{name}: no reason: {line}"));
            let is_known = reason.starts_with("todo: ") || documented.contains(&format!("| {reason} |"));
            assert!(is_known, "{name}: docs/compatibility.md has no row \"{reason}\"");
        }
    }
}

//! What is taken for a level.

use super::*;

fn faults(level: &str) -> String {
    let mut faults = Vec::new();
    Log { level: level.into(), format: Format::Text }.check(&mut faults);
    faults.join("\n")
}

#[test]
fn levels_and_filters_are_taken() {
    for level in [
        "error",
        "WARN",
        "off",
        "info,backend=debug",
        "info,backend=debug,",
        "proxy::inbound=trace,warn",
        "info,proxy[request{a=1}]=debug",
    ] {
        assert_eq!(faults(level), "", "{level}");
    }
}

#[test]
fn what_would_log_nothing_is_refused() {
    for level in
        ["bogus", "information", "", " ", ",", "info,bogus", "backend=loud", "backend=", "=debug", "info,=,"]
    {
        let said = faults(level);
        let hint = "give error, warn, info, debug, trace or off, or filters such as info,backend=debug";
        assert!(said.starts_with("log.level: ") && said.ends_with(hint), "{level:?} gave {said:?}");
    }
    assert!(faults("info,bogus").contains("\"bogus\""));
}

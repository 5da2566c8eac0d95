//! The command line as clap checks it.

use clap::CommandFactory;

use super::*;

#[test]
fn the_command_line_is_sound() {
    Line::command().debug_assert();
}

#[test]
fn global_options_stand_before_or_after_the_action() {
    for line in [
        "switchyard server --url http://h:1 list --json",
        "switchyard server list --url http://h:1 --json",
        "switchyard virtual create x --tool /a:b --token t",
        "switchyard version use /a v1 --preflight",
        "switchyard token issue alice --group ops --scope a --scope b",
        "switchyard serve --listen 127.0.0.1:0 --set backends.allow_private=false",
    ] {
        assert!(Line::try_parse_from(line.split(' ')).is_ok(), "{line}");
    }
    for line in ["switchyard", "switchyard server", "switchyard server show", "switchyard serve --set x"] {
        let error = Line::try_parse_from(line.split(' ')).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

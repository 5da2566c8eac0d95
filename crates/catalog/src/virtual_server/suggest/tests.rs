//! Suggested aliases: short, free, and the same every time.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::name::{ServerPath, VersionLabel};

fn row(tool: &str, server: &str, alias: Option<&str>, pin: Option<&str>) -> Mapping {
    Mapping {
        tool: tool.into(),
        server: ServerPath::parse("", server).unwrap(),
        alias: alias.map(|alias| ToolName::parse("", alias).unwrap()),
        pin: pin.map(|pin| VersionLabel::parse("", pin).unwrap()),
        description: None,
    }
}

fn offered(rows: &[Mapping]) -> Vec<(usize, String)> {
    aliases(rows).into_iter().map(|one| (one.row, one.alias.to_string())).collect()
}

#[test]
fn names_that_clients_take_are_left_alone() {
    assert_eq!(offered(&[row("search", "/a", None, None), row("search", "/b", Some("find"), None)]), []);
    assert_eq!(offered(&[row(&"x".repeat(64), "/a", None, None)]), []);
}

#[test]
fn shared_names_are_told_apart_by_the_server() {
    let rows = [
        row("search", "/github", None, None),
        row("search", "/team/jira", None, None),
        row("search", "/github", None, Some("v2")),
        row("search", "/github", None, Some("v3")),
    ];
    let offered = offered(&rows);
    assert_eq!(offered[..2], [(1, "team_jira_search".into()), (2, "github_search".into())]);
    assert!(offered[2].1.starts_with("github_search_") && offered[2].1.len() == 22, "{offered:?}");
}

#[test]
fn long_and_strange_names_are_made_fit() {
    let long = "list_all_the_repositories_of_an_organisation_with_their_branches_and_tags";
    let [one] = &offered(&[row(long, "/github", None, None)])[..] else { panic!("one") };
    assert_eq!(one.1, "list_all_the_repositories_of_an_organisation_with_their_2b192398");
    assert_eq!(offered(&[row("suche nach", "/jira", None, None)]), [(0, "suche_nach".into())]);
    let [one] = &offered(&[row("検索", "/jira", None, None)])[..] else { panic!("one") };
    assert!(one.1.starts_with("tool_"), "{one:?}");
}

#[test]
fn a_suggestion_does_not_depend_on_other_rows() {
    let long = row(&"long_".repeat(20), "/github", None, None);
    let alone = offered(std::slice::from_ref(&long))[0].1.clone();
    let other = row(&"long_".repeat(21), "/github", None, None);
    let among = offered(&[row("search", "/a", None, None), other, long.clone()]);
    assert_eq!(among[1], (2, alone.clone()));
    // Only one who has that very name already changes it.
    let rival = row("x", "/a", Some(&alone), None);
    let beside = offered(&[long, rival]);
    assert!(beside[0].1 != alone && beside[0].1.len() == alone.len(), "{beside:?}");
}

fn any_row() -> impl Strategy<Value = Mapping> {
    let tool = prop_oneof!["[a-c]{1,2}", "[a-z_]{60,140}", "\\PC{1,8}"];
    (tool, prop_oneof![Just("/a"), Just("/b/c")], prop::option::of("[ab]{1,2}"))
        .prop_map(|(tool, server, alias)| row(&tool, server, alias.as_deref(), None))
}

proptest! {
    #[test]
    fn with_the_suggestions_all_names_are_fit_and_free(rows in prop::collection::vec(any_row(), 0..30)) {
        let mut rows = rows;
        let offered = aliases(&rows);
        prop_assert_eq!(&offered, &aliases(&rows));
        for Suggestion { row, alias } in offered {
            rows[row].alias = Some(alias);
        }
        let names: HashSet<&str> = rows.iter().map(Mapping::exposed).collect();
        prop_assert_eq!(names.len(), rows.len());
        for name in names {
            prop_assert!(name.len() <= WARN_NAME_BYTES && ToolName::parse("", name).is_ok(), "{}", name);
        }
        prop_assert_eq!(aliases(&rows), []);
    }
}

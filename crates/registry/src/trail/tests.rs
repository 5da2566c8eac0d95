//! When notes make an entry, and what of them it takes.

use store::audit::Outcome;

use super::*;

#[test]
fn an_entry_is_made_once_by_a_known_caller() {
    let trail = Trail::new("server.edit", Some("/a".into()), None);
    assert!(trail.entry(Outcome::Ok, &[]).is_none(), "nobody is known yet");
    trail.actor(&"ada".into());
    trail.detail("in short");
    let entry = trail.entry(Outcome::Refused, &[]).unwrap();
    assert_eq!((&*entry.actor, &*entry.action, &*entry.detail), ("ada", "server.edit", "in short"));
    assert_eq!((entry.object.as_deref(), entry.outcome), (Some("/a"), Outcome::Refused));
    assert!(trail.entry(Outcome::Ok, &[]).is_none(), "it was made");
}

#[test]
fn a_request_that_reads_makes_none() {
    let trail = Trail::default();
    trail.actor(&"ada".into());
    assert!(trail.entry(Outcome::Ok, &[]).is_none());
}

#[test]
fn what_is_edited_goes_before_what_was_named() {
    let trail = Trail::new("group.delete", Some(" staff".into()), None);
    trail.actor(&"ada".into());
    let entry = trail.entry(Outcome::Ok, &[Edit::DeleteGroup("staff".into())]).unwrap();
    assert_eq!(entry.object.as_deref(), Some("staff"));
}

#[test]
fn long_texts_are_cut_between_characters() {
    let trail = Trail::new("group.delete", Some("ö".repeat(400)), None);
    trail.actor(&format!("a{}", "ö".repeat(400)).into());
    trail.detail("d".repeat(400));
    let entry = trail.entry(Outcome::Ok, &[]).unwrap();
    assert_eq!(entry.object, Some("ö".repeat(128)));
    assert_eq!((entry.actor.len(), entry.detail.len()), (255, 256));
}

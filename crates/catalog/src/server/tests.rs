//! Versions of a server: one is active, switching changes nothing else.

use url::Url;

use super::*;

const NOW: Timestamp = Timestamp(1_768_003_200_000);
const LATER: Timestamp = Timestamp(1_768_003_260_000);

fn version(label: &str) -> Version {
    let url = Url::parse(&format!("http://{label}.example.com/mcp")).unwrap();
    Version {
        description: format!("about {label}"),
        ..Version::new(VersionLabel::parse("version", label).unwrap(), Endpoint::at(url), NOW)
    }
}

fn server() -> Server {
    let path = ServerPath::parse("path", "/context7").unwrap();
    Server::new(path, "Context7".into(), version("v1.5.0"), NOW).add(version("v2.0.0"), NOW).unwrap()
}

fn labels(server: &Server) -> Vec<&str> {
    server.versions().map(|version| version.label.as_str()).collect()
}

#[test]
fn the_first_version_is_active() {
    let server = server();
    assert_eq!(server.active().label.as_str(), "v1.5.0");
    assert_eq!(labels(&server), ["v1.5.0", "v2.0.0"]);
    assert!(!server.is_enabled, "created disabled");
}

#[test]
fn a_switch_writes_the_pointer_and_going_back_restores() {
    let before = server();
    let switched = before.activate("v2.0.0", LATER).unwrap();
    assert_eq!(switched.active().label.as_str(), "v2.0.0");
    assert_eq!(before.active().label.as_str(), "v1.5.0", "the old server is untouched");
    assert!(switched.versions().eq(before.versions()));
    assert!(switched.versions().zip(before.versions()).all(|(new, old)| Arc::ptr_eq(new, old)));
    let back = switched.activate("v1.5.0", LATER).unwrap();
    let expected = Server { revision: before.revision + 2, updated_at: LATER, ..before };
    assert_eq!(back, expected);
}

#[test]
fn an_unknown_label_names_the_known_ones() {
    for label in ["v3.0.0", "V1.5.0", "v1.5", "", "latest"] {
        let refusal = server().activate(label, LATER).unwrap_err();
        let expected = format!("no such version: {label} of /context7; there are: v1.5.0, v2.0.0");
        assert_eq!(refusal.to_string(), expected);
        assert_eq!(server().remove(label, LATER).unwrap_err(), refusal);
        assert!(server().version(label).is_none());
    }
}

#[test]
fn the_active_version_cannot_be_removed() {
    let refusal = server().remove("v1.5.0", LATER).unwrap_err();
    let expected = "version v1.5.0 is the active version of /context7; make another version active first";
    assert_eq!(refusal.to_string(), expected);
    let without = server().remove("v2.0.0", LATER).unwrap();
    assert_eq!(labels(&without), ["v1.5.0"]);
    let only = without.remove("v1.5.0", LATER).unwrap_err();
    assert!(matches!(only, Refusal::Active { .. }), "not even where it is the only one");
}

#[test]
fn a_label_is_added_once() {
    let refusal = server().add(version("v2.0.0"), LATER).unwrap_err();
    assert_eq!(refusal.to_string(), "version v2.0.0 of /context7 exists already");
    let other_case = server().add(version("V2.0.0"), LATER).unwrap();
    assert_eq!(labels(&other_case), ["V2.0.0", "v1.5.0", "v2.0.0"], "case counts");
    assert_eq!(other_case.active().label.as_str(), "v1.5.0", "a new version is inactive");
}

#[test]
fn versions_are_bounded() {
    let mut server = server();
    for index in 2..MAX_VERSIONS {
        server = server.add(version(&format!("v{index}")), NOW).unwrap();
    }
    let refusal = server.add(version("one-more"), NOW).unwrap_err();
    assert_eq!(refusal.to_string(), "version: /context7 has 100 versions already; remove one first");
}

#[test]
fn a_replaced_version_leaves_the_pointer_alone() {
    let mut edited = version("v1.5.0");
    edited.status = Status::Deprecated;
    let replaced = server().replace(edited.clone(), LATER).unwrap();
    assert_eq!(**replaced.active(), edited);
    assert_eq!(replaced.version("v2.0.0").unwrap(), server().version("v2.0.0").unwrap());
    assert!(server().replace(version("v3.0.0"), LATER).is_err());
}

#[test]
fn every_write_moves_revision_and_time() {
    let before = server();
    let writes = [
        before.activate("v2.0.0", LATER),
        before.add(version("v3.0.0"), LATER),
        before.replace(version("v2.0.0"), LATER),
        before.remove("v2.0.0", LATER),
        Ok(before.written(LATER, |server| server.is_enabled = true)),
    ];
    for written in writes.map(Result::unwrap) {
        assert_eq!((written.revision, written.updated_at), (before.revision + 1, LATER));
        assert_eq!(written.registered_at, NOW);
    }
}

#[test]
fn records_without_the_active_version_make_no_server() {
    let [one, other] = ["v1.5.0", "v2.0.0"].map(version);
    let label = other.label.clone();
    let made = Server::from_records(server(), vec![one.clone(), other], label.clone()).unwrap();
    assert_eq!(made.active().label, label);
    assert_eq!(Server::from_records(server(), vec![one], label), None);
}

#[test]
fn status_words() {
    for status in [Status::Stable, Status::Beta, Status::Deprecated] {
        assert_eq!(Status::parse(status.as_str()), Some(status));
    }
    for word in ["", "Stable", "retired"] {
        assert_eq!(Status::parse(word), None);
    }
}

//! The index as its users see it.

use std::sync::Arc;

use catalog::endpoint::{AddressRule, Endpoint, Era};
use catalog::inventory::{Inventory, Item};
use catalog::name::{ServerPath, Slug, VersionLabel};
use catalog::server::{Server, Version, Visibility};
use catalog::time::Timestamp;
use catalog::virtual_server::{Mapping, VirtualServer};
use catalog::{Catalog, VersionKey};

use super::*;
use crate::query::Kinds;

const NOW: Timestamp = Timestamp(0);

fn version(label: &str, description: &str) -> Version {
    let rule = AddressRule { allow_private: true };
    let url = Endpoint::parse_url("url", "http://127.0.0.1:1/mcp", rule).unwrap();
    Version {
        description: description.into(),
        ..Version::new(VersionLabel::parse("version", label).unwrap(), Endpoint::at(url), NOW)
    }
}

fn server(path: &str, name: &str, description: &str, tags: &[&str]) -> Server {
    let path = ServerPath::parse("path", path).unwrap();
    let mut server = Server::new(path, name.into(), version("v1", description), NOW);
    server.is_enabled = true;
    server.tags = tags.iter().map(ToString::to_string).collect();
    server
}

fn put(catalog: &mut Catalog, server: Server) {
    Arc::make_mut(&mut catalog.servers).insert(server.path.clone(), Arc::new(server));
}

fn offer(catalog: &mut Catalog, path: &str, label: &str, tools: &[(&str, &str)]) {
    let item = |(name, description): &(&str, &str)| Item {
        name: (*name).into(),
        json: format!("{{\"name\":\"{name}\",\"description\":\"{description}\",\"inputSchema\":{{}}}}")
            .into(),
    };
    let inventory = Inventory {
        tools: tools.iter().map(item).collect(),
        ..Inventory::empty(Era::Legacy, "2025-11-25", NOW)
    };
    let path = ServerPath::parse("path", path).unwrap();
    let key = VersionKey::new(&path, &VersionLabel::parse("version", label).unwrap());
    Arc::make_mut(&mut catalog.inventories).insert(key, Arc::new(inventory));
}

fn ask(index: &Index, text: &str) -> Found {
    index.query(&Query { text, meaning: None, tags: &[], kinds: Kinds::ALL, max_results: 10 }, |_| true)
}

fn paths(found: &Found) -> Vec<&str> {
    found.servers.iter().map(|one| one.server.path.as_str()).collect()
}

fn tools(found: &Found) -> Vec<&str> {
    found.tools.iter().map(|one| &*one.name).collect()
}

fn zoo() -> Catalog {
    let mut catalog = Catalog::default();
    put(
        &mut catalog,
        server("/github", "GitHub", "Repositories, issues and pull requests", &["Code", "git"]),
    );
    put(&mut catalog, server("/jira", "Jira", "Tracks issues of projects", &["code", "work"]));
    put(&mut catalog, server("/grafana", "Grafana", "Dashboards", &["metrics"]));
    put(&mut catalog, server("/maps", "高德地图", "路线规划", &[]));
    offer(
        &mut catalog,
        "/github",
        "v1",
        &[("search_code", "Finds code"), ("create_issue", "Opens an issue")],
    );
    offer(&mut catalog, "/jira", "v1", &[("search", "Finds tickets"), ("create_issue", "Opens a ticket")]);
    catalog
}

fn index(catalog: &Catalog) -> Index {
    let index = Index::default();
    index.follow(catalog);
    index
}

#[test]
fn words_find_in_any_form_and_field() {
    let index = index(&zoo());
    for (text, first) in [
        ("repository", "/github"),
        ("tracking projects", "/jira"),
        ("pull request", "/github"),
        ("ticket", "/jira"),
        ("dashboard for the metrics", "/grafana"),
        ("git hub", "/github"),
        ("grafna", "/grafana"),
        ("graf", "/grafana"),
        ("路线", "/maps"),
        ("地图", "/maps"),
    ] {
        assert_eq!(paths(&ask(&index, text)).first(), Some(&first), "{text}");
    }
    for text in ["", "  ", "nothing", "#", "\"", "*", "the", "x".repeat(5000).as_str()] {
        assert_eq!(paths(&ask(&index, text)), [""; 0], "{text}");
    }
}

#[test]
fn names_and_paths_rank_first() {
    let mut catalog = zoo();
    put(&mut catalog, server("/decoy", "Grafana Grafana tools", "grafana grafana grafana", &["grafana"]));
    put(&mut catalog, server("/other", "Antipodean Toolbox", "", &[]));
    let index = index(&catalog);
    for (text, first) in [
        ("grafana", "/grafana"),
        ("/grafana", "/grafana"),
        ("Grafana MCP server", "/grafana"),
        ("antipodean toolbox", "/other"),
    ] {
        let found = ask(&index, text);
        assert_eq!(paths(&found).first(), Some(&first), "{text}");
        assert_eq!(found.servers[0].relevance, 1.0);
        assert!(found.servers[1..].iter().all(|one| one.relevance < 1.0), "{text}");
    }
}

#[test]
fn what_is_spelt_right_ranks_above_what_is_near() {
    let mut catalog = Catalog::default();
    put(&mut catalog, server("/stripes", "Striped", "", &[]));
    put(&mut catalog, server("/strike-strike", "Strike strike", "strike", &["strike"]));
    put(&mut catalog, server("/stripease", "Stripease", "", &[]));
    let long = "pays with many words that have nothing to do with what is asked for, but then stripe";
    put(&mut catalog, server("/pay", "Pay", long, &[]));
    let found = paths(&ask(&index(&catalog), "stripe")).len();
    assert_eq!(found, 4);
    let index = index(&catalog);
    let found = ask(&index, "stripe");
    let place = |path: &str| paths(&found).iter().position(|one| *one == path).unwrap();
    assert!(place("/pay") < place("/strike-strike"), "{:?}", paths(&found));
    assert!(place("/pay") < place("/stripease"), "{:?}", paths(&found));
}

#[test]
fn tools_are_found_with_their_servers() {
    let index = index(&zoo());
    let found = ask(&index, "create issue in jira");
    assert_eq!((&*found.tools[0].name, found.tools[0].server.path.as_str()), ("create_issue", "/jira"));
    let found = ask(&index, "create_issue");
    assert_eq!((tools(&found), found.total_tools), (vec!["create_issue", "create_issue"], 2));
    assert_eq!(found.tools[0].relevance, 1.0);
    let found = ask(&index, "tickets");
    assert_eq!(found.servers[0].tools.len(), 2);
    assert_eq!(found.servers[0].context, "Tools: create_issue, search");
    assert_eq!(ask(&index, "pull requests").servers[0].context, "Repositories, issues and pull requests");
}

#[test]
fn only_what_is_active_and_enabled_is_found() {
    let mut catalog = zoo();
    let index = index(&catalog);
    let old = catalog.servers["/jira"].clone();
    offer(&mut catalog, "/jira", "v2", &[("paint_platypus", "Draws a monotreme")]);
    let next = old.add(version("v2", "monotreme arts"), NOW).unwrap();
    put(&mut catalog, next.clone());
    index.follow(&catalog);
    assert_eq!(paths(&ask(&index, "monotreme")), [""; 0]);
    put(&mut catalog, next.activate("v2", NOW).unwrap());
    index.follow(&catalog);
    assert_eq!(tools(&ask(&index, "platypus")), ["paint_platypus"]);
    assert_eq!(tools(&ask(&index, "tickets")), [""; 0]);
    put(&mut catalog, next);
    index.follow(&catalog);
    assert_eq!(paths(&ask(&index, "tickets")), ["/jira"]);
    put(&mut catalog, old.written(NOW, |server| server.is_enabled = false));
    index.follow(&catalog);
    assert_eq!(paths(&ask(&index, "tickets jira")), [""; 0]);
    put(&mut catalog, (*old).clone());
    index.follow(&catalog);
    assert_eq!(paths(&ask(&index, "tickets")), ["/jira"]);
    Arc::make_mut(&mut catalog.servers).remove("/jira");
    index.follow(&catalog);
    assert_eq!(paths(&ask(&index, "tickets jira")), [""; 0]);
}

#[test]
fn what_did_not_change_is_not_read_again() {
    let mut catalog = zoo();
    let index = index(&catalog);
    let before = index.snapshot();
    index.follow(&catalog.clone());
    assert!(Arc::ptr_eq(&before, &index.snapshot()), "the same catalog makes no new snapshot");
    put(&mut catalog, server("/alpha", "Alpha", "", &[]));
    // What another node wrote comes with equal copies of all the rest.
    let copy = (*catalog.servers["/maps"]).clone();
    put(&mut catalog, copy);
    index.follow(&catalog);
    let after = index.snapshot();
    assert_eq!(after.entries.servers.len(), 5);
    for old in &before.entries.servers {
        assert!(after.entries.servers.iter().any(|new| Arc::ptr_eq(old, new)), "{}", old.server.path);
    }
}

#[test]
fn what_may_not_be_found_is_not_counted() {
    let mut catalog = zoo();
    let mut hidden = server("/hidden", "Hidden issues", "issues", &[]);
    hidden.visibility = Visibility::Private;
    put(&mut catalog, hidden);
    offer(&mut catalog, "/hidden", "v1", &[("issue", "issue")]);
    let index = index(&catalog);
    let query = Query { text: "issues", meaning: None, tags: &[], kinds: Kinds::ALL, max_results: 1 };
    let found = index.query(&query, |server| server.visibility == Visibility::Public);
    assert_eq!((found.total_servers, found.total_tools), (2, 2));
    assert_eq!((found.servers.len(), found.tools.len()), (1, 1));
    let all = index.query(&query, |_| true);
    assert_eq!((all.total_servers, all.total_tools), (3, 3));
    assert_eq!(paths(&all), ["/hidden"]);
}

#[test]
fn tags_filter_and_kinds_choose() {
    let index = index(&zoo());
    assert_eq!(paths(&ask(&index, "#code")), ["/github", "/jira"]);
    assert_eq!(paths(&ask(&index, "issues #WORK")), ["/jira"]);
    assert_eq!(paths(&ask(&index, "issues #code #none")), [""; 0]);
    let tags = ["Git".to_owned()];
    let kinds = Kinds { servers: false, tools: true, virtual_servers: false };
    let found =
        index.query(&Query { text: "issue", meaning: None, tags: &tags, kinds, max_results: 10 }, |_| true);
    assert_eq!(tools(&found), ["create_issue"]);
    assert_eq!((found.servers.len(), found.total_servers), (0, 0));
}

#[test]
fn virtual_servers_are_found_while_enabled() {
    let mut catalog = zoo();
    let row = Mapping {
        tool: "create_issue".into(),
        server: ServerPath::parse("path", "/jira").unwrap(),
        alias: None,
        pin: None,
        description: Some("Opens a wombat".into()),
    };
    let mut one = VirtualServer {
        slug: Slug::parse("path", "dev-tools").unwrap(),
        name: "Developer Tools".into(),
        description: "Everything for a working day".into(),
        tags: vec!["daily".into()],
        mappings: vec![row],
        required_scopes: Vec::new(),
        overrides: Vec::new(),
        instructions: None,
        exposes_prompts: true,
        exposes_resources: true,
        resource_routes: Vec::new(),
        is_enabled: true,
        owner: None,
        revision: 1,
        created_at: NOW,
        updated_at: NOW,
    };
    let put = |catalog: &mut Catalog, one: &VirtualServer| {
        Arc::make_mut(&mut catalog.virtual_servers).insert(one.slug.clone(), Arc::new(one.clone()));
    };
    put(&mut catalog, &one);
    let index = index(&catalog);
    let slugs = |text: &str| -> Vec<String> {
        ask(&index, text).virtual_servers.iter().map(|one| one.virtual_server.slug.to_string()).collect()
    };
    for text in ["dev-tools", "/virtual/dev-tools", "working days", "wombats", "create issue", "#daily"] {
        assert_eq!(slugs(text), ["dev-tools"], "{text}");
    }
    assert_eq!(ask(&index, "/virtual/dev-tools").virtual_servers[0].relevance, 1.0);
    one.is_enabled = false;
    put(&mut catalog, &one);
    index.follow(&catalog);
    assert_eq!(slugs("dev-tools"), [""; 0]);
}

#[test]
fn words_of_texts_long_gone_are_forgotten() {
    let index = Index::default();
    let mut catalog = Catalog::default();
    let mut made = 0;
    let mut shrank = false;
    for round in 0..10 {
        let tools: Vec<String> = (0..500)
            .map(|_| {
                made += 1;
                format!("w{made}")
            })
            .collect();
        put(&mut catalog, server("/one", "One", &tools.join(" "), &[]));
        let before = index.snapshot().vocabulary.read().unwrap().len();
        index.follow(&catalog);
        shrank |= index.snapshot().vocabulary.read().unwrap().len() < before;
        assert_eq!(paths(&ask(&index, &tools[7])), ["/one"], "{round}");
    }
    assert!(shrank, "the vocabulary only grows");
}

/// Gives every text that is wanted a vector: along the first axis where it holds the word, else the second.
fn learn(index: &Index, word: &str) {
    let vector = |text: &str| Vector::of(&if text.contains(word) { [1.0, -0.1] } else { [-0.01, 1.0] });
    loop {
        let wanted = index.wanted(3);
        if wanted.is_empty() {
            return;
        }
        index.learn(wanted.into_iter().map(|(digest, text)| (digest, vector(&text))).collect());
    }
}

#[test]
fn meaning_finds_what_words_do_not_and_hidden_servers_do_not_count() {
    let mut catalog = zoo();
    let mut hidden = server("/hidden", "Dashboards", "more", &[]);
    hidden.visibility = Visibility::Private;
    put(&mut catalog, hidden);
    let index = index(&catalog);
    learn(&index, "Dashboards");
    let meaning = Vector::of(&[1.0, 0.0]);
    let ask = |text: &str, may_find: &dyn Fn(&Server) -> bool| {
        let meaning = meaning.as_ref();
        let query = Query { text, meaning, tags: &[], kinds: Kinds::ALL, max_results: 10 };
        index.query(&query, may_find)
    };
    let found = ask("charts", &|_| true);
    assert_eq!(paths(&found), ["/grafana", "/hidden"]);
    assert_eq!((found.total_servers, found.total_tools), (2, 0));
    let found = ask("charts", &|server| server.visibility == Visibility::Public);
    assert_eq!((paths(&found), found.total_servers), (vec!["/grafana"], 1));
    assert_eq!(paths(&ask("#work charts", &|_| true)), [""; 0]);
    // An exact name stands before everything that is only alike.
    assert_eq!(paths(&ask("jira", &|_| true))[0], "/jira");
    assert_eq!(ask("jira", &|_| true).servers[0].relevance, 1.0);
}

#[test]
fn tools_are_found_by_meaning_among_thousands() {
    let mut catalog = Catalog::default();
    let tools: Vec<String> = (0..50).map(|number| format!("tool_{number}")).collect();
    for number in 0..60 {
        let path = format!("/s{number}");
        put(&mut catalog, server(&path, &path, "", &[]));
        let told: Vec<_> = tools.iter().map(|name| (name.as_str(), "does little")).collect();
        offer(&mut catalog, &path, "v1", &told);
    }
    offer(&mut catalog, "/s30", "v1", &[("one", "plain"), ("needle", "sews")]);
    let index = index(&catalog);
    learn(&index, "sews");
    let meaning = Vector::of(&[1.0, -0.01]);
    let query =
        Query { text: "tailor", meaning: meaning.as_ref(), tags: &[], kinds: Kinds::ALL, max_results: 10 };
    let found = index.query(&query, |_| true);
    assert_eq!(tools_of(&found), [("/s30", "needle")]);
    // Its server is found by it.
    assert_eq!(paths(&found), ["/s30"]);
    assert_eq!(found.servers[0].tools.len(), 1);
}

fn tools_of(found: &Found) -> Vec<(&str, &str)> {
    found.tools.iter().map(|one| (one.server.path.as_str(), &*one.name)).collect()
}

#[test]
fn unchanged_texts_are_not_wanted_again() {
    let mut catalog = zoo();
    let index = index(&catalog);
    learn(&index, "x");
    let mut jira = (*catalog.servers[&ServerPath::parse("path", "/jira").unwrap()]).clone();
    jira.owner = Some("somebody".into());
    put(&mut catalog, jira.clone());
    index.follow(&catalog);
    assert_eq!(index.wanted(10), []);
    jira.name = "Jira Cloud".into();
    put(&mut catalog, jira);
    index.follow(&catalog);
    let wanted: Vec<_> = index.wanted(10).into_iter().map(|(_, text)| text).collect();
    let expected =
        "Jira Cloud: Tracks issues of projects. code, work. jira: issue tracker, bugs, tickets, projects";
    assert_eq!(wanted, [expected]);
}

#[test]
fn a_query_is_read_with_what_its_words_stand_for() {
    let index = index(&zoo());
    for (text, expected) in [
        ("gh #code issues", "gh issues github"),
        ("grafana", "grafana"),
        ("dashbords today", "dashbords today dashboards"),
        ("#code", ""),
    ] {
        assert_eq!(index.reading(text), expected, "{text}");
    }
}

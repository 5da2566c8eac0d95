//! The configuration from its sources to its resolution.

use std::time::Duration;

use super::*;

fn load(toml: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("switchyard.toml");
    std::fs::write(&file, toml).expect("a file");
    let owned = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    let sources = Sources { file: Some(file), environment: owned(environment), flags: owned(flags) };
    Config::load(&sources).map_err(|faults| faults.to_string())
}

#[test]
fn nothing_said_gives_the_defaults() {
    let config = load("", &[], &[]).expect("defaults");
    assert_eq!(config.server.listen, "127.0.0.1:8080");
    assert_eq!(config.server.max_body_bytes, 16 << 20);
    assert_eq!(config.server.max_connections, 20_000);
    assert_eq!(config.server.shutdown_grace, Duration::from_secs(30));
    assert!(config.server.allowed_hosts.is_empty());
    assert!(config.backends.allow_private);
    assert!(!config.backends.allow_private_learnt);
    assert!(config.auth.anonymous.is_empty());
    assert!(!config.versions.strict);
    assert_eq!(config.sessions.max, 100_000);
    assert_eq!(config.log.format, log::Format::Text);
}

#[test]
fn a_command_gets_little_of_our_environment() {
    let file = r#"
        [stdio]
        idle_timeout = "1m"
        [stdio.commands.files]
        command = "npx"
        args = ["-y", "server"]
        env = { LANG = "C", KEY = "given" }
        pass_env = ["GITHUB_TOKEN"]
        cwd = "/"
    "#;
    let environment = [
        ("PATH", "/bin"),
        ("LANG", "de_DE"),
        ("AWS_SECRET", "x"),
        ("GITHUB_TOKEN", "t"),
        ("SWITCHYARD_STDIO__MAX_PROCESSES", "5"),
    ];
    let config = load(file, &environment, &[]).expect("a configuration");
    assert_eq!(config.stdio.limits.processes, 5);
    assert_eq!(config.stdio.limits.idle, Duration::from_secs(60));
    let command = &config.stdio.commands["files"];
    let given: Vec<_> =
        command.environment.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
    assert_eq!(given, [("GITHUB_TOKEN", "t"), ("KEY", "given"), ("LANG", "C"), ("PATH", "/bin")]);
    assert_eq!(
        (&command.program, &command.arguments[..]),
        (&"npx".into(), &["-y".to_owned(), "server".into()][..])
    );
    assert!(!format!("{config:?}").contains("given"), "secrets are not shown");
}

#[test]
fn commands_are_checked() {
    let cases = [
        ("[stdio.commands.files]\nargs = []", "command"),
        ("[stdio.commands.files]\ncommand = \"\"", "must name a program"),
        ("[stdio.commands.files]\ncommand = \"x\"\ncmd = 1", "cmd"),
        ("[stdio.commands.\"a b\"]\ncommand = \"x\"", "a name is 1 to 64"),
        ("[stdio.commands.files]\ncommand = \"x\"\ncwd = \"/no/where\"", "no directory /no/where"),
        ("[stdio.commands.files]\ncommand = \"x\"\npass_env = [\"SWITCHYARD_X\"]", "the gateway's own"),
        ("[stdio.files]\ncommand = \"x\"", "there is no setting stdio.files"),
        ("[stdio]\nmax_processes = 0", "stdio.max_processes"),
        ("[stdio]\nidle_timeout = 0", "stdio.idle_timeout"),
    ];
    for (toml, expected) in cases {
        let said = load(toml, &[], &[]).expect_err(toml);
        assert!(said.contains(expected), "{toml:?} gave {said:?}");
    }
    let missing = load("[stdio.commands.files]\ncommand = \"x\"\npass_env = [\"MISSING\"]", &[], &[]);
    let warnings = missing.expect("a configuration").warnings;
    assert!(warnings[0].contains("MISSING is not set"), "{warnings:?}");
}

#[test]
fn later_sources_win() {
    let file = "[server]\nlisten = \"127.0.0.1:1\"\nmax_connections = 5\n[health]\nparallel = 3";
    let environment = [("SWITCHYARD_LISTEN", "127.0.0.1:2"), ("SWITCHYARD_SERVER__MAX_CONNECTIONS", "6")];
    let config = load(file, &environment, &[("server.listen", "127.0.0.1:3")]).expect("a configuration");
    assert_eq!(config.server.listen, "127.0.0.1:3");
    assert_eq!(config.server.max_connections, 6);
    assert_eq!(config.health.parallel, 3);
}

#[test]
fn unknown_keys_are_named_with_their_neighbour() {
    let cases = [
        ("[server]\nlisten_address = \"x\"", "there is no setting server.listen_address"),
        ("[server]\nmax_conections = 5", "did you mean server.max_connections?"),
        ("[sever]\nlisten = \"x\"", "did you mean server?"),
        ("listen = \"127.0.0.1:1\"", "did you mean server.listen?"),
        ("[backends]\nstrict = true", "did you mean versions.strict?"),
        ("server = 5", "write [server]"),
        ("[zebra]\na = 1", "the sections are audit, auth, backends"),
    ];
    for (toml, expected) in cases {
        let said = load(toml, &[], &[]).expect_err(toml);
        assert!(said.contains(expected), "{toml:?} gave {said:?}");
    }
    let said = load("", &[], &[("server.lisen", "x")]).expect_err("a flag");
    assert!(said.contains("did you mean server.listen?"), "{said}");
}

#[test]
fn a_strange_name_in_the_environment_is_a_warning() {
    let environment = [
        ("SWITCHYARD_SERVICE_HOST", "10.0.0.1"),
        ("SWITCHYARD_TOKEN", "secret"),
        ("PATH", "/bin"),
        ("SWITCHYARD_BACKENDS__ALLOW_PRIVATE", "false"),
        ("SWITCHYARD_AUTH__ANONYMOUS", "[/a, \"/b\"]"),
    ];
    let config = load("", &environment, &[]).expect("a configuration");
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    assert!(config.warnings[0].contains("SWITCHYARD_SERVICE_HOST"));
    assert!(!config.backends.allow_private);
    assert_eq!(config.auth.anonymous, ["/a", "/b"]);
}

#[test]
fn every_bad_value_is_reported_at_once() {
    let file = r#"
        [server]
        max_body_bytes = "1GiB"
        max_connections = 0
        public_url = "ftp://x"
        path_prefix = "no slash"
        allowed_origins = ["app.example.com"]
        [auth]
        anonymous = ["context7"]
        root_key = "abc"
        [backends]
        connect_timeout = 0
        extra_ca_files = ["/no/such/file.pem"]
        [health]
        probe_every = "10ms"
        parallel = 0
        [sessions]
        store_idle = "1s"
        [log]
        level = "info,=,"
    "#;
    let said = load(file, &[], &[]).expect_err("faults");
    let keys = [
        "server.max_body_bytes",
        "server.max_connections",
        "server.public_url",
        "server.path_prefix",
        "server.allowed_origins",
        "auth.anonymous",
        "auth.root_key",
        "backends.connect_timeout",
        "backends.extra_ca_files",
        "health.probe_every",
        "health.parallel",
        "sessions.store_idle",
        "log.level",
    ];
    for key in keys {
        assert!(said.contains(key), "{key} is missing in {said}");
    }
}

#[test]
fn a_wrong_type_names_key_and_source() {
    let said = load("[server]\nmax_connections = \"many\"", &[], &[]).expect_err("a fault");
    assert!(said.contains("max_connections") && said.contains("switchyard.toml"), "{said}");
    let said = load("", &[("SWITCHYARD_SHUTDOWN_GRACE", "soon")], &[]).expect_err("a fault");
    assert!(said.contains("shutdown_grace") && said.contains("SWITCHYARD_SHUTDOWN_GRACE"), "{said}");
    for listen in ["8080", "localhost", "127.0.0.1:99999", ""] {
        let said = load("", &[], &[("server.listen", listen)]).expect_err(listen);
        assert!(said.contains("server.listen") || said.contains("listen"), "{said}");
    }
}

#[test]
fn settings_of_the_server_are_refused_in_plain_words() {
    let plain = "segments are letters, digits";
    for (key, text, expected) in [
        ("server.data_threads", "0", "server.data_threads: must lie between 1 and 256"),
        ("server.data_threads", "257", "server.data_threads: must lie between 1 and 256"),
        ("server.data_dir", "", "server.data_dir: must not be empty"),
        ("server.path_prefix", "/a/../b", plain),
        ("server.path_prefix", "/..", plain),
        ("server.path_prefix", "/./a", plain),
        ("server.path_prefix", "/a//b", plain),
        ("server.path_prefix", "//a", plain),
        ("server.path_prefix", "/a//", plain),
        ("server.path_prefix", "//", plain),
        ("server.path_prefix", "/a?b", plain),
        ("server.path_prefix", "/a%2e", plain),
        ("server.path_prefix", "gateway", "is no path"),
        ("server.path_prefix", "/api", "belongs to the gateway"),
        ("server.public_url", "https://h/a//b", "server.public_url"),
        ("server.public_url", "https://h/virtual/", "belongs to the gateway"),
    ] {
        let said = load("", &[], &[(key, text)]).expect_err(text);
        assert!(said.contains(expected), "{key} {text:?} gave {said:?}");
    }
    for (text, expected) in [("/gateway", "/gateway"), ("/a.b/c~d/", "/a.b/c~d"), ("/", ""), ("/...", "/...")]
    {
        assert_eq!(load("", &[], &[("server.path_prefix", text)]).expect(text).server.path_prefix, expected);
    }
    let one = load("", &[], &[("server.data_threads", "256")]).expect("a configuration");
    assert_eq!(one.server.data_threads, 256);
}

#[test]
fn files_are_read_up_to_a_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("large");
    std::fs::write(&file, vec![b'a'; (4 << 20) + 1]).expect("a file");
    let file = file.display();
    for toml in
        [format!("[auth]\nroot_key_file = \"{file}\""), format!("[backends]\nextra_ca_files = [\"{file}\"]")]
    {
        let said = load(&toml, &[], &[]).expect_err("a fault");
        assert!(said.contains("is it the right file?"), "{said}");
    }
}

#[test]
fn a_public_url_gives_prefix_host_and_origin() {
    let file = "[server]\npublic_url = \"https://mcp.example.com/gateway/\"";
    let config = load(file, &[], &[]).expect("a configuration");
    assert_eq!(config.server.public_url.as_deref(), Some("https://mcp.example.com/gateway"));
    assert_eq!(config.server.path_prefix, "/gateway");
    assert_eq!(config.server.allowed_hosts, ["mcp.example.com"]);
    assert_eq!(config.server.allowed_origins, ["https://mcp.example.com"]);
}

#[test]
fn listening_to_the_world_lets_any_host_in_and_says_so() {
    let config = load("", &[], &[("server.listen", "0.0.0.0:8080")]).expect("a configuration");
    assert_eq!(config.server.allowed_hosts, ["*"]);
    assert_eq!(config.warnings.len(), 1);
    let file = "[server]\nlisten = \"0.0.0.0:8080\"\nallowed_hosts = [\"Gateway\"]";
    let config = load(file, &[], &[]).expect("a configuration");
    assert_eq!(config.server.allowed_hosts, ["gateway"]);
    assert!(config.warnings.is_empty());
}

#[test]
fn a_missing_named_file_is_a_fault() {
    let sources = Sources { file: Some("/no/such/switchyard.toml".into()), ..Sources::default() };
    let said = Config::load(&sources).expect_err("a fault").to_string();
    assert!(said.contains("/no/such/switchyard.toml"), "{said}");
}

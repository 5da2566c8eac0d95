//! Names against their rules.

use proptest::prelude::*;

use super::*;

fn check<Name: std::fmt::Display>(
    parse: fn(&str, &str) -> Result<Name, Invalid>,
    input: &str,
    expected: Result<&str, &str>,
) {
    match (parse("field", input), expected) {
        (Ok(name), Ok(expected)) => assert_eq!(name.to_string(), expected, "{input:?}"),
        (Err(invalid), Err(part)) => {
            assert_eq!(invalid.field, "field");
            assert!(invalid.reason.contains(part), "{input:?}: {:?} lacks {part:?}", invalid.reason);
        }
        (Ok(name), Err(part)) => panic!("{input:?} became {name}, not an error with {part:?}"),
        (Err(invalid), Ok(expected)) => panic!("{input:?}: {invalid}, not {expected}"),
    }
}

#[test]
fn paths() {
    let longest = format!("/{}", "a".repeat(MAX_PATH_BYTES - 1));
    for (input, expected) in [
        ("/context7", Ok("/context7")),
        ("context7", Ok("/context7")),
        (" /Context7/ ", Ok("/context7")),
        ("/a/b/c", Ok("/a/b/c")),
        ("/a.b_c-d9", Ok("/a.b_c-d9")),
        ("/...", Ok("/...")),
        ("/apix", Ok("/apix")),
        ("/a/api", Ok("/a/api")),
        ("/mcp", Ok("/mcp")),
        (&longest, Ok(&longest)),
        (&format!("{longest}a"), Err("longer than 256")),
        ("", Err("is required")),
        ("/", Err("is required")),
        ("//", Err("is required")),
        ("//a", Err("empty")),
        ("/a//b", Err("empty")),
        ("/a//", Err("empty")),
        ("/.", Err("`.` or `..`")),
        ("/a/../b", Err("`.` or `..`")),
        ("/a/./b", Err("`.` or `..`")),
        ("/a b", Err("other characters")),
        ("/a:v1.0.0", Err("other characters")),
        ("/a%2fb", Err("other characters")),
        ("/a?x", Err("other characters")),
        ("/größe", Err("other characters")),
        ("/a\\b", Err("other characters")),
        ("/a/mcp", Err("meaning of its own")),
        ("/a/versions", Err("meaning of its own")),
        ("/a/Tools/b", Err("meaning of its own")),
    ] {
        check(ServerPath::parse, input, expected);
    }
    assert_eq!(ServerPath::parse("path", "/team/github").unwrap().group(), "team/github");
}

#[test]
fn reserved_roots() {
    for root in RESERVED_ROOTS {
        check(ServerPath::parse, &format!("/{root}"), Err("belongs to the gateway"));
        check(ServerPath::parse, &format!("/{}/a/", root.to_uppercase()), Err("belongs to the gateway"));
        check(ServerPath::parse, &format!("/{root}x"), Ok(&format!("/{root}x")));
    }
}

#[test]
fn labels() {
    let longest = "a".repeat(MAX_LABEL_BYTES);
    for (input, expected) in [
        ("v1.5.0", Ok("v1.5.0")),
        (" v1.5.0\t", Ok("v1.5.0")),
        ("2026-01-14_RC+1", Ok("2026-01-14_RC+1")),
        ("Latest", Ok("Latest")),
        ("latest2", Ok("latest2")),
        (&longest, Ok(&longest)),
        (&format!("{longest}a"), Err("1 to 64")),
        ("", Err("1 to 64")),
        ("  ", Err("1 to 64")),
        ("v1 5", Err("1 to 64")),
        ("v1,v2", Err("1 to 64")),
        ("v1:0", Err("1 to 64")),
        ("v1/0", Err("1 to 64")),
        ("vé", Err("1 to 64")),
        ("latest", Err("active version")),
        (" latest ", Err("active version")),
        ("default", Err("names the switch")),
        (".", Err("URLs")),
        ("..", Err("URLs")),
    ] {
        check(VersionLabel::parse, input, expected);
    }
    assert_eq!(VersionLabel::first().as_str(), "v1.0.0");
    assert_eq!(VersionLabel::parse("version", "v1.0.0").unwrap(), VersionLabel::first());
}

#[test]
fn slugs() {
    let longest = "a".repeat(MAX_SLUG_BYTES);
    for (input, expected) in [
        ("dev-tools", Ok("dev-tools")),
        ("/virtual/dev-tools", Ok("dev-tools")),
        ("/virtual/dev-tools/", Ok("dev-tools")),
        ("/dev-tools", Ok("dev-tools")),
        ("2", Ok("2")),
        (&longest, Ok(&longest)),
        (&format!("{longest}a"), Err("lower-case letters")),
        ("", Err("lower-case letters")),
        ("/virtual/", Err("lower-case letters")),
        ("Dev-Tools", Err("lower-case letters")),
        ("dev--tools", Err("single hyphens")),
        ("-dev", Err("single hyphens")),
        ("dev-", Err("single hyphens")),
        ("dev_tools", Err("lower-case letters")),
        ("dev/tools", Err("lower-case letters")),
        ("dev tools", Err("lower-case letters")),
    ] {
        check(Slug::parse, input, expected);
    }
    assert_eq!(Slug::parse("path", "dev-tools").unwrap().path(), "/virtual/dev-tools");
}

#[test]
fn slugs_from_titles() {
    for (input, expected) in [
        ("Dev Tools!", Ok("dev-tools")),
        ("  Dev -- Tools  ", Ok("dev-tools")),
        ("dev_tools (2)", Ok("dev-tools-2")),
        ("Größe", Ok("gr-e")),
        ("!!!", Err("lower-case letters")),
        ("", Err("lower-case letters")),
    ] {
        check(Slug::from_title, input, expected);
    }
}

#[test]
fn tool_names() {
    let longest = "a".repeat(MAX_NAME_BYTES);
    for (input, expected) in [
        ("github_search", Ok("github_search")),
        ("A.b-c_9", Ok("A.b-c_9")),
        (&longest, Ok(&longest)),
        (&format!("{longest}a"), Err("1 to 128")),
        ("", Err("1 to 128")),
        (" a", Err("1 to 128")),
        ("a/b", Err("1 to 128")),
        ("suche\u{308}", Err("1 to 128")),
    ] {
        check(ToolName::parse, input, expected);
    }
}

proptest! {
    #[test]
    fn a_name_that_passed_passes_again(text in ".{0,40}|[/a-z.-]{0,12}") {
        if let Ok(path) = ServerPath::parse("f", &text) {
            prop_assert_eq!(&ServerPath::parse("f", path.as_str()).unwrap(), &path);
            prop_assert!(path.as_str().starts_with('/') && !path.as_str().ends_with('/'));
        }
        if let Ok(label) = VersionLabel::parse("f", &text) {
            prop_assert_eq!(&VersionLabel::parse("f", label.as_str()).unwrap(), &label);
        }
        if let Ok(slug) = Slug::from_title("f", &text) {
            prop_assert_eq!(&Slug::parse("f", &slug.path()).unwrap(), &slug);
        }
    }
}

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{MAX_MARKS, Mark, Mismatch, check, headers, marks};

mod properties;

/// Writes marks as `header=path` for comparison.
fn shown(schema: &str) -> Result<Vec<String>, String> {
    let line = |mark: &Mark| {
        let name = mark.header.as_str().strip_prefix("mcp-param-").expect("the prefix");
        format!("{name}={}", mark.path.join("."))
    };
    marks(schema.as_bytes()).map(|marks| marks.iter().map(line).collect()).map_err(|unfit| unfit.to_string())
}

#[test]
fn marks_are_read_with_their_places() {
    let check = |schema: &str, expected: &[&str]| {
        assert_eq!(shown(schema), Ok(expected.iter().map(ToString::to_string).collect()), "{schema}");
    };
    check(r#"{"type":"object"}"#, &[]);
    check("true", &[]);
    check(r#"{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}"#, &["region=a"]);
    check(r#"{"properties":{"a":{"x-mcp-h\u0065ader":"R","type":"integer"}}}"#, &["r=a"]);
    check(
        r#"{"properties":{"z":{"type":"boolean","x-mcp-header":"Z"},"a":{"type":["string","null"],"x-mcp-header":"A"}}}"#,
        &["z=z", "a=a"],
    );
    check(
        r#"{"properties":{"o":{"type":"object","properties":{"l":{"type":"integer","x-mcp-header":"Limit"}}}}}"#,
        &["limit=o.l"],
    );
    // A parameter of that name, and data: no marks.
    check(r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#, &[]);
    check(
        r#"{"default":{"x-mcp-header":"A"},"examples":[{"x-mcp-header":"A"}],"x-other":{"x-mcp-header":1}}"#,
        &[],
    );
    check(
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"~!#$%&'*+-.^_`|09"}}}"#,
        &["~!#$%&'*+-.^_`|09=a"],
    );
}

#[test]
fn unfit_marks_are_refused_with_a_reason() {
    let check = |schema: &str, reason: &str| {
        let found = shown(schema).expect_err(schema);
        assert!(found.contains(reason), "{schema}: {found}");
    };
    for name in
        [r#""""#, r#""My Region""#, r#""a:b""#, r#""Région""#, r#""a\r\nb""#, r#""a\u0007""#, "7", "null"]
    {
        let schema = format!(r#"{{"properties":{{"a":{{"type":"string","x-mcp-header":{name}}}}}}}"#);
        check(&schema, "cannot name a header");
    }
    for kind in [
        r#""number""#,
        r#""object""#,
        r#""array""#,
        r#""null""#,
        r#"["string","integer"]"#,
        r#"["null"]"#,
        "1",
    ] {
        let schema = format!(r#"{{"properties":{{"a":{{"type":{kind},"x-mcp-header":"A"}}}}}}"#);
        check(&schema, "other than a string, an integer or a boolean");
    }
    check(r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#, "other than a string");
    check(
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"REGION"}}}"#,
        r#"of "b" names the header mcp-param-region a second time"#,
    );
    let inner = r#"{"type":"string","x-mcp-header":"A"}"#;
    for (place, schema) in [
        ("the schema itself", r#"{"type":"string","x-mcp-header":"A"}"#.to_owned()),
        (r#""a""#, format!(r#"{{"properties":{{"a":{{"type":"array","items":{inner}}}}}}}"#)),
        (r#""a.b""#, format!(r#"{{"properties":{{"a":{{"items":{{"properties":{{"b":{inner}}}}}}}}}}}"#)),
        (r#""a""#, format!(r#"{{"oneOf":[{{"properties":{{"a":{inner}}}}}]}}"#)),
        (r#""a""#, format!(r#"{{"then":{{"properties":{{"a":{inner}}}}}}}"#)),
        (
            r#""a""#,
            format!(r#"{{"$defs":{{"a":{inner}}},"properties":{{"a":{{"$ref":"\u0023/$defs/a"}}}}}}"#),
        ),
        (r#""a""#, format!(r#"{{"patternProperties":{{"a":{inner}}}}}"#)),
        ("the schema itself", format!(r#"{{"additionalProperties":{inner}}}"#)),
        ("the schema itself", format!(r#"{{"prefixItems":[{inner}]}}"#)),
    ] {
        check(&schema, &format!("stands in {place}, which no chain"));
    }
}

#[test]
fn marks_are_bounded() {
    let many = |count: usize| {
        let one = |at: usize| format!(r#""p{at}":{{"type":"string","x-mcp-header":"H{at}"}}"#);
        format!(r#"{{"properties":{{{}}}}}"#, (0..count).map(one).collect::<Vec<_>>().join(","))
    };
    assert_eq!(shown(&many(MAX_MARKS)).map(|marks| marks.len()), Ok(MAX_MARKS));
    assert!(shown(&many(MAX_MARKS + 1)).is_err());
    let deep = format!(r#"{}"x-mcp-header"{}"#, r#"{"not":"#.repeat(200), "}".repeat(200));
    assert!(shown(&deep).is_err());
}

fn mark(name: &str, path: &[&str]) -> Mark {
    let header = HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes()).expect("a name");
    Mark { header, path: path.iter().map(|&part| part.into()).collect() }
}

#[test]
fn arguments_become_headers() {
    let check = |argument: &str, expected: Option<&str>| {
        let arguments = format!(r#"{{"a":{{"b":{argument}}}}}"#);
        let marks = [mark("x", &["a", "b"])];
        let made: Vec<_> = headers(&marks, Some(arguments.as_bytes())).map(|(_, value)| value).collect();
        let expected: Vec<_> =
            expected.iter().map(|text| HeaderValue::from_str(text).expect("ascii")).collect();
        assert_eq!(made, expected, "{argument}");
    };
    check(r#""us-west1""#, Some("us-west1"));
    check(r#""""#, Some(""));
    check(r#""two words""#, Some("two words"));
    check(r#""Hello, 世界""#, Some("=?base64?SGVsbG8sIOS4lueVjA==?="));
    check(r#"" padded ""#, Some("=?base64?IHBhZGRlZCA=?="));
    check(r#""line1\nline2""#, Some("=?base64?bGluZTEKbGluZTI=?="));
    check(r#""a\tb""#, Some("=?base64?YQli?="));
    check(r#""=?base64?literal?=""#, Some("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="));
    check("true", Some("true"));
    check("false", Some("false"));
    check("42", Some("42"));
    check("-7", Some("-7"));
    check("-0", Some("0"));
    check("42.0", Some("42"));
    check("4.2e1", Some("42"));
    check("1e400", Some("1e400"));
    check("1.5", Some("1.5"));
    check("9007199254740993", Some("9007199254740993"));
    for none in ["null", "{}", "[1]", r#""\ud800""#] {
        check(none, None);
    }
    let marks = [mark("x", &["a"])];
    for arguments in [None, Some("{}"), Some("[]"), Some(r#"{"a":1,"a":2}"#)] {
        assert_eq!(headers(&marks, arguments.map(str::as_bytes)).count(), 0, "{arguments:?}");
    }
}

#[test]
fn headers_are_compared_with_arguments() {
    let name = HeaderName::from_static("mcp-param-x");
    let (missing, unlike) = (Err(Mismatch::Missing(name.clone())), Err(Mismatch::Unlike(name.clone())));
    let malformed = Err(Mismatch::Malformed(name.clone()));
    let told = |argument: &str, sent: &[&str]| {
        let mut headers = HeaderMap::new();
        headers.insert("mcp-param-other", HeaderValue::from_static("whatever"));
        for value in sent {
            headers.append(name.clone(), HeaderValue::from_bytes(value.as_bytes()).expect("a value"));
        }
        let arguments = if argument.is_empty() { "{}".into() } else { format!(r#"{{"a":{argument}}}"#) };
        check(&[mark("x", &["a"])], Some(arguments.as_bytes()), &headers)
    };
    for (argument, sent) in [
        ("", None),
        ("null", None),
        ("{}", None),
        ("[1]", None),
        (r#""us""#, Some("us")),
        (r#""us""#, Some(" us ")),
        (r#""us""#, Some("=?base64?dXM=?=")),
        (r#""""#, Some("")),
        (r#""=?base64?dXM""#, Some("=?base64?dXM")),
        ("42", Some("42.0")),
        ("42.0", Some("42")),
        ("1e2", Some("100")),
        ("-0", Some("0")),
        ("9007199254740993", Some("9007199254740993")),
        ("true", Some("true")),
    ] {
        assert_eq!(told(argument, sent.as_slice()), Ok(()), "{argument}: {sent:?}");
    }
    for (argument, sent, expected) in [
        (r#""us""#, None, &missing),
        ("1", None, &missing),
        ("", Some("us"), &unlike),
        ("null", Some("null"), &unlike),
        ("{}", Some("{}"), &unlike),
        (r#"1,"a":1"#, Some("1"), &unlike),
        (r#"1,"a":1"#, None, &unlike),
        (r#""us""#, Some("eu"), &unlike),
        (r#""us""#, Some("US"), &unlike),
        (r#""42""#, Some("42.0"), &unlike),
        ("42", Some("+42"), &unlike),
        ("42", Some("042"), &unlike),
        ("42", Some("43"), &unlike),
        ("9007199254740993", Some("9007199254740992"), &unlike),
        ("true", Some("True"), &unlike),
        ("true", Some("1"), &unlike),
        (r#""Hello""#, Some("=?base64?SGVsbG8?="), &malformed),
        (r#""Hello""#, Some("=?base64?SGVs!!!bG8=?="), &malformed),
        (r#""é""#, Some("é"), &malformed),
    ] {
        assert_eq!(told(argument, sent.as_slice()), *expected, "{argument}: {sent:?}");
    }
    assert_eq!(told(r#""us""#, &["us", "us"]), Err(Mismatch::Twice(name.clone())));
}

//! Backend URLs against their rules.

use super::*;

const OPEN: AddressRule = AddressRule { allow_private: true };
const STRICT: AddressRule = AddressRule { allow_private: false };

fn check(rule: AddressRule, text: &str, expected: Result<&str, &str>) {
    match (Endpoint::parse_url("proxy_pass_url", text, rule), expected) {
        (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected, "{text:?}"),
        (Err(invalid), Err(part)) => {
            assert_eq!(invalid.field, "proxy_pass_url");
            assert!(invalid.reason.contains(part), "{text:?}: {:?} lacks {part:?}", invalid.reason);
        }
        (found, expected) => panic!("{text:?}: {found:?}, not {expected:?}"),
    }
}

#[test]
fn urls() {
    for (text, expected) in [
        ("https://mcp.context7.com/mcp", Ok("https://mcp.context7.com/mcp")),
        (" HTTP://Example.COM:80 ", Ok("http://example.com/")),
        ("http://127.0.0.1:9000/mcp?tenant=a%20b", Ok("http://127.0.0.1:9000/mcp?tenant=a%20b")),
        ("http://[::1]:9000/", Ok("http://[::1]:9000/")),
        ("http://localhost/", Ok("http://localhost/")),
        ("http://10.1.2.3/", Ok("http://10.1.2.3/")),
        ("", Err("is not a URL")),
        ("example.com/mcp", Err("is not a URL")),
        ("http://", Err("is not a URL")),
        ("http://a b/", Err("is not a URL")),
        ("http://example.com:99999/", Err("is not a URL")),
        ("ftp://example.com/", Err("must begin with")),
        ("file:///etc/passwd", Err("must begin with")),
        ("unix:/run/mcp.sock", Err("must begin with")),
        ("http://user@example.com/", Err("auth_credential")),
        ("http://user:secret@example.com/", Err("auth_credential")),
        ("http://:secret@example.com/", Err("auth_credential")),
        ("http://example.com/#mcp", Err("fragment")),
        ("http://example.com/#", Err("fragment")),
        ("stdio:files", Ok("stdio:files")),
        (" STDIO:Files-2.x ", Ok("stdio:Files-2.x")),
        ("stdio:", Err("name of a configured command")),
        ("stdio:a b", Err("name of a configured command")),
        ("stdio:/bin/sh", Err("name of a configured command")),
        ("stdio://files", Err("name of a configured command")),
        ("stdio:files?x", Err("name of a configured command")),
        ("stdio:files#", Err("name of a configured command")),
        ("stdio:files%20-rf", Err("name of a configured command")),
    ] {
        check(OPEN, text, expected);
    }
}

#[test]
fn addresses_that_are_never_allowed() {
    for host in [
        "169.254.169.254",
        "169.254.169.254.",
        "169.254.0.1",
        "0xa9fea9fe",
        "2852039166",
        "0251.0376.0251.0376",
        "0.0.0.0",
        "0",
        "255.255.255.255",
        "224.0.0.1",
        "100.100.100.200",
        "[::]",
        "[fe80::1]",
        "[ff02::1]",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "[::ffff:0.0.0.0]",
        "[64:ff9b::169.254.169.254]",
        "192.0.0.192",
        "168.63.129.16",
        "240.0.0.1",
        "0.1.2.3",
        "[::169.254.169.254]",
        "[::ffff:168.63.129.16]",
        "[2002:a9fe:a9fe::1]",
        "[2002:c000:c0::]",
        "[64:ff9b:1:a9fe:a9:fe00::]",
        "[64:ff9b:1::169.254.169.254]",
        "[2001:0:808:808::5601:5601]",
        "metadata",
        "metadata.google.internal",
        "Metadata.Google.Internal.",
        "metadata.goog",
        "instance-data",
    ] {
        for rule in [OPEN, STRICT] {
            check(rule, &format!("http://{host}/mcp"), Err("never allowed"));
        }
    }
}

#[test]
fn private_addresses_may_be_denied() {
    for host in [
        "127.0.0.1",
        "127.8.8.8",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "[::1]",
        "[fd12::1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::10.0.0.1]",
        "[64:ff9b:1:a00:0:100::]",
        "[::127.0.0.1]",
        "[2002:7f00:1::]",
        "[2001:0:a00:1::f7f7:f7f7]",
        "[fec0::1]",
        "100.64.0.1",
        "100.127.255.255",
        "198.18.0.1",
        "198.19.255.255",
        "192.0.0.8",
        "localhost",
        "LOCALHOST.",
        "mcp.localhost",
    ] {
        let url = format!("http://{host}/mcp");
        check(STRICT, &url, Err("the configuration denies"));
        assert!(Endpoint::parse_url("url", &url, OPEN).is_ok(), "{host}");
    }
    for host in [
        "8.8.8.8",
        "172.32.0.1",
        "100.63.0.1",
        "100.128.0.1",
        "198.20.0.1",
        "192.0.2.1",
        "[2001:0:808:808::f7f7:f7f7]",
        "[2001:db8::1]",
        "[64:ff9b:1::8.8.8.8]",
        "[2002:808:808::1]",
        "example.com",
        "notlocalhost",
        "localhost.example.com",
    ] {
        assert!(Endpoint::parse_url("url", &format!("http://{host}/mcp"), STRICT).is_ok(), "{host}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let header = Header { name: "authorization".into(), value: Secret::new("Bearer s3cret") };
    let shown = format!("{header:?}");
    assert!(shown.contains("authorization") && !shown.contains("s3cret"), "{shown}");
    assert_eq!(header.value.reveal(), "Bearer s3cret");
}

#[test]
fn transports() {
    for (text, transport, command) in [
        ("http://127.0.0.1/mcp", Transport::StreamableHttp, None),
        ("https://example.com/", Transport::StreamableHttp, None),
        ("stdio:files", Transport::Stdio, Some("files")),
    ] {
        let url = Endpoint::parse_url("url", text, OPEN).unwrap();
        let endpoint = Endpoint::at(url);
        assert_eq!((endpoint.transport(), endpoint.command()), (transport, command), "{text}");
    }
}

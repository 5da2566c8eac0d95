//! The table of methods holds together.

use super::*;

#[test]
fn the_table_is_in_the_order_of_the_enum() {
    for (place, (method, name)) in TABLE.iter().enumerate() {
        assert_eq!(*method as usize, place);
        assert_eq!((Method::parse(name), method.as_str()), (*method, *name));
    }
    assert_eq!(Method::Other as usize, TABLE.len());
    assert_eq!(
        (Method::parse("tools/Call"), Method::parse(""), Method::Other.as_str()),
        (Method::Other, Method::Other, "")
    );
}

#[test]
fn names_what_the_header_mirrors() {
    let check = |method: &str, expected: Option<Mirrored>| {
        assert_eq!(Method::parse(method).mirrored(), expected, "{method}");
    };
    check("tools/call", Some(Mirrored::Name));
    check("prompts/get", Some(Mirrored::Name));
    check("resources/read", Some(Mirrored::Uri));
    check("tasks/get", Some(Mirrored::TaskId));
    check("tasks/update", Some(Mirrored::TaskId));
    check("tasks/cancel", Some(Mirrored::TaskId));
    check("tools/list", None);
    check("resources/subscribe", None);
    check("vendor/thing", None);
}

use super::Template;

#[test]
fn a_template_fits_what_could_have_been_made_from_it() {
    let check = |template: &str, uri: &str, expected: bool| {
        let one = Template { text: template.into(), backend: 0 };
        assert_eq!(one.fits(uri), expected, "{template} {uri}");
    };
    // Without an expression it is an exact URI.
    check("db://all", "db://all", true);
    check("db://all", "db://all/", false);
    check("", "", true);
    check("", "x", false);
    check("db://{table}", "db://users", true);
    check("db://{table}", "db://", true);
    check("db://{table}", "DB://users", false);
    check("db://{table}", "db:/users", false);
    check("db://{table}", "x-db://users", false);
    check("file:///{+path}", "file:///a/b/c.txt", true);
    check("{scheme}://x", "ftp://x", true);
    check("{scheme}://x", "ftp://xy", false);
    check("db://{table}/rows/{id}", "db://users/rows/7", true);
    check("db://{table}/rows/{id}", "db://users/row/7", false);
    check("db://{table}/rows/{id}.json", "db://users/rows/7.json", true);
    check("db://{table}/rows/{id}.json", "db://users/rows/7.xml", false);
    check("a{x}b{y}b", "a1b2b", true);
    check("a{x}b{y}b", "a1b", false);
    check("a{x}{y}c", "abc", true);
    check("a{x}a", "a", false);
    check("repo://{owner}{?page,size}", "repo://me?page=2", true);
    check("repo://{owner}{/path*}/end", "repo://me/a/b/end", true);
    // A template that is broken fits nothing but does no harm.
    check("db://{table", "db://users", false);
    check("db://}{table}", "db://}x", true);
}

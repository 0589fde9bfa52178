//! PROPFIND and PROPPATCH.

use std::os::unix::fs::symlink;

use serow_webdav::{Element, WriteMode};

use crate::site::Site;

fn site() -> Site {
    let site = Site::new(WriteMode::Dav);
    site.write("a & b.txt", "text");
    site.write("folder/inner", "inner");
    site.write(".hidden", "hidden");
    site.write("../secret", "secret");
    symlink("../secret", site.path("out")).unwrap();
    site
}

fn query(names: &str) -> String {
    format!("<propfind xmlns='DAV:' xmlns:x='other'><prop>{names}</prop></propfind>")
}

fn update(changes: &str) -> String {
    format!("<D:propertyupdate xmlns:D='DAV:' xmlns:x='other'>{changes}</D:propertyupdate>")
}

#[test]
fn a_folder_shows_what_is_served() {
    let site = site();
    for (depth, expected) in [("0", &["/"][..]), ("1", &["/", "/a%20%26%20b.txt", "/folder/"])] {
        let (response, text) = site.ask("PROPFIND /", &[&format!("Depth: {depth}")], "");
        assert_eq!(response.status, 207);
        let root = Element::parse(text.as_bytes()).unwrap();
        let hrefs = root.elements().filter_map(|response| response.dav_child("href"));
        let mut hrefs: Vec<_> = hrefs.map(|href| format!("{:?}", href.children)).collect();
        hrefs.sort();
        assert_eq!(hrefs.len(), expected.len(), "{hrefs:?}");
        for (href, expected) in hrefs.iter().zip(expected) {
            assert!(href.contains(&format!("{expected:?}")), "{href}");
        }
    }
}

#[test]
fn properties_agree_with_the_response_to_get() {
    let site = site();
    let target = "/a%20%26%20b.txt";
    let names = ["getetag", "getlastmodified", "getcontenttype"];
    let (_, text) = site.ask(&format!("PROPFIND {target}"), &["Depth: 0"], "");
    // The tag of a file that was written a moment ago is weak.
    let text = text.replace(">W/", ">");
    for (name, field) in names.iter().zip(["etag", "last-modified", "content-type"]) {
        let value = site.field(&format!("GET {target}"), &[], field).trim_start_matches("W/").replace('"', "&quot;");
        assert!(text.contains(&format!("<D:{name}>{value}</D:{name}>")), "{name}: {value} in {text}");
    }
    for part in [
        "<D:getcontentlength>4</D:getcontentlength>",
        "<D:displayname>a &amp; b.txt</D:displayname>",
        "<D:resourcetype/>",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn only_named_properties_are_returned() {
    let site = site();
    let (_, text) =
        site.ask("PROPFIND /folder", &["Depth: 0"], query("<resourcetype/><getetag/><x:none/><y xmlns=''/>"));
    for part in [
        "<D:prop><D:resourcetype><D:collection/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 OK",
        "<D:prop><D:getetag/><none xmlns=\"other\"/><y/></D:prop><D:status>HTTP/1.1 404 Not Found",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let (_, text) = site.ask("PROPFIND /folder", &["Depth: 0"], query("<quota-available-bytes/>"));
    assert!(text.contains("<D:quota-available-bytes>"), "{text}");
    let (_, text) = site.ask("PROPFIND /folder", &["Depth: 0"], "<propfind xmlns='DAV:'><propname/></propfind>");
    assert!(text.contains("<D:resourcetype/>") && !text.contains("<D:collection/>"), "{text}");
}

#[test]
fn refused_queries() {
    let site = site();
    for (target, fields, body, status) in [
        ("/", &[][..], "", 403),
        ("/", &["Depth: infinity"], "", 403),
        ("/", &["Depth: 2"], "", 400),
        ("/none", &["Depth: 0"], "", 404),
        ("/out", &["Depth: 0"], "", 404),
        ("/.hidden", &["Depth: 0"], "", 404),
        ("/a%20%26%20b.txt/", &["Depth: 0"], "", 404),
        ("/", &["Depth: 0"], "<propfind", 400),
        ("/", &["Depth: 0"], "<propfind xmlns='DAV:'/>", 400),
        ("/", &["Depth: 0"], "<!DOCTYPE a [<!ENTITY b SYSTEM '/etc/passwd'>]><a>&b;</a>", 400),
    ] {
        assert_eq!(site.status(&format!("PROPFIND {target}"), fields, body), status, "{target} {fields:?} {body}");
    }
    let (_, text) = site.ask("PROPFIND /", &[], "");
    assert!(text.contains("<D:propfind-finite-depth>"), "{text}");
    let long = format!("<propfind xmlns='DAV:'><prop>{}</prop></propfind>", " ".repeat(1 << 16));
    assert_eq!(site.ask("PROPFIND /", &["Depth: 0"], long).0.status, 413);
}

#[test]
fn large_folders_are_listed_in_pieces() {
    let site = site();
    for number in 0..500 {
        site.write(&format!("large/{number}"), "");
    }
    let (response, text) = site.ask("PROPFIND /large/", &["Depth: 1"], "");
    assert_eq!(response.status, 207);
    assert_eq!((text.matches("<D:response>").count(), text.matches("</D:multistatus>").count()), (501, 1));
    assert!(text.len() > 100_000);
}

#[test]
fn properties_of_clients_are_stored_and_travel() {
    let site = site();
    let target = "/folder/inner";
    let set = "<D:set><D:prop><x:a><x:b c='d'>e &lt; f</x:b></x:a><x:g/></D:prop></D:set>";
    let (response, text) = site.ask(&format!("PROPPATCH {target}"), &[], update(set));
    assert_eq!(response.status, 207);
    if text.contains("403 Forbidden") {
        eprintln!("skipped: the file system of {:?} has no extended attributes", std::env::temp_dir());
        return;
    }
    assert!(text.contains("<a xmlns=\"other\"/><g xmlns=\"other\"/></D:prop><D:status>HTTP/1.1 200"), "{text}");
    let value = "<x:a xmlns:x=\"other\"><x:b c=\"d\">e &lt; f</x:b></x:a>";
    let holds =
        |target: &str| site.ask(&format!("PROPFIND {target}"), &["Depth: 0"], query("<x:a/>")).1.contains(value);
    assert!(holds(target));
    assert_eq!(site.status(&format!("PUT {target}"), &[], "new"), 204);
    assert!(holds(target));
    assert_eq!(site.status(&format!("COPY {target}"), &["Destination: /copy"], ""), 201);
    assert_eq!(site.status("COPY /folder", &["Destination: /all"], ""), 201);
    assert_eq!(site.status("MOVE /copy", &["Destination: /moved"], ""), 201);
    assert!(holds("/moved") && holds("/all/inner"));
    let (_, text) = site.ask("PROPFIND /moved", &["Depth: 0"], "");
    assert!(text.contains(value) && text.contains("<x:g xmlns:x=\"other\"/>"), "{text}");
    // All or nothing: the second is the server's.
    let mixed = "<D:remove><D:prop><x:a/></D:prop></D:remove><D:set><D:prop><D:getetag>1</D:getetag></D:prop></D:set>";
    let (_, text) = site.ask("PROPPATCH /moved", &[], update(mixed));
    for part in ["<D:getetag/></D:prop><D:status>HTTP/1.1 403", "<D:cannot-modify-protected-property/>", "HTTP/1.1 424"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(holds("/moved"));
    let remove = "<D:remove><D:prop><x:a/><x:never/></D:prop></D:remove>";
    assert_eq!(site.ask("PROPPATCH /moved", &[], update(remove)).0.status, 207);
    assert!(!holds("/moved"));
    let large = format!("<D:set><D:prop><x:a>{}</x:a></D:prop></D:set>", "x".repeat(65_000));
    let (_, text) = site.ask("PROPPATCH /moved", &[], update(&large));
    assert!(text.contains("HTTP/1.1 507"), "{text}");
}

#[test]
fn locks_are_shown() {
    let site = site();
    let body = "<lockinfo xmlns='DAV:'><lockscope><shared/></lockscope><locktype><write/></locktype></lockinfo>";
    assert_eq!(site.status("LOCK /folder", &[], body), 200);
    let (_, text) = site.ask("PROPFIND /folder/inner", &["Depth: 0"], query("<lockdiscovery/>"));
    assert!(text.contains("<D:depth>infinity</D:depth>") && text.contains("<D:href>/folder</D:href>"), "{text}");
}

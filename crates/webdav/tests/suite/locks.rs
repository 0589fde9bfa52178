//! LOCK and UNLOCK, and what locks forbid.

use serow_webdav::WriteMode;

use crate::site::Site;

const EXCLUSIVE: &str = "<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype>\
                         <owner>me &amp; you</owner></lockinfo>";
const SHARED: &str = "<lockinfo xmlns='DAV:'><lockscope><shared/></lockscope><locktype><write/></locktype></lockinfo>";

fn site() -> Site {
    let site = Site::new(WriteMode::Dav);
    site.write("file", "file");
    site.write("folder/a", "a");
    site
}

/// The token of a new lock.
fn lock(site: &Site, path: &str, fields: &[&str], body: &'static str) -> String {
    let (response, _) = site.ask(&format!("LOCK {path}"), fields, body);
    assert!(response.status.is_success(), "{path}");
    let token = response.headers.get_str("lock-token").unwrap();
    token.trim_start_matches('<').trim_end_matches('>').to_owned()
}

#[test]
fn a_lock_excludes_clients_without_its_token() {
    let site = site();
    let (response, text) = site.ask("LOCK /file", &["Timeout: Second-100"], EXCLUSIVE);
    assert_eq!(response.status, 200);
    assert!(text.contains("<D:timeout>Second-100</D:timeout>") && text.contains("me &amp; you"), "{text}");
    let token = response.headers.get_str("lock-token").unwrap().to_owned();
    let with_token = format!("If: ({token})");
    for (line, fields) in [
        ("PUT /file", &[][..]),
        ("DELETE /file", &[]),
        ("MOVE /file", &["Destination: /new"]),
        ("COPY /folder/a", &["Destination: /file"]),
        ("MOVE /folder/a", &["Destination: /file"]),
        ("LOCK /file", &[]),
        ("PUT /file", &["If: (Not <DAV:no-lock>)"]),
    ] {
        let body = if line.starts_with("LOCK") { SHARED } else { "" };
        let (response, text) = site.ask(line, fields, body);
        assert_eq!(response.status, 423, "{line} {fields:?}");
        assert!(text.contains("<D:href>/file</D:href>"), "{text}");
    }
    let update = "<propertyupdate xmlns='DAV:'><set><prop><x/></prop></set></propertyupdate>";
    assert_eq!(site.status("PROPPATCH /file", &[], update), 423);
    assert_eq!(site.read("file").as_deref(), Some("file"));
    // It can still be read and copied, and the copy is not locked.
    assert_eq!(site.status("GET /file", &[], ""), 200);
    assert_eq!(site.status("COPY /file", &["Destination: /copy"], ""), 201);
    assert_eq!(site.status("PUT /copy", &[], "new"), 204);
    assert_eq!(site.status("PUT /file", &[&with_token], "new"), 204);
    assert_eq!(site.status("PUT /file", &[&with_token], "new"), 204);
    assert_eq!(site.status("MOVE /file", &["Destination: /moved", &with_token], ""), 201);
    // RFC 4918 §7.6: the lock does not move.
    assert_eq!(site.status("PUT /moved", &[], "new"), 204);
    assert_eq!(site.status("PUT /file", &[&with_token], "new"), 412);
}

#[test]
fn a_lock_of_a_folder_covers_its_members() {
    let site = site();
    let deep = lock(&site, "/folder", &["Depth: infinity"], EXCLUSIVE);
    for line in ["PUT /folder/a", "PUT /folder/new", "DELETE /folder/a", "DELETE /folder", "MKCOL /folder/new"] {
        assert_eq!(site.status(line, &[], ""), 423, "{line}");
    }
    assert_eq!(site.status("PUT /folder/new", &[&format!("If: <http://h/folder> (<{deep}>)")], ""), 201);
    assert_eq!(site.status("UNLOCK /folder/a", &[&format!("Lock-Token: <{deep}>")], ""), 204);
    let flat = lock(&site, "/folder", &["Depth: 0"], EXCLUSIVE);
    assert_eq!(site.status("PUT /folder/a", &[], ""), 204);
    assert_eq!(site.status("PUT /folder/other", &[], ""), 423);
    assert_eq!(site.status("DELETE /folder/a", &[], ""), 423);
    assert_eq!(site.status("DELETE /folder/a", &[&format!("If: </folder> (<{flat}>)")], ""), 204);
}

#[test]
fn a_missing_file_is_locked_as_an_empty_file() {
    let site = site();
    let (response, _) = site.ask("LOCK /new", &[], EXCLUSIVE);
    assert_eq!(response.status, 201);
    assert_eq!(site.read("new").as_deref(), Some(""));
    assert_eq!(site.status("PUT /new", &[], "x"), 423);
    assert_eq!(site.status("LOCK /none/new", &[], EXCLUSIVE), 409);
    assert_eq!(site.status("LOCK /.hidden", &[], EXCLUSIVE), 403);
}

#[test]
fn shared_locks_are_compatible_with_each_other() {
    let site = site();
    let one = lock(&site, "/file", &[], SHARED);
    let other = lock(&site, "/file", &[], SHARED);
    assert_eq!(site.status("LOCK /file", &[], EXCLUSIVE), 423);
    assert_eq!(site.status("PUT /file", &[], ""), 423);
    for token in [&one, &other] {
        assert_eq!(site.status("PUT /file", &[&format!("If: (<{token}>)")], ""), 204);
    }
    let (response, text) = site.ask("LOCK /", &["Depth: infinity"], EXCLUSIVE);
    assert_eq!(response.status, 207);
    assert!(text.contains("/file</D:href><D:status>HTTP/1.1 423"), "{text}");
}

#[test]
fn locks_are_refreshed_and_removed_with_their_token() {
    let site = site();
    let token = lock(&site, "/file", &["Timeout: Second-10"], EXCLUSIVE);
    let (response, text) = site.ask("LOCK /file", &["Timeout: Infinite", &format!("If: (<{token}>)")], "");
    assert_eq!(response.status, 200);
    assert!(text.contains("<D:timeout>Second-3600</D:timeout>"), "{text}");
    assert_eq!(site.status("LOCK /file", &[], ""), 400);
    assert_eq!(site.status("LOCK /file", &["If: (<urn:uuid:other>)"], ""), 412);
    for (field, status) in [
        ("Lock-Token: <urn:uuid:other>".to_owned(), 409),
        ("Lock-Token: other".to_owned(), 400),
        (format!("Lock-Token: <{token}>"), 204),
        (format!("Lock-Token: <{token}>"), 409),
    ] {
        assert_eq!(site.status("UNLOCK /file", &[&field], ""), status, "{field}");
    }
    assert_eq!(site.status("UNLOCK /file", &[], ""), 400);
    assert_eq!(site.status("PUT /file", &[], ""), 204);
}

#[test]
fn invalid_locks_are_refused() {
    let site = site();
    for (fields, body) in [(&[][..], "<a/>"), (&[], "<"), (&["Depth: 1"], EXCLUSIVE)] {
        assert_eq!(site.status("LOCK /file", fields, body), 400, "{fields:?} {body}");
    }
}

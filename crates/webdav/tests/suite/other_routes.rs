//! Folders of which other routes of the site are for a part.

use std::{os::unix::fs::symlink, sync::Arc};

use serow_files::FilesSettings;
use serow_message::Pattern;
use serow_webdav::{DavSite, PathScope, WriteMode};

use crate::site::Site;

/// The paths of a route, and those of the routes before it, as patterns.
#[derive(Debug)]
struct Scope {
    own: &'static str,
    others: Vec<&'static str>,
}

impl PathScope for Scope {
    fn receives(&self, path: &[u8]) -> bool {
        Pattern::new(self.own).matches(path) && !self.is_taken(path)
    }

    fn is_taken(&self, path: &[u8]) -> bool {
        self.others.iter().any(|other| Pattern::new(other).matches(path))
    }
}

fn site_of(prefix: &str, own: &'static str, others: &[&'static str]) -> Site {
    let scope = Some(Arc::new(Scope { own, others: others.to_vec() }) as Arc<dyn PathScope>);
    let site = DavSite { scope, ..DavSite::default() };
    let site = Site::in_site(WriteMode::Dav, prefix, FilesSettings::default(), site);
    site.write("mine", "mine");
    site.write("empty/inner/file", "file");
    site.write("admin/secret", "secret");
    site.write("team/notes", "notes");
    site.write("team/private/secret", "secret");
    site.write("page.php", "php");
    site.write("templates/page.php", "php");
    site
}

/// A site of which three other routes are for a part.
fn site() -> Site {
    site_of("", "/*", &["/admin/*", "/*/private/*", "*.php"])
}

/// Whether all that the other routes are for is as it was, and nothing was added.
fn is_untouched(site: &Site) -> bool {
    let expected = [("admin/secret", "secret"), ("team/private/secret", "secret"), ("templates/page.php", "php")];
    expected.iter().all(|(path, content)| site.read(path).as_deref() == Some(content))
        && site.names("admin") == ["secret"]
        && site.names("team/private") == ["secret"]
        && site.names("") == ["admin", "empty", "mine", "page.php", "team", "templates"]
}

#[test]
fn no_file_is_read_written_moved_or_deleted_that_another_route_is_for() {
    let site = site();
    for (line, fields) in [
        ("MOVE /mine", &["Destination: /admin/new"][..]),
        ("MOVE /mine", &["Destination: /admin/secret"]),
        ("MOVE /mine", &["Destination: http://h/admin/"]),
        ("MOVE /mine", &["Destination: /%61dmin/new"]),
        ("MOVE /mine", &["Destination: /admin//new"]),
        ("MOVE /mine", &["Destination: /%2fadmin/./%73ecret"]),
        ("MOVE /mine", &["Destination: /new.php"]),
        ("MOVE /mine", &["Destination: /page.php"]),
        ("MOVE /mine", &["Destination: /team/private/new"]),
        // Each is a folder, and what is in it is another route's.
        ("MOVE /admin", &["Destination: /moved"]),
        ("MOVE /team", &["Destination: /moved"]),
        ("MOVE /team/private", &["Destination: /moved"]),
        ("MOVE /templates", &["Destination: /moved"]),
        ("MOVE /mine", &["Destination: /admin"]),
        ("MOVE /mine", &["Destination: /team"]),
        ("MOVE /mine", &["Destination: /templates"]),
        // It would be another route's there.
        ("MOVE /empty", &["Destination: /admin"]),
        ("MOVE /empty", &["Destination: /new.php"]),
        ("MOVE /empty", &["Destination: /team/private"]),
        ("MOVE /empty/inner", &["Destination: /empty/private"]),
        ("DELETE /admin", &[]),
        ("DELETE /team", &[]),
        ("DELETE /templates/", &[]),
        ("MKCOL /empty/private", &[]),
        ("PROPPATCH /admin", &[]),
    ] {
        let body = match line.starts_with("PROPPATCH") {
            true => "<propertyupdate xmlns='DAV:'><set><prop><a xmlns='x:'/></prop></set></propertyupdate>",
            false => "",
        };
        assert_eq!(site.status(line, fields, body), 403, "{line} {fields:?}");
        if line.starts_with("MOVE") {
            let line = line.replace("MOVE", "COPY");
            assert_eq!(site.status(&line, fields, ""), 403, "{line} {fields:?}");
        }
        assert!(is_untouched(&site), "{line} {fields:?}");
    }
    assert_eq!(site.status("COPY /admin", &["Destination: /new", "Depth: 0"], ""), 403);
    assert!(is_untouched(&site));
}

#[test]
fn paths_that_belong_to_no_other_route_can_be_changed() {
    let site = site();
    for (line, fields, status) in [
        ("MOVE /mine", &["Destination: /administration"][..], 201),
        ("COPY /administration", &["Destination: /team/public"], 201),
        ("COPY /empty", &["Destination: /copy"], 201),
        ("COPY /empty", &["Destination: /copy"], 204),
        ("MOVE /copy", &["Destination: /team/moved"], 201),
        ("DELETE /team/moved", &[], 204),
        ("MKCOL /team/new", &[], 201),
        ("MOVE /team/notes", &["Destination: /team/public"], 204),
        ("DELETE /empty/", &[], 204),
    ] {
        assert_eq!(site.status(line, fields, ""), status, "{line} {fields:?}");
    }
    assert_eq!(site.read("team/public").as_deref(), Some("notes"));
}

#[test]
fn folders_do_not_list_what_another_route_is_for() {
    let site = site();
    symlink("../admin/secret", site.path("empty/private")).unwrap();
    for (target, names) in [
        ("/", &["/", "/empty/", "/mine", "/team/", "/templates/"][..]),
        ("/team", &["/team/", "/team/notes"]),
        ("/templates/", &["/templates/"]),
        ("/empty/", &["/empty/", "/empty/inner/", "/empty/private"]),
    ] {
        let (response, body) = site.ask(&format!("PROPFIND {target}"), &["Depth: 1"], "");
        assert_eq!(response.status.as_u16(), 207);
        let mut found: Vec<_> = body
            .split("<D:href>")
            .skip(1)
            .filter_map(|rest| rest.split_once("</D:href>"))
            .map(|(name, _)| name)
            .collect();
        found.sort_unstable();
        assert_eq!(found, names, "{target}");
    }
    for target in ["/admin", "/team/private"] {
        for depth in ["Depth: 0", "Depth: 1"] {
            assert_eq!(site.status(&format!("PROPFIND {target}"), &[depth], ""), 403, "{target} {depth}");
        }
    }
}

#[test]
fn locks_are_not_granted_for_what_the_clients_of_other_routes_can_change() {
    let site = site();
    let body = "<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>";
    for (target, depth, status) in [
        ("/", "Depth: infinity", 403),
        ("/team", "Depth: infinity", 403),
        ("/team", "Depth: 0", 200),
        ("/admin", "Depth: 0", 403),
        ("/empty", "Depth: infinity", 200),
        ("/new", "Depth: infinity", 201),
    ] {
        assert_eq!(site.status(&format!("LOCK {target}"), &[depth], body), status, "{target} {depth}");
    }
}

#[test]
fn conditions_say_nothing_of_what_another_route_is_for() {
    let site = site();
    let tag = site.field("GET /admin/secret", &[], "etag");
    for (condition, status) in [
        (format!("If: </admin/secret> ([{tag}])"), 412),
        (format!("If: </%61dmin/secret> ([{tag}])"), 412),
        (format!("If: <http://h/admin/secret> ([{tag}])"), 412),
        ("If: </admin/secret> (Not [\"none\"])".to_owned(), 204),
        ("If: </mine> (Not [\"none\"])".to_owned(), 204),
    ] {
        assert_eq!(site.status("PUT /mine", &[&condition], ""), status, "{condition}");
    }
}

#[test]
fn a_route_below_a_prefix_reaches_nothing_outside_of_it() {
    // Its folder contains others than those below its path.
    let site = site_of("", "/team/*", &["/team/private/*"]);
    for (line, fields, status) in [
        ("PROPFIND /team/", &["Depth: 1"][..], 207),
        ("COPY /team/notes", &["Destination: /mine"], 403),
        ("COPY /team/notes", &["Destination: /team/private/new"], 403),
        ("COPY /team/notes", &["Destination: /new"], 403),
        ("COPY /team/notes", &["Destination: /team"], 403),
        ("COPY /team/notes", &["Destination: /team/copy"], 201),
        ("COPY /team/", &["Destination: /teams"], 403),
        ("MKCOL /team/new", &[], 201),
    ] {
        assert_eq!(site.status(line, fields, ""), status, "{line} {fields:?}");
    }
    assert_eq!(site.read("mine").as_deref(), Some("mine"));
    // The path of the folder is not that of the request; another route is for its name without the slash.
    let site = site_of("/share", "/share/*", &["/share", "/share/admin/*"]);
    for (line, fields, status) in [
        ("PROPFIND /share/", &["Depth: 1"][..], 207),
        ("COPY /share/mine", &["Destination: /share/admin/new"], 403),
        ("COPY /share/mine", &["Destination: /share/copy"], 201),
        ("MOVE /share/admin", &["Destination: /share/moved"], 403),
        ("COPY /share/mine", &["Destination: /share"], 404),
    ] {
        assert_eq!(site.status(line, fields, ""), status, "{line} {fields:?}");
    }
    assert_eq!(site.names("admin"), ["secret"]);
}

#[test]
fn a_folder_takes_no_name_that_another_route_is_for_without_a_slash() {
    let site = site_of("", "/*", &["/admin"]);
    for (line, fields, status) in [
        ("MOVE /admin/", &["Destination: /moved/"][..], 403),
        ("MOVE /team/", &["Destination: /admin/"], 403),
        ("MOVE /team/", &["Destination: /admin"], 403),
        ("DELETE /admin/", &[], 403),
        // Its members have other paths, which belong to this folder.
        ("PROPFIND /admin/", &["Depth: 1"], 207),
        ("COPY /mine", &["Destination: /admin/new"], 201),
    ] {
        assert_eq!(site.status(line, fields, ""), status, "{line} {fields:?}");
    }
    assert_eq!(site.names("admin"), ["new", "secret"]);
}

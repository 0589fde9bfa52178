//! PUT.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serow_files::{FilesSettings, Hidden};
use serow_message::{Body, Incoming, IncomingError};
use serow_webdav::WriteMode;

use crate::site::Site;

#[test]
fn uploads_create_and_replace_files() {
    for mode in [WriteMode::Put, WriteMode::Dav] {
        let site = Site::new(mode);
        assert_eq!(site.status("PUT /a%20b", &[], "one"), 201);
        assert_eq!(site.read("a b").as_deref(), Some("one"));
        assert_eq!(site.ask("GET /a%20b", &[], "").1, "one");
        assert_eq!(site.status("PUT /a%20b", &[], "two"), 204);
        assert_eq!(site.ask("GET /a%20b", &[], "").1, "two");
        assert_eq!(site.status("PUT /empty", &[], ""), 201);
        assert_eq!(site.read("empty").as_deref(), Some(""));
        assert_eq!(site.names(""), ["a b", "empty"]);
    }
}

#[test]
fn refused_uploads_change_nothing() {
    let site = Site::new(WriteMode::Dav);
    site.write("file", "file");
    site.write("folder/inner", "inner");
    site.write("../outside/secret", "secret");
    symlink("../outside", site.path("out")).unwrap();
    symlink("../outside/secret", site.path("secret")).unwrap();
    symlink("folder", site.path("within")).unwrap();
    symlink("file", site.path("link")).unwrap();
    for (target, fields, status) in [
        ("/", &[][..], 405),
        ("/folder", &[], 405),
        ("/folder/", &[], 405),
        ("/new/", &[], 405),
        ("/none/new", &[], 409),
        ("/file/new", &[], 409),
        ("/out/new", &[], 409),
        ("/within/new", &[], 409),
        ("/secret", &[], 403),
        ("/link", &[], 403),
        ("/../outside/new", &[], 400),
        ("/%2e%2e/outside/new", &[], 400),
        ("/a%00", &[], 400),
        ("/..%2foutside%2fnew", &[], 403),
        ("/.hidden", &[], 403),
        ("/folder/.git/config", &[], 403),
        ("/.serow-upload-1", &[], 403),
        ("/file", &["Content-Range: bytes 0-3/4"], 400),
        ("/file", &["Content-Encoding: gzip"], 415),
        ("/file", &["If-None-Match: *"], 412),
        ("/new", &["If-Match: *"], 412),
        ("/file", &["If-Match: \"other\""], 412),
        ("/file", &["If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT"], 412),
        ("/file", &["If: (<urn:uuid:none>)"], 412),
        ("/file", &["If: ([\"other\"])"], 412),
        ("/file", &["If: nonsense"], 400),
        ("/file", &["If: ([\"a\"])", "If: ([\"b\"])"], 400),
    ] {
        assert_eq!(site.status(&format!("PUT {target}"), fields, "changed"), status, "{target} {fields:?}");
    }
    assert_eq!(site.read("file").as_deref(), Some("file"));
    assert_eq!(site.names(""), ["file", "folder", "link", "out", "secret", "within"]);
    assert_eq!(site.names("folder"), ["inner"]);
    assert_eq!(site.names("../outside"), ["secret"]);
    assert_eq!(site.read("../outside/secret").as_deref(), Some("secret"));
}

#[test]
fn conditions_use_the_tags_of_get() {
    let site = Site::new(WriteMode::Dav);
    let tag = site.field("PUT /file", &[], "etag");
    assert!(tag.starts_with('"'), "{tag}");
    assert_eq!(site.field("GET /file", &[], "etag").trim_start_matches("W/"), tag);
    assert_eq!(site.status("PUT /file", &[&format!("If-None-Match: {tag}")], "two"), 412);
    assert_eq!(site.status("PUT /file", &[&format!("If: ([{tag}])")], "two"), 204);
    // The content has changed, and its tag with it.
    assert_eq!(site.status("PUT /file", &[&format!("If-Match: {tag}")], "three"), 412);
    assert_eq!(site.status("PUT /file", &[&format!("If: (Not [{tag}])")], "three"), 204);
    let tag = site.field("PUT /file", &[], "etag");
    assert_eq!(site.status("PUT /file", &[&format!("If-Match: \"x\", {tag}")], "four"), 204);
    assert_eq!(site.status("PUT /new", &["If-None-Match: *"], "new"), 201);
}

#[test]
fn an_incomplete_upload_leaves_nothing() {
    let site = Site::new(WriteMode::Dav);
    site.write("file", "file");
    for (error, status) in [
        (IncomingError::Disconnected, 400),
        (IncomingError::Malformed, 400),
        (IncomingError::TimedOut, 408),
        (IncomingError::TooLarge, 413),
    ] {
        for target in ["/file", "/new"] {
            let (sender, incoming) = Incoming::channel(None);
            sender.fail(error);
            assert_eq!(site.ask(&format!("PUT {target}"), &[], incoming).0.status, status, "{error}");
        }
    }
    assert_eq!((site.names(""), site.read("file").as_deref()), (vec!["file".to_owned()], Some("file")));
}

#[test]
fn long_bodies_arrive_whole() {
    let site = Site::new(WriteMode::Put);
    let text: String = (0..200_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(site.ask("PUT /long", &[], Body::from(text.clone())).0.status, 201);
    assert_eq!(site.read("long"), Some(text));
}

#[test]
fn a_file_without_room_on_the_disk_is_refused_before_it_is_sent() {
    let site = Site::new(WriteMode::Put);
    let (_sender, incoming) = Incoming::channel(Some(1 << 60));
    assert_eq!(site.ask("PUT /large", &[], incoming).0.status, 507);
    assert_eq!(site.names(""), [""; 0]);
}

#[test]
fn replaced_files_keep_their_permissions() {
    let site = Site::new(WriteMode::Put);
    site.write("file", "one");
    std::fs::set_permissions(site.path("file"), std::fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(site.status("PUT /file", &[], "two"), 204);
    assert_eq!(std::fs::metadata(site.path("file")).unwrap().mode() & 0o777, 0o640);
}

#[test]
fn hidden_files_are_uploaded_where_they_are_served() {
    let site = Site::with(WriteMode::Put, "", FilesSettings { hidden: Hidden::Serve, ..FilesSettings::default() });
    assert_eq!(site.status("PUT /._file", &[], "one"), 201);
    assert_eq!(site.status("PUT /.serow-upload-1", &[], "one"), 403);
    assert_eq!(site.status("GET /.serow-upload-1", &[], ""), 404);
}

#[test]
fn a_prefix_is_left_out() {
    let site = Site::with(WriteMode::Dav, "/docs", FilesSettings::default());
    assert_eq!(site.status("PUT /docs/a", &[], "one"), 201);
    assert_eq!(site.names(""), ["a"]);
    assert_eq!(site.status("COPY /docs/a", &["Destination: http://h/docs/b"], ""), 201);
    for target in ["/a", "/docs", "/docsa", "/other/docs/a"] {
        assert_eq!(site.status(&format!("PUT {target}"), &[], "two"), 404, "{target}");
    }
    assert_eq!(site.status("COPY /docs/a", &["Destination: /c"], ""), 404);
    let (_, text) = site.ask("PROPFIND /docs/", &["Depth: 1"], "");
    for path in ["/docs/", "/docs/a", "/docs/b"] {
        assert!(text.contains(&format!("<D:href>{path}</D:href>")), "{path} in {text}");
    }
}

#[test]
fn methods_are_those_of_the_mode() {
    let put = Site::new(WriteMode::Put);
    put.write("folder/file", "file");
    assert_eq!(put.field("OPTIONS /", &[], "allow"), "GET, HEAD, OPTIONS, PUT, DELETE");
    assert_eq!(put.field("OPTIONS /", &[], "dav"), "");
    for method in ["MKCOL", "PROPFIND", "PROPPATCH", "LOCK", "UNLOCK", "COPY", "MOVE", "POST", "PATCH"] {
        assert_eq!(put.status(&format!("{method} /a"), &["Destination: /b"], ""), 405, "{method}");
    }
    assert_eq!(put.status("DELETE /folder", &[], ""), 405);
    assert_eq!(put.status("DELETE /folder/file", &[], ""), 204);
    let dav = Site::new(WriteMode::Dav);
    assert_eq!(dav.field("OPTIONS /", &[], "dav"), "1, 2");
    assert_eq!(dav.field("OPTIONS /", &[], "ms-author-via"), "DAV");
    assert!(dav.field("POST /", &[], "allow").contains("PROPFIND"));
}

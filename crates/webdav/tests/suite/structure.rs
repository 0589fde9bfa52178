//! DELETE, MKCOL, COPY and MOVE.

use std::os::unix::fs::symlink;

use serow_files::FilesSettings;
use serow_message::{Network, TrustedProxies};
use serow_webdav::{DavSite, WriteMode};

use crate::site::Site;

/// A folder with a file, a folder with files, links that lead out of it, and something to protect beside it.
fn site() -> Site {
    let site = Site::new(WriteMode::Dav);
    site.write("file", "file");
    site.write("folder/inner/deep", "deep");
    site.write("folder/a", "a");
    site.write("other/b", "b");
    site.write("hidden/.git", "git");
    site.write("../outside/secret", "secret");
    symlink("../outside", site.path("out")).unwrap();
    symlink("../../outside", site.path("folder/out")).unwrap();
    symlink("a", site.path("folder/link")).unwrap();
    site
}

#[test]
fn deletions() {
    let site = site();
    for (target, fields, status) in [
        ("/none", &[][..], 404),
        ("/none/none", &[], 404),
        ("/file/", &[], 404),
        ("/", &[], 403),
        ("/out/secret", &[], 404),
        ("/../outside", &[], 400),
        ("/hidden", &[], 403),
        ("/hidden/.git", &[], 403),
        ("/folder", &["Depth: 0"], 400),
        ("/folder", &["Depth: 2"], 400),
        ("/file", &["If-Match: \"x\""], 412),
        ("/file", &[], 204),
        ("/folder/", &["Depth: infinity"], 204),
        // The link itself.
        ("/out", &[], 204),
    ] {
        assert_eq!(site.status(&format!("DELETE {target}"), fields, ""), status, "{target} {fields:?}");
    }
    assert_eq!(site.names(""), ["hidden", "other"]);
    assert_eq!(site.read("hidden/.git").as_deref(), Some("git"));
    assert_eq!(site.read("../outside/secret").as_deref(), Some("secret"));
}

#[test]
fn folders_are_created_where_their_parent_exists() {
    let site = site();
    for (target, fields, body, status) in [
        ("/new", &[][..], "", 201),
        ("/new/inner/", &[], "", 201),
        ("/new", &[], "", 405),
        ("/file", &[], "", 405),
        ("/", &[], "", 405),
        ("/none/new", &[], "", 409),
        ("/file/new", &[], "", 409),
        ("/out/new", &[], "", 409),
        ("/.hidden", &[], "", 403),
        ("/with-body", &[], "<a/>", 415),
        ("/conditional", &["If: (<urn:uuid:none>)"], "", 412),
    ] {
        assert_eq!(site.status(&format!("MKCOL {target}"), fields, body), status, "{target} {fields:?}");
    }
    assert_eq!(site.names("new"), ["inner"]);
    assert_eq!(site.names("../outside"), ["secret"]);
}

#[test]
fn refused_destinations_change_nothing() {
    let site = site();
    for (source, fields, copied, moved) in [
        ("/file", &[][..], 400, 400),
        ("/file", &["Destination: relative"], 400, 400),
        ("/file", &["Destination: //h/new"], 400, 400),
        ("/file", &["Destination: /new?query"], 400, 400),
        ("/file", &["Destination: http://elsewhere/new"], 502, 502),
        ("/file", &["Destination: http://h:81/new"], 502, 502),
        ("/file", &["Destination: /../outside/new"], 400, 400),
        ("/file", &["Destination: http://h/%2e%2e/outside/new"], 400, 400),
        ("/file", &["Destination: /.hidden"], 403, 403),
        ("/file", &["Destination: /out/new"], 409, 409),
        ("/file", &["Destination: /out"], 403, 403),
        ("/file", &["Destination: /none/new"], 409, 409),
        ("/file", &["Destination: /file"], 403, 403),
        ("/file", &["Destination: /hidden"], 403, 403),
        ("/file", &["Destination: /"], 403, 403),
        ("/file", &["Destination: /other/b", "Overwrite: F"], 412, 412),
        ("/file", &["Destination: /new", "Overwrite: X"], 400, 400),
        ("/file", &["Destination: /new", "Depth: 1"], 400, 400),
        ("/file", &["Destination: /new", "If-None-Match: *"], 412, 412),
        ("/folder", &["Destination: /folder/inner/new"], 403, 403),
        ("/folder/inner", &["Destination: /folder"], 403, 403),
        ("/none", &["Destination: /new"], 404, 404),
        ("/out", &["Destination: /new/"], 404, 201),
    ] {
        assert_eq!(site.status(&format!("COPY {source}"), fields, ""), copied, "COPY {source} {fields:?}");
        if moved != 201 {
            assert_eq!(site.status(&format!("MOVE {source}"), fields, ""), moved, "MOVE {source} {fields:?}");
        }
    }
    assert_eq!(site.names(""), ["file", "folder", "hidden", "other", "out"]);
    assert_eq!(site.names("folder"), ["a", "inner", "link", "out"]);
    assert_eq!(site.names("../outside"), ["secret"]);
}

#[test]
fn copies_have_what_clients_see_of_the_source() {
    let site = site();
    assert_eq!(site.status("COPY /file", &["Destination: http://h:80/copy"], ""), 201);
    assert_eq!(site.status("COPY /file", &["Destination: /other/b", "Overwrite: T"], ""), 204);
    assert_eq!((site.read("copy").as_deref(), site.read("other/b").as_deref()), (Some("file"), Some("file")));
    site.write("folder/.hidden", "hidden");
    assert_eq!(site.status("COPY /folder/", &["Destination: /all/"], ""), 201);
    assert_eq!(site.names("all"), ["a", "inner", "link"]);
    assert!(site.path("all/link").symlink_metadata().unwrap().is_file());
    assert_eq!(site.read("all/inner/deep").as_deref(), Some("deep"));
    assert_eq!(site.status("COPY /folder", &["Destination: /flat", "Depth: 0"], ""), 201);
    assert_eq!(site.names("flat"), [""; 0]);
    // The copy replaces the destination, and is not merged with it.
    assert_eq!(site.status("COPY /folder", &["Destination: /other"], ""), 204);
    assert_eq!(site.names("other"), ["a", "inner", "link"]);
    assert_eq!(site.status("COPY /file", &["Destination: /other"], ""), 204);
    assert_eq!(site.read("other").as_deref(), Some("file"));
    assert_eq!(site.status("COPY /flat", &["Destination: /other"], ""), 204);
    assert_eq!(site.names(""), ["all", "copy", "file", "flat", "folder", "hidden", "other", "out"]);
}

#[test]
fn moves_rename() {
    let site = site();
    assert_eq!(site.status("MOVE /file", &["Destination: /moved"], ""), 201);
    assert_eq!(site.status("MOVE /moved", &["Destination: /other/b"], ""), 204);
    assert_eq!(site.read("other/b").as_deref(), Some("file"));
    assert_eq!(site.status("MOVE /folder", &["Destination: /other"], ""), 204);
    assert_eq!(site.names("other"), ["a", "inner", "link", "out"]);
    assert_eq!(site.status("MOVE /other/a", &["Destination: /other/inner"], ""), 204);
    assert_eq!(site.read("other/inner").as_deref(), Some("a"));
    assert_eq!(site.status("MOVE /other/inner", &["Destination: /hidden"], ""), 403);
    assert_eq!(site.status("MOVE /hidden", &["Destination: /renamed"], ""), 201);
    assert_eq!(site.names(""), ["other", "out", "renamed"]);
    assert_eq!(site.read("renamed/.git").as_deref(), Some("git"));
}

#[test]
fn well_known_paths_are_read_and_never_changed() {
    for mode in [WriteMode::Form, WriteMode::Put, WriteMode::Dav] {
        let site = Site::new(mode);
        site.write(".well-known/acme-challenge/there", "there");
        site.write("folder/.well-known/a", "a");
        site.write("file", "file");
        let changes = [
            ("PUT /.well-known/acme-challenge/token", &[][..], 403),
            ("PUT /.well-known", &[], 403),
            ("PUT /%2ewell-known/acme-challenge/token", &[], 403),
            ("PUT /.Well-Known/token", &[], 403),
            ("PUT /folder/.well-known/a", &[], 403),
            ("GET /.well-known/acme-challenge/there", &[], 200),
        ];
        let of_dav = [
            ("DELETE /.well-known/acme-challenge/there", &[][..], 403),
            ("DELETE /folder", &[], 403),
            ("MKCOL /folder/.WELL-KNOWN/", &[], 403),
            ("MKCOL /.well-known/new", &[], 403),
            ("COPY /file", &["Destination: /.well-known/acme-challenge/token"], 403),
            ("MOVE /file", &["Destination: /%2Ewell-known/acme-challenge/token"], 403),
            ("COPY /file", &["Destination: /.well-known"], 403),
            ("MOVE /file", &["Destination: /folder"], 403),
            ("COPY /folder", &["Destination: /.well-known"], 403),
            ("MOVE /.well-known", &["Destination: /new"], 403),
            ("PROPFIND /.well-known/", &["Depth: 1"], 207),
        ];
        let of_dav = of_dav.into_iter().filter(|_| mode == WriteMode::Dav);
        for (line, fields, status) in changes.into_iter().chain(of_dav) {
            let fields = [fields, &["Serow-Upload: 1"]].concat();
            assert_eq!(site.status(line, &fields, ""), status, "{mode:?} {line} {fields:?}");
        }
        assert_eq!(site.names(".well-known/acme-challenge"), ["there"]);
        assert_eq!(site.names(""), [".well-known", "file", "folder"]);
    }
}

#[test]
fn control_characters_are_in_no_new_name() {
    let site = site();
    for (line, fields) in [
        ("PUT /a%0d%0aX:1", &[][..]),
        ("PUT /other/%1b[2J", &[]),
        ("MKCOL /a%0a/", &[]),
        ("COPY /file", &["Destination: /a%7f"]),
        ("MOVE /file", &["Destination: /a%C2%85"]),
    ] {
        let (response, body) = site.ask(line, fields, "");
        assert_eq!(response.status.as_u16(), 403, "{line} {fields:?}");
        assert_eq!(body, "403 Forbidden: a name has no control characters\n", "{line} {fields:?}");
    }
    assert_eq!(site.names("other"), ["b"]);
}

/// Destinations as a client names them that knows the server by another host.
#[test]
fn the_host_that_a_trusted_proxy_names_is_this_server() {
    let forwarded = ["X-Forwarded-Host: public.example", "X-Forwarded-Host: a.example, public.example"];
    let destination = "Destination: https://public.example/";
    let trusted = || DavSite { trusted: TrustedProxies::from_iter([Network::Unix]), ..DavSite::default() };
    let site_in = |site| {
        let site = Site::in_site(WriteMode::Dav, "", FilesSettings::default(), site);
        site.write("a", "a");
        site
    };
    let (site, other) = (site_in(trusted()), site_in(DavSite::default()));
    for (number, forwarded) in forwarded.into_iter().enumerate() {
        let new = format!("{destination}{number}");
        for (target, fields, status) in [
            (&site, &[forwarded, &new][..], 201),
            (&site, &["X-Forwarded-Host: other.example", &new], 502),
            (
                &site,
                &[forwarded, "Destination: http://h/of-the-proxy", "Overwrite: T"],
                if number == 0 { 201 } else { 204 },
            ),
            (&site, &[&new], 502),
            (&other, &[forwarded, &new], 502),
        ] {
            assert_eq!(target.status("COPY /a", fields, ""), status, "{fields:?}");
        }
    }
    for (target, status) in [(&site, 204), (&other, 412)] {
        let condition = format!("If: <https://public.example/a> ([{}])", target.field("GET /a", &[], "etag"));
        assert_eq!(target.status("PUT /a", &[forwarded[0], &condition], ""), status);
    }
}

//! Rewrites that start a request again with the first route.

use std::fs;

use tempfile::TempDir;

use crate::running::{Running, serow};

/// `alice:secret`.
const ALICE: &str = "Authorization: Basic YWxpY2U6c2VjcmV0\r\n";

/// A server with these routes, whose site has these settings; and its folder.
fn start(site: &str, routes: &str) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["public", "secret"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("a.txt"), name).unwrap();
    }
    fs::write(folder.path().join("users"), "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n").unwrap();
    let settings = format!("listen = \"127.0.0.1:0\"\nworkers = 1\n[[site]]\n{site}\n{routes}");
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), folder)
}

const ROUTES: &str = "
    [[site.route]]
    path = \"/secret/*\"
    internal = true
    files = { root = \"secret\", strip-prefix = true }
    [[site.route]]
    path = \"/again/*\"
    rewrite = { to = \"/secret/$1\", restart = true }
    [[site.route]]
    path = \"/*\"
    files = { root = \"public\", missing = \"next\" }
    [[site.route]]
    path = \"/*\"
    when = { header = { X-Loop = \"!1\" } }
    rewrite = { to = \"/a.txt\", restart = true }
    [[site.route]]
    path = \"/loop/*\"
    rewrite = { to = \"/loop$uri\", restart = true }
    [[site.route]]
    path = \"/end\"
    respond = { status = 204 }";

#[test]
fn routes_are_tried_again_from_the_first() {
    let (serow, _folder) = start("", ROUTES);
    for (path, status, text) in [
        ("/a.txt", 200, "public"),
        ("/missing", 200, "public"),
        ("/again/a.txt", 200, "secret"),
        // Clients do not come to internal routes.
        ("/secret/a.txt", 200, "public"),
    ] {
        let answer = serow.get(path);
        assert_eq!((answer.status(), answer.text()), (status, text), "{path}");
    }
    assert_eq!(serow.ask("/loop/1", "X-Loop: 1\r\n").status(), 500);
    let line = serow.line_with("ten times");
    assert!(line.contains("GET /loop/1") && line.contains("the route /loop/* of the site without hosts"), "{line}");
    assert_eq!(serow.ask("/end", "X-Loop: 1\r\n").status(), 204);
}

#[test]
fn a_folder_without_the_new_path_ends_the_request() {
    let (serow, folder) = start("", ROUTES);
    fs::remove_file(folder.path().join("public/a.txt")).unwrap();
    assert_eq!(serow.get("/missing").status(), 500);
}

#[test]
fn internal_routes_have_the_access_control_of_the_site_after_a_restart() {
    for (site, refused, fields) in [
        ("basic = { file = \"users\" }", 401, ALICE),
        ("allow-methods = [\"POST\"]", 405, ""),
        ("deny = [\"127.0.0.1\"]", 403, ""),
    ] {
        let (serow, _folder) = start(site, ROUTES);
        assert_eq!(serow.get("/again/a.txt").status(), refused, "{site}");
        if !fields.is_empty() {
            let answer = serow.ask("/again/a.txt", fields);
            assert_eq!((answer.status(), answer.text()), (200, "secret"), "{site}");
        }
    }
}

#[test]
fn a_request_counts_once_against_limits_however_often_it_starts_again() {
    let limit = "[[limit]]\nname = \"few\"\nrate = \"1r/m\"\nburst = 3\n";
    let served = |path: &str| {
        let (serow, _folder) = start("limits = [\"few\"]", &format!("{ROUTES}\n{limit}"));
        (0..6).filter(|_| serow.get(path).status() == 200).count()
    };
    let once = served("/a.txt");
    assert!((1..6).contains(&once), "{once}");
    assert_eq!((served("/again/a.txt"), served("/missing")), (once, once));
}

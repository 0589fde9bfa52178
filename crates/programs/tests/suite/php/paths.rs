//! Which script a path runs, and which files it sends.

use serow_message::Pattern;
use serow_programs::php::{CaselessPatterns, FrontController, PhpSettings};
use serow_requirements::requires;

use crate::{answering::body, php::fpm::Running};

/// Prints what it was called as.
const WHOAMI: &str = "<?php echo basename(__FILE__), '|', $_SERVER['SCRIPT_NAME'], '|', \
                      $_SERVER['PATH_INFO'] ?? '-', '|', $_SERVER['REQUEST_URI'];";

/// The files of a site with uploads, and scripts that must not run.
const SITE: [(&str, &str); 12] = [
    ("index.php", WHOAMI),
    ("other.php", WHOAMI),
    ("admin/index.php", WHOAMI),
    ("plain/index.html", "plain"),
    ("static.css", "css"),
    ("uploads/evil.php", WHOAMI),
    ("uploads/picture.jpg", "<?php echo 'ran';"),
    ("uploads/EVIL.PHP", WHOAMI),
    ("lib.inc", "<?php $password = 'secret';"),
    (".env", "SECRET=1"),
    (".hidden/x.php", WHOAMI),
    ("archive.phar", "<?php echo 'ran';"),
];

fn settings() -> PhpSettings {
    PhpSettings { without_scripts: CaselessPatterns::new(["/Uploads/*"]), ..PhpSettings::default() }
}

#[test]
fn a_path_runs_its_script_sends_its_file_or_goes_to_the_front_controller() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = Running::new(&SITE, settings());
    for (path, status, expected) in [
        ("/", 200, "index.php|/index.php|-|/"),
        ("/?a=1", 200, "index.php|/index.php|-|/?a=1"),
        ("/other.php", 200, "other.php|/other.php|-|/other.php"),
        ("/other.php/a%20b/c", 200, "other.php|/other.php|/a b/c|/other.php/a%20b/c"),
        ("/other.php/", 200, "other.php|/other.php|/|/other.php/"),
        ("/other.php/.git/x", 200, "other.php|/other.php|/.git/x|/other.php/.git/x"),
        ("/other.php/a%2Fb", 200, "other.php|/other.php|/a/b|/other.php/a%2Fb"),
        ("/%6Fther.php", 200, "other.php|/other.php|-|/%6Fther.php"),
        ("//other.php", 200, "other.php|/other.php|-|//other.php"),
        ("/admin/", 200, "index.php|/admin/index.php|-|/admin/"),
        ("/plain/", 200, "plain"),
        ("/static.css", 200, "css"),
        ("/pretty/url", 200, "index.php|/index.php|-|/pretty/url"),
        ("/wiki/A%2FB%3F", 200, "index.php|/index.php|-|/wiki/A%2FB%3F"),
        ("/missing.php", 200, "index.php|/index.php|-|/missing.php"),
        ("/static.css/x.php", 200, "index.php|/index.php|-|/static.css/x.php"),
        ("/uploads/picture.jpg", 200, "<?php echo 'ran';"),
        ("/uploads/picture.jpg/x.php", 200, "index.php|/index.php|-|/uploads/picture.jpg/x.php"),
        // No source, whatever runs in its place.
        ("/lib.inc", 200, "index.php|/index.php|-|/lib.inc"),
        ("/archive.phar", 200, "index.php|/index.php|-|/archive.phar"),
        ("/uploads/EVIL.PHP", 200, "index.php|/index.php|-|/uploads/EVIL.PHP"),
        ("/.env", 404, ""),
        ("/.hidden/x.php", 404, ""),
        ("/uploads/evil.php", 404, ""),
        ("/uploads/evil.php/x", 404, ""),
        ("/uploads/../other.php", 400, ""),
        ("/other.php%00.css", 400, ""),
        ("/other.php/%2e%2e/x", 400, ""),
    ] {
        let answer = server.get(path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        if status == 200 {
            assert_eq!(body(&answer), expected, "{path}");
        }
        assert!(!answer.contains("secret") && !answer.contains("$_SERVER"), "{path}: {answer}");
    }
}

#[test]
fn a_folder_without_the_slash_is_redirected() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = Running::new(&SITE, settings());
    for (path, expected) in [("/admin?a=1", "/admin/?a=1"), ("/plain", "/plain/"), ("//admin", "/admin/")] {
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 301 "), "{path}: {answer}");
        assert!(answer.to_lowercase().contains(&format!("location: {expected}\r\n")), "{path}: {answer}");
    }
}

#[test]
fn only_entry_points_run_where_there_are_some() {
    requires!("file:/usr/sbin/php-fpm*");
    let entry_points = Some(vec![Pattern::new("/other.php")]);
    let server = Running::new(&SITE, PhpSettings { entry_points, ..settings() });
    assert!(server.get("/other.php").ends_with("other.php|/other.php|-|/other.php"));
    assert!(server.get("/admin/index.php").starts_with("HTTP/1.1 404 "));
    assert!(server.get("/index.php").starts_with("HTTP/1.1 404 "));
    // The front controller is the server's choice.
    assert!(server.get("/pretty").ends_with("index.php|/index.php|-|/pretty"));
}

#[test]
fn without_a_front_controller_missing_files_are_404() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = Running::new(&SITE, PhpSettings { front_controller: FrontController::Off, ..settings() });
    // Not even the redirect to a folder without an index.
    for path in ["/pretty/url", "/missing.php", "/lib.inc", "/uploads/EVIL.PHP", "/uploads"] {
        assert!(server.get(path).starts_with("HTTP/1.1 404 "), "{path}");
    }
    for (path, status) in [("/missing.php", 404), ("/uploads", 404), ("/static.css", 405)] {
        assert!(server.post(path, b"a=b").starts_with(&format!("HTTP/1.1 {status} ")), "{path}");
    }
}

#[test]
fn a_link_out_of_the_folder_runs_nothing() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = Running::new(&SITE, settings());
    std::fs::write(server.folder.path().join("outside.php"), "<?php echo 'outside';").unwrap();
    std::os::unix::fs::symlink("../outside.php", server.site().join("link.php")).unwrap();
    assert!(!server.get("/link.php").contains("outside'"));
    assert!(server.get("/link.php").ends_with("index.php|/index.php|-|/link.php"));
}

#[test]
fn a_link_inside_the_folder_runs_no_upload_and_no_picture() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = Running::new(&SITE, settings());
    for (target, link) in
        [("uploads", "pictures"), ("uploads/evil.php", "link.php"), ("uploads/picture.jpg", "jpg.php"), ("admin", "to")]
    {
        std::os::unix::fs::symlink(target, server.site().join(link)).unwrap();
    }
    for (path, status, expected) in [
        ("/pictures/evil.php", 404, ""),
        ("/link.php", 404, ""),
        // Not a script: as any other path.
        ("/jpg.php", 200, "index.php|/index.php|-|/jpg.php"),
        ("/to/index.php", 200, "index.php|/to/index.php|-|/to/index.php"),
    ] {
        let answer = server.get(path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        assert!(status == 404 || body(&answer) == expected, "{path}: {answer}");
    }
}

#[test]
fn the_first_index_of_a_folder_that_may_answer_does() {
    requires!("file:/usr/sbin/php-fpm*");
    let site = [SITE.as_slice(), &[("index.html", "page"), ("uploads/index.php", WHOAMI)]].concat();
    let index = ["index.html", "index.php"].map(str::to_owned).to_vec();
    let server = Running::new(&site, PhpSettings { index, ..settings() });
    for (path, expected) in [
        ("/", "page"),
        ("/admin/", "index.php|/admin/index.php|-|/admin/"),
        // No redirect to a folder whose index may not run.
        ("/uploads", "index.php|/index.php|-|/uploads"),
        ("/uploads/", "index.php|/index.php|-|/uploads/"),
    ] {
        assert_eq!(body(&server.get(path)), expected, "{path}");
    }
}

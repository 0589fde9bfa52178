//! Clients cannot evade a route by the spelling of a path. The route stands before a folder of files.

use std::fs;

use crate::support::{get, respond, router};
use proptest::prelude::*;
use serow_files::{Files, FilesSettings, Hidden};
use serow_router::{Action, Route, Router};
use tempfile::TempDir;

/// A folder with a page for everybody, and a secret that a route refuses.
struct Guarded {
    router: Router<Files>,
    folder: TempDir,
}

impl Guarded {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["admin/deep", "public"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for name in ["admin/key", "admin/deep/key", "admin/index.html"] {
            fs::write(folder.path().join(name), SECRET).unwrap();
        }
        for name in ["public/page", "admins"] {
            fs::write(folder.path().join(name), "page").unwrap();
        }
        let files = Files::with_settings(folder.path(), FilesSettings { hidden: Hidden::Serve, ..Default::default() });
        let everything = Route::new("/*".parse().unwrap(), Action::Handle(files.unwrap()));
        Self { router: router(vec![respond("/admin/*", 403), respond("/admin", 403), everything]), folder }
    }
}

#[test]
fn spellings_of_a_path() {
    let guarded = Guarded::new();
    let cases = [
        ("/public/page", 200),
        ("/%70ublic/p%61ge", 200),
        ("//public//page", 200),
        ("/admins", 200),
        ("/admin/key", 403),
        ("/admin/", 403),
        ("/admin", 403),
        ("/%61dmin/key", 403),
        ("/%61%64%6d%69%6e/key", 403),
        ("/%61%64%6D%69%6E%2Fkey", 403),
        ("/admin%2fkey", 403),
        ("//admin/key", 403),
        ("///admin///key", 403),
        ("/%2fadmin/key", 403),
        ("/./admin/key", 403),
        ("/%2e/admin/key", 403),
        ("/admin/./key", 403),
        ("/public/../admin/key", 403),
        ("/public/%2e%2e/admin/key", 403),
        ("/public/.%2E/admin/key", 403),
        ("/public/..%2fadmin/key", 403),
        ("/public%2f..%2fadmin%2fkey", 403),
        ("/none/such/../../admin/key", 403),
        ("/admin/deep/../key", 403),
        ("/admin/deep/../../admin/key", 403),
        ("http://example.com/%61dmin/key", 403),
        ("/admin/key?x=/../public", 403),
        // Another path, for the router as for the files: nothing is there.
        ("/Admin/key", 404),
        ("/admin;x=1/key", 404),
        ("/admin\\key", 404),
        ("/admin%5ckey", 404),
        ("/%2561dmin/key", 404),
        ("/admin%20/key", 404),
        ("/admin./key", 404),
        ("/public/..;/admin/key", 404),
        ("/\u{ff0f}admin/key", 404),
        // No path at all, for one of them.
        ("/admin/../public/page", 400),
        ("/../admin/key", 400),
        ("/public/../../admin/key", 400),
        ("/%2e%2e/admin/key", 400),
        ("/admin%00/key", 400),
        ("/admin/key%00", 400),
        ("/%zadmin/key", 400),
        ("/admin/key%", 400),
        ("/%u0061dmin/key", 400),
    ];
    for (target, status) in cases {
        let asked = get(&guarded.router, target);
        assert_eq!(asked.status, status, "{target}");
        assert!(!asked.text.contains(SECRET), "{target}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_spelling_leads_to_the_secret(
        pieces in proptest::collection::vec(
            prop_oneof![
                4 => Just("/".to_owned()), 4 => Just("admin".to_owned()), 4 => Just("key".to_owned()),
                2 => Just("deep".to_owned()), 2 => Just("..".to_owned()), 2 => Just("public".to_owned()),
                1 => Just(".".to_owned()), 1 => Just("%2e".to_owned()), 1 => Just("%2F".to_owned()),
                1 => Just("%61".to_owned()), 1 => Just("dmin".to_owned()), 1 => Just("\\".to_owned()),
                1 => Just("%5c".to_owned()), 1 => Just("%00".to_owned()), 1 => Just(";".to_owned()),
                1 => Just("?".to_owned()), 1 => Just("%25".to_owned()), 1 => Just("%".to_owned()), 1 => "[!-~]{0,2}",
            ],
            0..12,
        ),
    ) {
        thread_local!(static GUARDED: Guarded = Guarded::new());
        let target = format!("/{}", pieces.concat().replace('#', ""));
        let text = GUARDED.with(|guarded| get(&guarded.router, &target).text);
        prop_assert!(!text.contains(SECRET), "{target}");
    }
}

#[test]
fn without_the_route_the_secret_is_there() {
    let guarded = Guarded::new();
    let files = Files::new(guarded.folder.path()).unwrap();
    let open = router(vec![Route::new("/*".parse().unwrap(), Action::Handle(files))]);
    assert_eq!(get(&open, "//%61dmin//key").text, SECRET);
}

const SECRET: &str = "the secret";

//! `serow maintenance`, of a server with a settings file.

use std::{fs, process::Output};

use crate::running::{Running, output, serow, site};

fn said(output: &Output) -> String {
    String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap()
}

#[test]
fn clients_receive_503_until_it_ends_and_reloads_do_not_end_it() {
    let (site, folder) = (site(), tempfile::tempdir().unwrap());
    let file = folder.path().join("serow.toml");
    let admin = format!("unix:{}/admin.sock", folder.path().display());
    let root = site.path().display();
    fs::write(
        &file,
        format!("listen = \"127.0.0.1:0\"\nadmin = {admin:?}\n\n[[site]]\nfiles = {{ root = \"{root}\" }}\n"),
    )
    .unwrap();
    let mut command = serow(["run", "-c"]);
    command.arg(&file);
    let server = Running::of(command);
    let change = |words: &[&str]| {
        let done = output(["maintenance"].into_iter().chain(words.iter().copied()).chain(["--admin", &admin]));
        (done.status.code(), said(&done))
    };
    assert_eq!(server.get("/").status(), 200);
    assert_eq!(change(&["on", "--retry-after", "90s"]), (Some(0), "maintenance: all clients receive 503\n".to_owned()));
    let refused = server.ask("/", "Accept: text/html\r\n");
    assert_eq!((refused.status(), refused.field("retry-after")), (503, Some("90")));
    assert!(refused.text().contains("under maintenance"), "{}", refused.text());
    assert!(said(&output(["status", "--admin", &admin])).contains("maintenance"));
    // Two, since one of them may have the wrong overrides.
    for _ in 0..2 {
        assert!(output(["reload", "--admin", &admin]).status.success());
        assert_eq!(server.get("/").status(), 503);
    }
    let allowed = "maintenance: clients receive 503, except 127.0.0.0/8\n";
    assert_eq!(change(&["on", "--allow", "127.0.0.0/8"]), (Some(0), allowed.to_owned()));
    assert_eq!(server.get("/").status(), 200);
    assert_eq!(change(&["on", "--allow", "localhost"]).0, Some(2));
    assert_eq!(change(&["off"]), (Some(0), "maintenance has ended: clients are served\n".to_owned()));
    assert!(output(["reload", "--admin", &admin]).status.success());
    assert_eq!(server.get("/").status(), 200);
    assert_eq!(change(&["off"]), (Some(0), "maintenance was not on\n".to_owned()));
}

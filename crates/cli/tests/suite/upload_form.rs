//! `serow files --upload`: a listing with a form, and what it may store.

use std::{fs, io::Write, path::Path};

use crate::running::{Answer, Running, received, serow};

fn server(folder: &Path, options: &[&str]) -> Running {
    let mut command = serow(["files"]);
    command.arg(folder).args(["--listen", "127.0.0.1:0", "--workers", "1"]).args(options);
    Running::of(command)
}

fn ask(server: &Running, line: &str, fields: &str, body: &str) -> Answer {
    let mut stream = server.connect();
    let length = body.len();
    let head =
        format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}Content-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    received(stream)
}

#[test]
fn people_upload_new_files_with_the_page_within_the_quota() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old.txt"), "old").unwrap();
    let server = server(folder.path(), &["--upload", "--quota", "10"]);
    let page = ask(&server, "GET /", "Accept: text/html\r\n", "");
    assert!(page.text().contains("type=\"file\"") && page.text().contains("Serow-Upload"), "{}", page.text());
    let field = "Serow-Upload: 1\r\nOrigin: http://localhost\r\n";
    for (line, fields, body, status) in [
        ("PUT /new.txt", field, "12345", 201),
        ("PUT /new.txt", field, "1", 409),
        ("PUT /more.txt", field, "123", 507),
        ("PUT /more.txt", "", "12", 403),
        ("PUT /more.txt", "Serow-Upload: 1\r\nOrigin: http://evil.example\r\n", "12", 403),
        ("PUT /index.html", field, "12", 403),
        ("PUT /more.txt", field, "12", 201),
        ("DELETE /old.txt", field, "", 405),
        ("POST /", "Content-Type: multipart/form-data; boundary=a\r\n", "--a--", 405),
    ] {
        assert_eq!(ask(&server, line, fields, body).status(), status, "{line} {fields:?}");
    }
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!((read("old.txt"), read("new.txt"), read("more.txt")), ("old".into(), "12345".into(), "12".into()));
}

#[test]
fn without_the_option_there_is_no_form() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), &[]);
    let page = ask(&server, "GET /", "Accept: text/html\r\n", "");
    assert!(!page.text().contains("<script") && !page.text().contains("type=\"file\""), "{}", page.text());
    assert_eq!(ask(&server, "PUT /a", "Serow-Upload: 1\r\n", "a").status(), 405);
    let both = serow(["files", "--upload", "--write", "put"]).output().unwrap();
    assert!(String::from_utf8_lossy(&both.stderr).contains("--upload"), "{both:?}");
}

//! Responses of programs.

use serow_programs::cgi::{Cgi, CgiSettings, Programs};

use crate::{
    answering::{body, content},
    cgi::places::Programmed,
};

#[test]
fn statuses_and_fields_are_those_of_the_program() {
    for (script, status, expected) in [
        ("printf 'Content-Type: text/plain\\n\\nbody'", 200, "content-type: text/plain"),
        ("printf 'Status: 404 Not Found\\n\\n'", 404, ""),
        ("printf 'Location: /b\\n\\n'", 302, "location: /b"),
        ("printf 'Status: 201\\nLocation: /b\\n\\n'", 201, "location: /b"),
        ("printf 'Set-Cookie: a=1\\nSet-Cookie: b=2\\n\\n'", 200, "set-cookie: b=2"),
        ("printf 'X-Accel-Redirect: /secret\\nX-B: 1\\n\\n'", 200, "x-b: 1"),
        ("printf 'Status: 204\\n\\nignored'", 204, ""),
        ("printf 'Status: 304\\nEtag: \"a\"\\n\\n'", 304, "etag: \"a\""),
        ("printf 'Content-Length: 4\\n\\nbody and more'", 200, "content-length: 4"),
        ("printf 'no header'", 502, ""),
        ("printf 'X-A : v\\n\\n'", 502, ""),
        ("printf 'Status: 999\\n\\n'", 502, ""),
        ("printf 'HTTP/1.1 200 OK\\nX-A: 1\\n\\n'", 502, ""),
        ("printf 'X-A: 1\\n'", 502, ""),
        (":", 502, ""),
        ("exit 3", 502, ""),
        ("kill -9 $$", 502, ""),
        ("exec 1>&-; exit 0", 502, ""),
    ] {
        let answer = Programmed::one(script).get("/cgi-bin/a");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{script}: {answer}");
        let lower = answer.to_lowercase();
        assert!(lower.contains(expected) && !lower.contains("accel"), "{script}: {answer}");
        assert!(!body(&answer).contains("more") && !body(&answer).contains("ignored"), "{script}: {answer}");
    }
}

#[test]
fn a_file_that_the_system_cannot_run_is_answered_with_an_error() {
    let server = Programmed::one("");
    crate::cgi::places::write_program(&server.path("none"), "#!/no/interpreter\n");
    assert!(server.get("/cgi-bin/none").starts_with("HTTP/1.1 500 "));
    let error = Cgi::new(CgiSettings::new(Programs::One("/etc/passwd".into()))).unwrap_err();
    assert!(error.to_string().contains("chmod +x"), "{error}");
    assert!(Cgi::new(CgiSettings::new(Programs::Folder("/no/folder".into()))).is_err());
}

#[test]
fn a_response_to_head_has_the_length_of_the_program_and_no_body() {
    let server = Programmed::new(&[("a", "printf 'Content-Length: 4\\n\\nbody'"), ("b", "printf '\\nbody'")]);
    for (name, has_length) in [("a", true), ("b", false)] {
        let answer = server.exchange(format!("HEAD /cgi-bin/{name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200 ") && body(&answer).is_empty(), "{answer}");
        assert_eq!(answer.to_lowercase().contains("content-length: 4"), has_length, "{answer}");
        assert!(!answer.to_lowercase().contains("content-length: 0"), "{answer}");
    }
}

#[test]
fn a_response_shorter_than_announced_is_not_taken_for_complete() {
    let answer = Programmed::one("printf 'Content-Length: 10\\n\\nshort'").get("/cgi-bin/a");
    let is_error = answer.starts_with("HTTP/1.1 502 ");
    assert!(is_error || answer.to_lowercase().contains("content-length: 10") && body(&answer).len() < 10, "{answer}");
}

#[test]
fn long_responses_and_errors_beside_them_do_not_block_each_other() {
    let script = "printf '\\n'; head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero | tr '\\0' x";
    let answer = Programmed::one(script).get("/cgi-bin/a");
    assert_eq!(content(&answer).len(), 3_000_000);
}

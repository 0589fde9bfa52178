//! Sites with addresses of their own.

use std::{fs, io::Write, net::TcpStream};

use serow_ports::free_ports;

use crate::running::{Answer, Running, output, received, serow, site};

fn ask(port: u16, host: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    received(stream)
}

#[test]
fn requests_go_to_the_sites_of_their_address() {
    let folder = site();
    let [root, own, all, shared] = free_ports();
    let file = folder.path().join("serow.toml");
    let respond =
        |name: &str| format!("[[site.route]]\npath = \"/*\"\nrespond = {{ status = 200, body = \"{name}\" }}\n");
    let settings = format!(
        "listen = [\"{root}\", \"{shared}\"]\nadmin = \"unix:admin.sock\"\n\
         [[site]]\nhosts = [\"a\"]\n{}\
         [[site]]\nhosts = [\"a\", \"b\"]\nlisten = [\"{own}\"]\nerror-pages = {{ 404 = \"a.txt\" }}\n{}\
         [[site]]\nlisten = [\":{all}\", \"{own}\"]\n{}\
         [[site]]\nhosts = [\"c\"]\nlisten = [\"{shared}\"]\n{}",
        respond("root"),
        respond("own"),
        respond("all"),
        respond("shared"),
    );
    fs::write(&file, &settings).unwrap();
    let server = Running::of(serow(["run", "-c", file.to_str().unwrap()]));
    let cases = [
        (root, "a", "root"),
        (root, "b", "421"),
        (root, "c", "421"),
        (own, "a", "own"),
        (own, "b", "own"),
        (own, "c", "all"),
        (all, "a", "all"),
        (all, "x", "all"),
        (shared, "a", "root"),
        (shared, "c", "shared"),
        (shared, "x", "421"),
    ];
    let check = || {
        for (port, host, expected) in cases {
            let answer = ask(port, host);
            let found = if answer.status() == 200 { answer.text().to_owned() } else { answer.status().to_string() };
            assert_eq!(found, expected, "{host} at {port} of {root} {own} {all} {shared}");
        }
    };
    check();
    // Its sockets are handed over as those of the root are.
    assert!(output(["reload", "-c", file.to_str().unwrap()]).status.success());
    check();
    fs::write(&file, settings.replace(&format!(", \"{own}\"]"), "]").replace(&format!("[\"{own}\"]"), "[]")).unwrap();
    let refused = output(["reload", "-c", file.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("there is no address"), "{refused:?}");
    check();
    drop(server);
}

//! Processes of programs, which are gone in the end, and their descriptors.

use std::{fs, io::Read, time::Duration};

use crate::{
    answering::{content, request, wait_until},
    cgi::places::Programmed,
};

/// Whether this process is there, if only as a zombie.
fn is_there(process: &str) -> bool {
    assert!(process.parse::<u32>().is_ok(), "{process:?}");
    fs::exists(format!("/proc/{process}")).unwrap()
}

/// Waits until these processes are gone and reaped.
fn all_end(processes: &str) {
    assert!(!processes.is_empty());
    wait_until(&format!("the end of {processes}"), || !processes.split_whitespace().any(is_there));
}

#[test]
fn a_client_that_leaves_ends_the_program_and_all_it_has_started() {
    for script in [
        // Before the response, deaf for TERM.
        "trap '' TERM; sleep 1000 & echo $$ $! >pids; wait",
        // An endless body.
        "sleep 1000 & printf '\\nbody'; echo $$ $! >pids; while :; do printf x; done",
        // A silent one.
        "printf '\\nbody'; sleep 1000 & echo $$ $! >pids; wait",
    ] {
        let server = Programmed::one(script);
        let connection = std::net::TcpStream::connect(server.address()).unwrap();
        std::io::Write::write_all(&mut &connection, request("/cgi-bin/a").as_bytes()).unwrap();
        let processes = server.written("pids");
        assert!(processes.split_whitespace().all(is_there), "{script}");
        drop(connection);
        all_end(&processes);
    }
}

#[test]
fn processes_that_a_program_leaves_behind_are_killed() {
    let server = Programmed::one("sleep 1000 & printf '\\n%s' \"$$ $!\"");
    // The other process holds the pipe open, and the response ends nevertheless.
    all_end(&content(&server.get("/cgi-bin/a")));
}

#[test]
fn a_program_may_finish_its_work_behind_its_response_for_a_time() {
    let scripts = [
        ("works", "printf 'Content-Length: 2\\n\\nok'; until [ -e go ]; do sleep 0.01; done; echo $$ >done"),
        ("closed", "printf '\\nok'; exec >&-; until [ -e go ]; do sleep 0.01; done; echo $$ >done2"),
        ("hangs", "printf 'Content-Length: 2\\n\\nok'; echo $$ >pid; trap '' TERM; while :; do sleep 1; done"),
        ("writes", "printf 'Content-Length: 2\\n\\nok'; echo $$ >pid2; exec yes"),
    ];
    let server = Programmed::with(&scripts, |settings| settings.timeout = Duration::from_secs(2));
    assert_eq!(content(&server.get("/cgi-bin/works")), "ok");
    assert_eq!(content(&server.get("/cgi-bin/closed")), "ok");
    fs::write(server.path("go"), "").unwrap();
    all_end(&server.written("done"));
    all_end(&server.written("done2"));
    for (name, file) in [("hangs", "pid"), ("writes", "pid2")] {
        assert_eq!(content(&server.get(&format!("/cgi-bin/{name}"))), "ok");
        all_end(&server.written(file));
    }
}

#[test]
fn a_server_that_ends_leaves_no_program_behind() {
    let server = Programmed::one("trap '' TERM; printf '\\nx'; sleep 1000 & echo $$ $! >pids; wait");
    let mut connection = server.begin(&request("/cgi-bin/a"));
    let processes = server.written("pids");
    drop(server);
    let is_running = |process: &str| {
        // This process has not ended, so that nobody else reaps them.
        let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        status.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    };
    wait_until(&format!("the end of {processes}"), || !processes.split_whitespace().any(is_running));
    let _ = connection.read_to_end(&mut Vec::new());
}

#[test]
fn many_requests_leave_neither_processes_nor_descriptors_behind() {
    let server =
        Programmed::new(&[("a", "printf '\\n%s' $$; cat >/dev/null; echo error >&2"), ("b", "echo $$ >>pids; exit 1")]);
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    let round = || {
        let process = content(&server.post("/cgi-bin/a", &[b'x'; 100_000]));
        server.get("/cgi-bin/b");
        server.get("/cgi-bin/none");
        process
    };
    round();
    let before = open();
    let processes: Vec<_> = (0..30).map(|_| round()).collect();
    all_end(&processes.join(" "));
    all_end(&server.written("pids"));
    // Other tests of this process have descriptors of their own, for a time.
    wait_until("no more descriptors than before", || open() <= before);
}

//! Limits of processes and of time.

use std::{fs, io::Read, num::NonZero, thread, time::Duration};

use serow_programs::cgi::CgiSettings;

use crate::{
    answering::{body, content, request, wait_until},
    cgi::places::Programmed,
};

const WAITS: &str = "echo $$ >>began; until [ -e go ]; do sleep 0.01; done; printf '\\nok'";

fn limited(processes: usize, length: usize, timeout: Duration) -> impl FnOnce(&mut CgiSettings) {
    move |settings| {
        settings.processes = NonZero::new(processes).unwrap();
        (settings.queue.length, settings.queue.timeout) = (length, timeout);
    }
}

#[test]
fn more_requests_than_processes_wait_in_a_queue() {
    let server = Programmed::with(&[("a", WAITS)], limited(2, 100, Duration::from_secs(60)));
    thread::scope(|scope| {
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(|| server.get("/cgi-bin/a"))).collect();
        let began = || fs::read_to_string(server.path("began")).unwrap_or_default().lines().count();
        wait_until("two programs", || began() == 2);
        // A look at another program would wait as well; the file says how many began.
        fs::write(server.path("go"), "").unwrap();
        for client in clients {
            assert_eq!(content(&client.join().unwrap()), "ok");
        }
        assert_eq!(began(), 8);
    });
}

#[test]
fn at_no_time_do_more_programs_run_than_allowed() {
    // mkdir is atomic: each program takes one of three places, and notes where it finds none.
    let script = "for place in 1 2 3; do if mkdir place$place 2>/dev/null; then sleep 0.02; rmdir place$place; \
                  printf '\\nok'; exit; fi; done; printf '\\ntoo many'";
    let server = Programmed::with(&[("a", script)], limited(3, 100, Duration::from_secs(60)));
    thread::scope(|scope| {
        let clients: Vec<_> = (0..24).map(|_| scope.spawn(|| server.get("/cgi-bin/a"))).collect();
        for client in clients {
            assert_eq!(content(&client.join().unwrap()), "ok");
        }
    });
}

#[test]
fn requests_beyond_the_queue_and_its_time_are_refused() {
    for (length, timeout) in [(0, Duration::from_secs(60)), (10, Duration::from_millis(1))] {
        let server = Programmed::with(&[("a", WAITS)], limited(1, length, timeout));
        thread::scope(|scope| {
            let first = scope.spawn(|| server.get("/cgi-bin/a"));
            wait_until("the first program", || server.path("began").exists());
            let refused = server.get("/cgi-bin/a");
            assert!(
                refused.starts_with("HTTP/1.1 503 ") && refused.to_lowercase().contains("retry-after"),
                "{refused}"
            );
            fs::write(server.path("go"), "").unwrap();
            assert_eq!(content(&first.join().unwrap()), "ok");
        });
    }
}

#[test]
fn a_silent_program_is_killed_and_answered_with_504_or_a_cut_response() {
    let scripts = [
        ("silent", "echo $$ >pid1; trap '' TERM; sleep 1000"),
        ("begun", "echo $$ >pid2; printf 'Content-Length: 10\\n\\nbegun'; sleep 1000"),
    ];
    let server = Programmed::with(&scripts, |settings| settings.timeout = Duration::from_millis(500));
    let silent = server.get("/cgi-bin/silent");
    assert!(silent.starts_with("HTTP/1.1 504 "), "{silent}");
    let begun = server.get("/cgi-bin/begun");
    assert!(begun.starts_with("HTTP/1.1 200 ") && body(&begun) == "begun", "{begun}");
    for file in ["pid1", "pid2"] {
        let process = server.written(file);
        wait_until("its end", || !fs::exists(format!("/proc/{process}")).unwrap());
    }
}

#[test]
fn a_slow_client_does_not_occupy_a_process() {
    let script = "printf '\\n'; head -c 20000000 /dev/zero | tr '\\0' x; echo $$ >pid";
    let server = Programmed::with(&[("a", script)], limited(1, 0, Duration::from_secs(1)));
    let mut slow = server.begin(&request("/cgi-bin/a"));
    // It has read one byte, and the program ends.
    let process = server.written("pid");
    wait_until("its end", || !fs::exists(format!("/proc/{process}")).unwrap());
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 20_000_000, "{}", rest.len());
}

//! A process without descriptors to spare: no spinning, nobody forgotten.

use std::{fs, process::Command, time::Duration};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use serow::{Error, HandlerExt, Request, Response, Server};

use crate::support::{Child, hello_in_a_child};

#[test]
fn a_server_starts_with_all_workers_or_says_why_not() {
    let name = "descriptors::in_a_process_with_descriptors_for_one_worker";
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", name, "--ignored", "--nocapture"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "lowers a limit of its process; a_server_starts_with_all_workers_or_says_why_not starts one for it"]
fn in_a_process_with_descriptors_for_one_worker() {
    let start = || {
        let server = Server::new().listen("127.0.0.1:0").workers(3).bind().unwrap();
        let open = fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        (server, open, (|_: Request| async { Response::text("hello") }).boxed())
    };
    let usual = getrlimit(Resource::Nofile);
    let (server, open, handler) = start();
    setrlimit(Resource::Nofile, Rlimit { current: Some(open + 4), ..usual }).unwrap();
    let outcome = server.start(handler);
    assert!(matches!(outcome, Err(Error::System(_))));
    setrlimit(Resource::Nofile, usual).unwrap();
    let (server, _, handler) = start();
    let stopper = server.stopper();
    let server = server.start(handler).unwrap();
    stopper.stop();
    server.wait().unwrap();
}

#[test]
#[ignore = "the process that the other tests of this file start"]
fn child() {
    hello_in_a_child(Some(64));
}

#[test]
fn clients_wait_for_descriptors_and_cost_no_processor_time() {
    let mut child = Child::start("descriptors::child");
    let mut busy: Vec<_> = (0..60).map(|_| child.connect()).collect();
    for client in &mut busy {
        client.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    let mut waiting: Vec<_> = (0..40).map(|_| child.connect()).collect();
    for client in &mut waiting {
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    // Until all are accepted that can be.
    std::thread::sleep(Duration::from_millis(500));
    let before = child.processor_time();
    std::thread::sleep(Duration::from_millis(1000));
    let spent = child.processor_time() - before;
    assert!(spent < Duration::from_millis(200), "{spent:?} while it could do nothing");
    waiting[39].receives_nothing_for(Duration::from_millis(10));
    // Each that leaves makes room for another.
    drop(busy);
    for client in &mut waiting {
        assert_eq!(client.answer().text(), "hello");
    }
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::TERM).unwrap();
    assert_eq!(child.wait().code(), Some(0));
}

#[test]
fn idle_connections_are_closed_for_new_ones() {
    let mut child = Child::start("descriptors::child");
    let mut clients: Vec<_> = (0..100).map(|_| child.connect()).collect();
    // None of them leaves.
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for client in &mut clients {
        assert_eq!(client.answer().text(), "hello");
    }
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::TERM).unwrap();
    assert_eq!(child.wait().code(), Some(0));
}

#[test]
fn it_can_be_stopped_meanwhile() {
    let mut child = Child::start("descriptors::child");
    let mut clients: Vec<_> = (0..100).map(|_| child.connect()).collect();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    assert_eq!(clients[0].answer().text(), "hello");
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::TERM).unwrap();
    // Idle connections are ended, so that those who waited have their turn.
    for mut client in clients.drain(1..) {
        assert_eq!(client.answer().text(), "hello");
    }
    assert_eq!(child.wait().code(), Some(0));
}

//! TERM and INT, told to a process of its own.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process};

use serow::{HandlerExt, Request, Server};

use crate::support::{Child, TIMEOUT, hello_in_a_child};

#[test]
#[ignore = "the process that the other tests of this file start"]
fn child() {
    hello_in_a_child(None);
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

#[test]
fn a_signal_ends_it_in_order() {
    for which in [Signal::TERM, Signal::INT] {
        let mut child = Child::start("signals::child");
        let mut idle = child.connect();
        assert_eq!(idle.get("/").text(), "hello");
        let mut slow = child.connect();
        slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
        slow.receives_nothing_for(Duration::from_millis(100));
        signal(&child, which);
        idle.ends();
        let answer = slow.answer();
        assert_eq!((answer.text(), answer.closes()), ("slow", true));
        drop(slow);
        assert_eq!(child.wait().code(), Some(0));
    }
}

#[test]
fn a_second_signal_means_more_haste() {
    let mut child = Child::start("signals::child");
    let mut client = child.connect();
    client.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    client.receives_nothing_for(Duration::from_millis(100));
    signal(&child, Signal::TERM);
    client.receives_nothing_for(Duration::from_millis(300));
    let began = Instant::now();
    signal(&child, Signal::TERM);
    assert_eq!(child.wait().code(), Some(0));
    assert!(began.elapsed() < TIMEOUT);
}

#[test]
#[ignore = "the process that the next test starts"]
fn told_before_it_runs() {
    let server = Server::new().listen("127.0.0.1:0").bind().unwrap();
    println!("listening on {}", server.addresses().next().unwrap());
    kill_process(getpid(), Signal::TERM).unwrap();
    server.run((|_: Request| async { "hello" }).boxed()).unwrap();
}

#[test]
fn a_signal_before_it_runs_is_not_missed() {
    assert_eq!(Child::start("signals::told_before_it_runs").wait().code(), Some(0));
}

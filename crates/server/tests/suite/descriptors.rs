//! A process without descriptors to spare: no spinning, nobody forgotten.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Child, hello_in_a_child};

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

//! Leaving a port that another server shares.

use std::{
    net::{SocketAddr, TcpListener},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use serow::{ListenOptions, Request, Server};
use serow_net::socket_filter;

use crate::support::{Client, Running, patient};

/// A server that shares its port, and says its name.
fn sharing(address: &str, workers: usize, name: &'static str) -> Running {
    let options = ListenOptions { share: true, ..ListenOptions::default() };
    let server = Server::new().listen(address).listen_options(options).workers(workers).timeouts(patient());
    Running::of(server.ignore_signals().bind().unwrap(), move |_: Request| async move { name })
}

/// Asks again and again, by a new connection each time, until it is over; how many times each of the two answered.
fn ask_until(is_over: &AtomicBool, address: SocketAddr) -> [usize; 2] {
    let mut answers = [0; 2];
    while !is_over.load(Ordering::Relaxed) {
        let mut client = Client::tcp(address);
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        match client.answer().text() {
            "old" => answers[0] += 1,
            "new" => answers[1] += 1,
            other => panic!("{other}"),
        }
    }
    answers
}

#[test]
fn clients_do_not_notice_that_a_server_leaves_the_port() {
    // Some kernels demand a privilege for it, without which the drain does not know its sockets in the group.
    let filtered = socket_filter::attach_filter(TcpListener::bind("127.0.0.1:0").unwrap(), &[]);
    if !serow_requirements::is_permitted(&filtered, "SO_ATTACH_FILTER") {
        return;
    }
    for (before, after) in [(1, 1), (2, 3), (4, 1)] {
        let mut old = sharing("127.0.0.1:0", before, "old");
        let address = old.address();
        let new = sharing(&address.to_string(), after, "new");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let clients: Vec<_> = (0..4).map(|_| scope.spawn(|| ask_until(&is_over, address))).collect();
            old.stopper.stop();
            old.wait();
            is_over.store(true, Ordering::Relaxed);
            let answers: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
            assert!(answers.iter().all(|answers| answers[1] > 0), "{answers:?}");
        });
        let mut client = new.connect();
        assert_eq!(client.get("/").text(), "new");
    }
}

#[test]
fn a_server_that_leaves_tells_the_clients_it_still_serves() {
    let mut old = sharing("127.0.0.1:0", 1, "old");
    let mut clients: Vec<_> = (0..4).map(|_| old.connect()).collect();
    let _new = sharing(&old.address().to_string(), 1, "new");
    for client in &mut clients {
        client.get("/");
    }
    old.stopper.stop();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = client.answer();
        assert_eq!((answer.text(), answer.closes()), ("old", true));
    }
    old.wait();
}

#[test]
fn a_server_that_ends_at_once_does_not_wait_for_the_drain() {
    let mut old = sharing("127.0.0.1:0", 2, "old");
    let new = sharing(&old.address().to_string(), 2, "new");
    old.stopper.stop();
    old.stopper.end();
    old.wait();
    // The kernel leads no client to the server that has ended.
    for _ in 0..20 {
        assert_eq!(new.connect().get("/").text(), "new");
    }
}

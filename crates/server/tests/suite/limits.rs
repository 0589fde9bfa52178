//! Limits on connections: more of them wait, and are served later.

use std::time::Duration;

use serow::{Limits, Request, Response, Server};
use tokio::sync::watch;

use crate::support::{BOTH, Client, Running, eventually, patient};

fn hello(_: Request) -> std::future::Ready<Response> {
    std::future::ready(Response::text("hello"))
}

fn limited(connections: usize) -> Server {
    Server::new().limits(Limits { connections, ..Limits::default() })
}

/// A server whose `/wait` responds when the test releases it, with this limit of connections.
pub(crate) fn busy(connections: usize, workers: usize) -> (Running, watch::Sender<bool>) {
    let (go, wait) = watch::channel(false);
    let server = limited(connections).timeouts(patient()).listen("127.0.0.1:0").workers(workers);
    let server = Running::of(server.bind().unwrap(), move |request: Request| {
        let mut wait = wait.clone();
        async move {
            if request.target.path() == "/wait" {
                let _ = wait.wait_for(|go| *go).await;
            }
            "hello"
        }
    });
    (server, go)
}

#[test]
fn further_clients_wait_until_one_leaves() {
    let (server, go) = busy(2, 1);
    let mut busy: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for client in &mut busy {
        client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    eventually("both are let in", || go.receiver_count() == 3);
    let mut waiting: Vec<_> = (0..5).map(|_| server.connect()).collect();
    for client in &mut waiting {
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    }
    // Longer than an idle connection would be left alone.
    waiting[0].receives_nothing_for(Duration::from_millis(2500));
    drop(busy.pop());
    for client in &mut waiting {
        assert_eq!(client.answer().text(), "hello");
        client.ends();
    }
    go.send(true).unwrap();
    assert_eq!(busy[0].answer().text(), "hello");
}

#[test]
fn the_longest_idle_connection_is_closed_for_a_new_one() {
    for spoken in BOTH {
        let (server, _go) = busy(3, 1);
        let mut clients: Vec<_> = (0..3).map(|_| server.connect_with(spoken)).collect();
        for client in &mut clients {
            assert_eq!(client.get("/").text(), "hello");
            // So that it is clear who has been idle for longer.
            std::thread::sleep(Duration::from_millis(600));
        }
        let [mut first, mut second, mut third] = <[_; 3]>::try_from(clients).ok().unwrap();
        // The first is no longer the one that has been idle for the longest.
        assert_eq!(first.get("/").text(), "hello");
        let mut new = server.connect();
        assert_eq!(new.get("/").text(), "hello", "{spoken:?}");
        second.ends();
        assert_eq!(third.get("/").text(), "hello", "{spoken:?}");
        assert_eq!(first.get("/").text(), "hello", "{spoken:?}");
    }
}

#[test]
fn idle_connections_of_every_kind_make_room_for_ten_new_ones() {
    let complete_head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let incomplete_head = "GET / HTTP/1.1\r\nHost:";
    let incomplete_preface = "PRI * HTTP/2.0\r\n";
    for sent in ["", complete_head, incomplete_head, incomplete_preface] {
        let (server, _go) = busy(5, 2);
        let idle: Vec<_> = (0..5)
            .map(|_| {
                let mut client = server.connect();
                client.send(sent);
                client
            })
            .collect();
        let new: Vec<_> = (0..10)
            .map(|_| {
                let mut client = server.connect();
                assert_eq!(client.get("/").text(), "hello", "behind {sent:?}");
                client
            })
            .collect();
        drop((idle, new));
    }
}

#[cfg(feature = "tls")]
#[test]
fn half_finished_handshakes_make_room_for_new_connections() {
    let server = limited(3).timeouts(patient()).listen("127.0.0.1:0").listen_tls("127.0.0.1:0").workers(1);
    let server = server.tls(serow::TlsSettings::self_signed().unwrap());
    let server = server.bind().unwrap();
    let status = server.status();
    let server = Running::of(server, hello);
    let serow::Address::Tcp(tls) = server.addresses[1] else { panic!("no TCP address") };
    // The beginning of a ClientHello, which says that 512 bytes follow.
    let clients = (0..3).map(|_| {
        let mut client = Client::tcp(tls);
        client.send(b"\x16\x03\x01\x02\x00\x01\x00");
        client
    });
    let clients: Vec<_> = clients.collect();
    // So that they come to their places before the next client does, by another listener.
    eventually("they have begun", || status.report().connections.open == 3);
    assert_eq!(server.connect().get("/").text(), "hello");
    drop(clients);
}

#[test]
fn the_limit_is_that_of_all_workers_and_listeners() {
    const LIMIT: usize = 3;
    const WORKERS: usize = 3;
    let server = limited(LIMIT).listen("127.0.0.1:0").listen("127.0.0.1:0").workers(WORKERS);
    let server = server.bind().unwrap();
    let status = server.status();
    let server = Running::of(server, |request: Request| async move {
        if request.target.path() == "/wait" {
            std::future::pending::<()>().await;
        }
        "hello"
    });
    let addresses: Vec<_> = server.addresses.iter().map(|address| address.to_string()).collect();
    let mut clients: Vec<Client> = (0..12).map(|number| Client::tcp(addresses[number % 2].parse().unwrap())).collect();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    let is_answered = |client: &Client| {
        let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
        rustix::net::recv(client, &mut [0; 1][..], flags).is_ok()
    };
    // The server answers the clients that it let in; the others wait, whichever worker they came to.
    eventually("all that were let in are answered", || {
        let answered = clients.iter().filter(|client| is_answered(client)).count();
        answered >= LIMIT && status.report().connections.open == answered as u64
    });
    let (mut served, waiting): (Vec<_>, Vec<_>) = clients.into_iter().partition(is_answered);
    for client in &mut served {
        assert_eq!(client.answer().text(), "hello");
    }
    // Workers that accept at the same moment may each let one in beyond it, but for the one that fills it.
    assert!((1..LIMIT + WORKERS).contains(&served.len()), "{} at the same time", served.len());
    served.truncate(LIMIT);
    while let Some(client) = served.pop() {
        drop(client);
        eventually("another one is let in", || waiting.iter().any(is_answered));
    }
}

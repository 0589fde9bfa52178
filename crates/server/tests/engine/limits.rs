//! Limits on connections: more of them wait, and are served later.

use std::time::Duration;

use serow::{Limits, Request, Response, Server};

use crate::support::{Client, Running, eventually};

fn hello(_: Request) -> std::future::Ready<Response> {
    std::future::ready(Response::text("hello"))
}

fn limited(connections: usize) -> Server {
    Server::new().limits(Limits { connections, ..Limits::default() })
}

#[test]
fn further_clients_wait_until_one_leaves() {
    let server = Running::with(limited(2), hello);
    let mut first = server.connect();
    let mut second = server.connect();
    assert_eq!(first.get("/").text(), "hello");
    assert_eq!(second.get("/").text(), "hello");
    let mut waiting: Vec<_> = (0..5).map(|_| server.connect()).collect();
    for client in &mut waiting {
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    }
    waiting[0].hears_nothing_for(Duration::from_millis(100));
    assert_eq!(first.get("/").text(), "hello");
    drop(first);
    for client in &mut waiting {
        assert_eq!(client.answer().text(), "hello");
        client.ends();
    }
    assert_eq!(second.get("/").text(), "hello");
}

#[test]
fn the_limit_is_that_of_all_workers_and_listeners() {
    const LIMIT: usize = 3;
    const WORKERS: usize = 3;
    let server = limited(LIMIT).listen("127.0.0.1:0").listen("127.0.0.1:0").workers(WORKERS);
    let server = Running::of(server.bind().unwrap(), |request: Request| async move {
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
    // Whoever was let in is answered; the others wait, whichever worker they came to.
    std::thread::sleep(Duration::from_millis(300));
    let mut served = Vec::new();
    let mut waiting = Vec::new();
    for mut client in clients {
        let mut byte = [0];
        match rustix::net::recv(&client, &mut byte, rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT) {
            Ok(_) => {
                assert_eq!(client.answer().text(), "hello");
                served.push(client);
            }
            Err(_) => waiting.push(client),
        }
    }
    // Workers that accept at the same moment may each let one in beyond it, but for the one that fills it.
    assert!((1..LIMIT + WORKERS).contains(&served.len()), "{} at the same time", served.len());
    served.truncate(LIMIT);
    while let Some(client) = served.pop() {
        drop(client);
        eventually("another one is let in", || {
            waiting.iter().any(|client| {
                let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
                rustix::net::recv(client, &mut [0; 1][..], flags).is_ok()
            })
        });
    }
}

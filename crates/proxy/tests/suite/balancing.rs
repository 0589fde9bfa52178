//! Load balancing by a proxy with real servers.

use std::{collections::HashMap, io::Write, net::TcpStream, time::Duration};

use serow::{Request, Response};
use serow_proxy::{Balancing, ForwardingSettings, HashKey, ServerSettings, UpstreamSettings};

use crate::support::{Origin, Proxied, held, read_response, server, until};

/// A server that answers with its number.
fn origin(number: usize) -> Origin {
    Origin::serve(move |_: Request| async move { Response::text(number.to_string()) })
}

fn origins(count: usize) -> Vec<Origin> {
    (0..count).map(origin).collect()
}

fn proxied(origins: &[Origin], weights: &[u16], balancing: Balancing) -> Proxied {
    let weighted = |(origin, &weight): (&Origin, &u16)| ServerSettings { weight, ..server(origin.address()) };
    let mut settings = UpstreamSettings::new("test", origins.iter().zip(weights).map(weighted).collect());
    settings.balancing = balancing;
    Proxied::with(settings, ForwardingSettings::default())
}

fn send(client: &mut TcpStream, target: &str, fields: &str) {
    client.write_all(format!("GET {target} HTTP/1.1\r\nhost: a\r\n{fields}\r\n").as_bytes()).unwrap();
}

/// The number of the server that answers.
fn answer(client: &mut TcpStream) -> usize {
    let response = read_response(client);
    response.rsplit("\r\n").next().unwrap().parse().unwrap_or_else(|_| panic!("{response}"))
}

fn ask(client: &mut TcpStream, target: &str, fields: &str) -> usize {
    send(client, target, fields);
    answer(client)
}

#[test]
fn turns_follow_the_weights() {
    let origins = origins(3);
    let proxied = proxied(&origins, &[5, 1, 1], Balancing::RoundRobin);
    let mut client = proxied.connect();
    let found: Vec<_> = (0..70).map(|_| ask(&mut client, "/", "")).collect();
    assert_eq!([0, 1, 2].map(|number| found.iter().filter(|other| **other == number).count()), [50, 10, 10]);
    // Nowhere more in a row than two rounds have at their seam.
    assert!(found.windows(5).all(|five| five.iter().any(|number| *number != 0)), "{found:?}");
}

#[test]
fn the_same_value_has_the_same_server() {
    let cases = [
        (HashKey::Path, "/VALUE?x", ""),
        (HashKey::Target, "/a?VALUE", ""),
        (HashKey::Query("id".to_owned()), "/a?id=VALUE", ""),
        (HashKey::Header("x-id".to_owned()), "/", "x-id: VALUE\r\n"),
        (HashKey::Cookie("id".to_owned()), "/", "cookie: a=b; id=VALUE\r\n"),
    ];
    let mut origins = origins(3);
    for (key, target, fields) in cases {
        let proxied = proxied(&origins, &[1, 1, 1], Balancing::Hash(key.clone()));
        let mut client = proxied.connect();
        let mut servers = HashMap::new();
        for round in 0..3 {
            for number in 0..40 {
                let with = |text: &str| text.replace("VALUE", &format!("v{number}"));
                let found = ask(&mut client, &with(target), &with(fields));
                assert_eq!(*servers.entry(number).or_insert(found), found, "{key:?} {number} {round}");
            }
        }
        for number in 0..3 {
            assert!(servers.values().any(|found| *found == number), "{key:?} {servers:?}");
        }
    }
    // A removed server moves only its own keys.
    let proxied = proxied(&origins, &[1, 1, 1], Balancing::Hash(HashKey::Path));
    let mut client = proxied.connect();
    let before: Vec<_> = (0..60).map(|number| ask(&mut client, &format!("/{number}"), "")).collect();
    drop(origins.remove(1));
    for (number, before) in before.into_iter().enumerate() {
        let after = ask(&mut client, &format!("/{number}"), "");
        assert!(after == before || before == 1 && after != 1, "{number}: {before} {after}");
    }
}

#[test]
fn slow_servers_get_fewer_requests() {
    for balancing in [Balancing::LeastRequests, Balancing::Latency] {
        let (slow, release) = held("0");
        let origins = [slow, origin(1)];
        let proxied = proxied(&origins, &[1, 1], balancing.clone());
        let servers = || proxied.upstream.report().servers;
        // One request waits at the slow server, while many others come and go.
        let mut counts = [0; 2];
        let mut clients = Vec::new();
        while servers()[0].active == 0 {
            let mut client = proxied.connect();
            send(&mut client, "/", "");
            clients.push(client);
            until(|| servers().iter().map(|server| server.requests).sum::<u64>() == clients.len() as u64);
        }
        let mut quick = proxied.connect();
        for _ in 0..20 {
            counts[ask(&mut quick, "/", "")] += 1;
        }
        assert!(counts[1] >= 19, "{balancing:?} {counts:?}");
        release.send(true).unwrap();
        clients.iter_mut().for_each(|client| assert!(answer(client) < 2));
    }
}

#[test]
fn slow_clients_do_not_make_servers_look_slow() {
    let origins = vec![Origin::serve(|request: Request| async move {
        let length = request.body.collect(100).await.unwrap().len();
        Response::text(length.to_string())
    })];
    let proxied = proxied(&origins, &[1], Balancing::Latency);
    let latency = || proxied.upstream.report().servers[0].latency;
    let mut client = proxied.connect();
    client.write_all(b"PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhello").unwrap();
    std::thread::sleep(Duration::from_millis(700));
    client.write_all(b"hello").unwrap();
    assert_eq!(answer(&mut client), 10);
    assert!((1..500).contains(&latency().as_micros().div_ceil(1000)), "{:?}", latency());
}

//! Servers that are given by name, with a name server of the test's own.

use std::{
    fs,
    io::Write,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::support::name_server::{Data, Manner, NameServer};
use crate::support::{Origin, Proxied, read_response, until};
use serow::{Request, Response};
use serow_proxy::{
    BackgroundTasks, ForwardingSettings, ResolverSettings, Server, ServerReport, ServerSettings, Upstream,
    UpstreamSettings,
};

fn upstream(servers: &[&str]) -> Upstream {
    let servers = servers.iter().map(|server| ServerSettings::new(server.parse().unwrap())).collect();
    Upstream::new(UpstreamSettings::new("app", servers))
}

/// Only this server is queried; files of the machine do not matter.
fn asking(server: &NameServer) -> ResolverSettings {
    let nowhere = "/nonexistent".into();
    let hosts = "/nonexistent".into();
    ResolverSettings { servers: vec![server.address()], configuration: nowhere, hosts, hold: Duration::from_secs(30) }
}

fn names(upstream: &Upstream) -> Vec<String> {
    upstream.report().servers.into_iter().map(|server| server.name).collect()
}

fn server(upstream: &Upstream, name: &str) -> Arc<Server> {
    let servers = upstream.servers();
    Arc::clone(servers.iter().find(|server| server.name() == name).unwrap())
}

#[test]
fn servers_come_and_go_with_the_addresses_of_their_name() {
    let name_server = NameServer::start();
    name_server.set_addresses("app.example", 1, &["127.0.0.2", "127.0.0.1"]);
    let upstream = upstream(&["127.0.0.9:1", "app.example:9000", "127.0.0.8:1"]);
    assert_eq!(names(&upstream), ["127.0.0.9:1", "127.0.0.8:1"]);
    let began = Instant::now();
    let _background_tasks = BackgroundTasks::start_with(vec![upstream.clone()], asking(&name_server)).unwrap();
    // Without an answer, it would be two seconds.
    assert!(began.elapsed() < Duration::from_millis(1900), "an answer is waited for no longer than it takes");
    // They stand where the name stands.
    let expected = ["127.0.0.9:1", "127.0.0.1:9000", "127.0.0.2:9000", "127.0.0.8:1"];
    assert_eq!(names(&upstream), expected);
    let (stays, other) = (server(&upstream, "127.0.0.2:9000"), server(&upstream, "127.0.0.9:1"));
    let before = upstream.report().generation;

    name_server.set_addresses("app.example", 1, &["127.0.0.3", "127.0.0.2"]);
    until(|| names(&upstream) == ["127.0.0.9:1", "127.0.0.2:9000", "127.0.0.3:9000", "127.0.0.8:1"]);
    assert!(Arc::ptr_eq(&stays, &server(&upstream, "127.0.0.2:9000")), "it keeps its counts and its health");
    assert!(Arc::ptr_eq(&other, &server(&upstream, "127.0.0.9:1")));
    assert_eq!(upstream.report().generation, before + 1);

    // Failures change nothing, and neither does another order.
    for manner in [Manner::Failing, Manner::Well] {
        name_server.set_addresses("app.example", 1, &["127.0.0.2", "127.0.0.3"]);
        name_server.answer(manner);
        let asked = name_server.ids().len();
        // A and AAAA of this answer and of the next one.
        until(|| name_server.ids().len() >= asked + 4);
        assert_eq!(upstream.report().generation, before + 1);
    }
}

#[test]
fn requests_go_to_the_addresses_of_a_name() {
    let origin = Origin::serve(|_: Request| async { Response::text("here") });
    let name_server = NameServer::start();
    name_server.set("app.example", &[(60, Data::Alias("host.example".to_owned()))]);
    name_server.set_addresses("host.example", 60, &["127.0.0.1"]);
    // Slow, so that the first request would find no server if nothing was awaited.
    name_server.answer(Manner::Late(300));
    let address = format!("app.example:{}", origin.address().port()).parse().unwrap();
    let settings = UpstreamSettings::new("app", vec![ServerSettings::new(address)]);
    let proxied = Proxied::with(settings, ForwardingSettings::default());
    let _background_tasks = BackgroundTasks::start_with(vec![proxied.upstream.clone()], asking(&name_server)).unwrap();
    let mut client = proxied.connect();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    assert!(read_response(&mut client).ends_with("here"));
}

#[test]
fn localhost_needs_no_name_server() {
    let origin = Origin::serve(|_: Request| async { Response::text("here") });
    let address = format!("localhost:{}", origin.address().port()).parse().unwrap();
    let settings = UpstreamSettings::new("app", vec![ServerSettings::new(address)]);
    let proxied = Proxied::with(settings, ForwardingSettings::default());
    let _background_tasks = BackgroundTasks::start(vec![proxied.upstream.clone()]).unwrap();
    assert!(names(&proxied.upstream).contains(&origin.address().to_string()));
    let mut client = proxied.connect();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    assert!(read_response(&mut client).ends_with("here"));
}

#[test]
fn the_files_of_the_machine_count() {
    let name_server = NameServer::start();
    name_server.set_addresses("app.inside.example", 60, &["127.0.0.7"]);
    name_server.set_addresses("known", 60, &["127.0.0.8"]);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let settings = ResolverSettings {
        hosts: file("hosts", "127.0.0.4 known\n127.0.0.5 known\n"),
        configuration: file("resolv.conf", "nameserver 192.0.2.1\nsearch outside.example inside.example\n"),
        ..asking(&name_server)
    };
    let upstream = upstream(&["app:1", "known:2"]);
    let _background_tasks = BackgroundTasks::start_with(vec![upstream.clone()], settings).unwrap();
    assert_eq!(names(&upstream), ["127.0.0.7:1", "127.0.0.4:2", "127.0.0.5:2"]);
}

#[test]
fn the_search_goes_on_behind_a_domain_whose_name_servers_fail() {
    let name_server = NameServer::start();
    name_server.fail_for("app.broken.example");
    name_server.set_addresses("app.right.example", 60, &["127.0.0.7"]);
    let folder = tempfile::tempdir().unwrap();
    let configuration = folder.path().join("resolv.conf");
    fs::write(&configuration, "search broken.example right.example\n").unwrap();
    let settings = ResolverSettings { configuration, ..asking(&name_server) };
    let upstream = upstream(&["app:1"]);
    let _background_tasks = BackgroundTasks::start_with(vec![upstream.clone()], settings).unwrap();
    assert_eq!(names(&upstream), ["127.0.0.7:1"]);
}

#[test]
fn each_query_has_an_id_of_its_own() {
    let name_server = NameServer::start();
    name_server.set_addresses("app.example", 1, &["127.0.0.2"]);
    let _background_tasks =
        BackgroundTasks::start_with(vec![upstream(&["app.example:1"])], asking(&name_server)).unwrap();
    until(|| name_server.ids().len() >= 6);
    let mut ids = name_server.ids();
    ids.truncate(6);
    ids.sort_unstable();
    ids.dedup();
    // Two of six random ids are equal once in 4,000 runs; two pairs are not.
    assert!(ids.len() >= 5, "{ids:?}");
}

#[test]
fn servers_of_a_removed_name_are_kept_for_the_hold_time() {
    let name_server = NameServer::start();
    name_server.set_addresses("app.example", 1, &["127.0.0.2"]);
    let upstream = upstream(&["app.example:1", "127.0.0.9:1"]);
    let settings = ResolverSettings { hold: Duration::from_secs(2), ..asking(&name_server) };
    let _background_tasks = BackgroundTasks::start_with(vec![upstream.clone()], settings).unwrap();
    name_server.remove("app.example");
    let removed = Instant::now();
    until(|| names(&upstream) == ["127.0.0.9:1"]);
    assert!(removed.elapsed() >= Duration::from_secs(2), "{:?}", removed.elapsed());
    // It comes back.
    name_server.set_addresses("app.example", 1, &["127.0.0.3"]);
    until(|| names(&upstream) == ["127.0.0.3:1", "127.0.0.9:1"]);
}

#[test]
fn servers_are_kept_while_name_servers_fail() {
    for manner in [Manner::Failing, Manner::Silent] {
        let name_server = NameServer::start();
        name_server.set_addresses("app.example", 1, &["127.0.0.2"]);
        let upstream = upstream(&["app.example:1"]);
        let settings = ResolverSettings { hold: Duration::ZERO, ..asking(&name_server) };
        let _background_tasks = BackgroundTasks::start_with(vec![upstream.clone()], settings).unwrap();
        name_server.answer(manner);
        let asked = name_server.ids().len();
        until(|| {
            assert_eq!(names(&upstream), ["127.0.0.2:1"], "{manner:?}");
            name_server.ids().len() >= asked + 4
        });
        name_server.set_addresses("app.example", 1, &["127.0.0.3"]);
        name_server.answer(Manner::Well);
        until(|| {
            assert_ne!(names(&upstream), [""; 0], "{manner:?}");
            names(&upstream) == ["127.0.0.3:1"]
        });
    }
}

/// However a name server replies, the valid records are found soon.
#[test]
fn manners_of_name_servers() {
    for (manner, over_tcp) in [(Manner::Well, 0), (Manner::Truncating, 1), (Manner::Attacked, 0)] {
        let name_server = NameServer::start();
        name_server.set_addresses("app.example", 60, &["127.0.0.2"]);
        name_server.answer(manner);
        let upstream = upstream(&["app.example:1"]);
        let _background_tasks = BackgroundTasks::start_with(vec![upstream.clone()], asking(&name_server)).unwrap();
        assert_eq!(names(&upstream), ["127.0.0.2:1"]);
        assert_eq!(name_server.over_tcp() > 0, over_tcp > 0);
    }
}

#[test]
fn the_next_name_server_is_queried_after_a_failure() {
    let name_server = NameServer::start();
    name_server.set_addresses("app.example", 60, &["127.0.0.2"]);
    let failing = NameServer::start();
    failing.answer(Manner::Failing);
    let servers = vec![serow_ports::refusing_address(), failing.address(), name_server.address()];
    let upstream = upstream(&["app.example:1"]);
    let settings = ResolverSettings { servers, ..asking(&name_server) };
    let _background_tasks = BackgroundTasks::start_with(vec![upstream.clone()], settings).unwrap();
    assert_eq!(names(&upstream), ["127.0.0.2:1"]);
}

#[test]
fn a_name_that_cannot_be_looked_up_is_tried_again() {
    let name_server = NameServer::start();
    let upstream = upstream(&["app.example:1", "127.0.0.9:1"]);
    let _background_tasks = BackgroundTasks::start_with(vec![upstream.clone()], asking(&name_server)).unwrap();
    assert_eq!(names(&upstream), ["127.0.0.9:1"]);
    name_server.set_addresses("app.example", 60, &["127.0.0.2"]);
    until(|| names(&upstream) == ["127.0.0.2:1", "127.0.0.9:1"]);
}

#[test]
fn a_silent_name_server_delays_the_start_only_briefly() {
    let name_server = NameServer::start();
    name_server.answer(Manner::Silent);
    let began = Instant::now();
    let background_tasks =
        BackgroundTasks::start_with(vec![upstream(&["app.example:1"])], asking(&name_server)).unwrap();
    let started = began.elapsed();
    drop(background_tasks);
    // The look-up itself goes on for longer.
    assert!(started >= Duration::from_secs(2) && began.elapsed() < Duration::from_secs(8), "{started:?}");
}

#[test]
fn services_name_their_ports_and_shares() {
    let name_server = NameServer::start();
    let service = |priority, weight, port, host: &str| (1, Data::Service(priority, weight, port, host.to_owned()));
    let name = "_http._tcp.app.example";
    name_server
        .set(name, &[service(1, 10, 80, "a.example"), service(1, 0, 81, "b.example"), service(2, 5, 82, "c.example")]);
    for (host, address) in [("a.example", "127.0.0.1"), ("b.example", "127.0.0.2"), ("c.example", "127.0.0.3")] {
        name_server.set_addresses(host, 60, &[address]);
    }
    let upstream = upstream(&[name]);
    let _background_tasks = BackgroundTasks::start_with(vec![upstream.clone()], asking(&name_server)).unwrap();
    let found = |upstream: &Upstream| {
        let of = |server: ServerReport| (server.name, server.weight, server.backup);
        upstream.report().servers.into_iter().map(of).collect::<Vec<_>>()
    };
    let is = |name: &str, weight, backup| (name.to_owned(), weight, backup);
    let expected = [is("127.0.0.1:80", 10, false), is("127.0.0.2:81", 1, false), is("127.0.0.3:82", 5, true)];
    assert_eq!(found(&upstream), expected);

    // A changed weight keeps the server; one whose host is gone is removed.
    let first = server(&upstream, "127.0.0.1:80");
    name_server.set(name, &[service(1, 20, 80, "a.example"), service(1, 1, 81, "nobody.example")]);
    until(|| found(&upstream) == [is("127.0.0.1:80", 20, false)]);
    assert!(Arc::ptr_eq(&first, &server(&upstream, "127.0.0.1:80")));
}

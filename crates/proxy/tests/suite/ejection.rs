//! Servers that fail are ejected for a while, and tried again.

use std::{
    io::Write,
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::support::{Origin, Proxied, read_response, server, until};
use serow::{Request, Response, StatusCode};
use serow_ports::refusing_address;
use serow_proxy::{
    BackgroundTasks, CheckKind, CheckSettings, ForwardingSettings, HttpCheck, PassiveSettings, ServerReport,
    ServerState, UpstreamSettings,
};

/// A server that may be ill, and counts its requests.
struct Patient {
    origin: Origin,
    is_ill: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl Patient {
    fn new() -> Self {
        let (is_ill, asked) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (ill, count) = (Arc::clone(&is_ill), Arc::clone(&asked));
        let origin = Origin::serve(move |_: Request| {
            count.fetch_add(1, Ordering::Relaxed);
            let is_ill = ill.load(Ordering::Relaxed);
            async move {
                if is_ill { Response::plain_status(StatusCode::SERVICE_UNAVAILABLE) } else { Response::text("well") }
            }
        });
        Self { origin, is_ill, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

fn proxied(servers: &[SocketAddr], passive: PassiveSettings) -> Proxied {
    let mut settings = UpstreamSettings::new("app", servers.iter().map(|address| server(*address)).collect());
    settings.passive = passive;
    Proxied::with(settings, ForwardingSettings::default())
}

/// Whether a request is answered well.
fn ask(client: &mut TcpStream) -> bool {
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    read_response(client).starts_with("HTTP/1.1 200")
}

fn report(proxied: &Proxied, place: usize) -> ServerReport {
    proxied.upstream.report().servers.remove(place)
}

#[test]
fn a_server_that_fails_is_left_alone_until_it_is_well() {
    let (ill, well) = (Patient::new(), Patient::new());
    let passive = PassiveSettings { failures: 3, ejection: Duration::from_millis(500) };
    let proxied = proxied(&[ill.origin.address(), well.origin.address()], passive);
    let mut client = proxied.connect();
    ill.is_ill.store(true, Ordering::Relaxed);
    let failed = (0..30).filter(|_| !ask(&mut client)).count();
    assert_eq!((failed, ill.asked()), (3, 3));
    let found = report(&proxied, 0);
    assert_eq!((found.state, found.failures), (ServerState::Ejected, 3));
    assert_eq!(found.last_failure.as_deref(), Some("3 requests in a row failed"));

    // When the ejection is over, one request tries the server, and it is ejected for longer.
    until(|| {
        ask(&mut client.try_clone().unwrap());
        ill.asked() == 4
    });
    assert_eq!(report(&proxied, 0).last_failure.as_deref(), Some("the trial request failed"));
    ill.is_ill.store(false, Ordering::Relaxed);
    until(|| {
        assert!(ask(&mut client.try_clone().unwrap()));
        report(&proxied, 0).state == ServerState::Up
    });
    assert_eq!(ill.asked(), 5);
    let before = ill.asked();
    assert!((0..10).all(|_| ask(&mut client)));
    assert_eq!(ill.asked() - before, 5, "it has its share again");
}

#[test]
fn at_most_half_of_the_servers_are_left_alone() {
    for (all, most) in [(1, 1), (2, 1), (3, 2), (4, 2)] {
        let servers: Vec<_> = (0..all).map(|_| refusing_address()).collect();
        let passive = PassiveSettings { failures: 2, ejection: Duration::from_secs(60) };
        let proxied = proxied(&servers, passive);
        let mut client = proxied.connect();
        for _ in 0..20 {
            assert!(!ask(&mut client));
        }
        let ejected = |server: &ServerReport| server.state == ServerState::Ejected;
        assert_eq!(proxied.upstream.report().servers.iter().filter(|server| ejected(server)).count(), most, "of {all}");
    }
}

#[test]
fn the_only_server_gets_requests_even_while_ejected() {
    let ill = Patient::new();
    let proxied = proxied(&[ill.origin.address()], PassiveSettings { failures: 1, ejection: Duration::from_secs(60) });
    let mut client = proxied.connect();
    ill.is_ill.store(true, Ordering::Relaxed);
    assert!(!ask(&mut client));
    assert_eq!(report(&proxied, 0).state, ServerState::Ejected);
    ill.is_ill.store(false, Ordering::Relaxed);
    assert!(ask(&mut client));
}

/// Checks know before the time is over.
#[test]
fn a_server_that_checks_bring_back_is_tried_at_once() {
    let (ill, well) = (Patient::new(), Patient::new());
    let mut settings =
        UpstreamSettings::new("app", [&ill, &well].map(|patient| server(patient.origin.address())).into());
    settings.passive = PassiveSettings { failures: 1, ejection: Duration::from_secs(600) };
    let interval = Duration::from_millis(10);
    let check = CheckSettings { interval, ..CheckSettings::new(CheckKind::Http(HttpCheck::default())) };
    settings.check = Some(CheckSettings { rise: 1, fall: 1, ..check });
    let proxied = Proxied::with(settings, ForwardingSettings::default());
    let client = proxied.connect();
    ill.is_ill.store(true, Ordering::Relaxed);
    until(|| {
        ask(&mut client.try_clone().unwrap());
        report(&proxied, 0).state == ServerState::Ejected
    });
    let _background_tasks = BackgroundTasks::start(vec![proxied.upstream.clone()]).unwrap();
    until(|| report(&proxied, 0).state == ServerState::Down);
    ill.is_ill.store(false, Ordering::Relaxed);
    until(|| {
        assert!(ask(&mut client.try_clone().unwrap()));
        report(&proxied, 0).state == ServerState::Up
    });
}

#[test]
fn a_server_that_cuts_its_responses_off_is_left_alone() {
    let cutting = Origin::serve(|_: Request| async move {
        // The head leaves with the first piece, and then nothing more can be had.
        let (sender, incoming) = serow_message::Incoming::channel(Some(100));
        tokio::task::spawn_local(async move {
            std::future::poll_fn(|context| sender.poll_wanted(context)).await;
            std::future::poll_fn(|context| {
                sender.push("half".into(), context);
                std::task::Poll::Ready(())
            })
            .await;
            std::future::poll_fn(|context| sender.poll_wanted(context)).await;
            sender.fail(serow_message::IncomingError::Disconnected);
        });
        Response::new(StatusCode::OK).body(serow::Body::from(incoming))
    });
    let well = Patient::new();
    let passive = PassiveSettings { failures: 3, ejection: Duration::from_secs(60) };
    let proxied = proxied(&[cutting.address(), well.origin.address()], passive);
    let mut cut = 0;
    for _ in 0..80 {
        let mut client = proxied.connect();
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
        let mut response = Vec::new();
        // The client must see a reset.
        let ended = std::io::Read::read_to_end(&mut client, &mut response);
        cut += usize::from(ended.is_err() || !response.ends_with(b"well"));
    }
    // Half of twenty: each that was cut off had begun well.
    assert!((1..=12).contains(&cut), "{cut}");
    assert_eq!(report(&proxied, 0).state, ServerState::Ejected);
}

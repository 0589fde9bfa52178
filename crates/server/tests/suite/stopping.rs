//! Stopping without losing a request, and without waiting for nobody.

use std::time::Duration;

use serow::{Address, KnownHeader, Method, Request, Response, Server, StatusCode, Timeouts};
use tokio::{io::AsyncReadExt, sync::watch};

use crate::support::{Asked, BOTH, Client, Instant, Noted, Pieces, Running, channel_body, eventually, patient, sleep};

/// A server whose `/wait` responds when the test releases it.
pub(crate) fn server(timeouts: Timeouts) -> (Running, watch::Sender<bool>) {
    let (go, wait) = watch::channel(false);
    let server = Running::with(Server::new().timeouts(timeouts), move |request: Request| {
        let mut wait = wait.clone();
        async move {
            match request.target.path() {
                "/wait" => drop(wait.wait_for(|go| *go).await),
                "/stream" => {
                    let endless = Pieces::new(std::iter::repeat_n(vec![b'a'; 10_000], 10_000));
                    return Response::default().body(endless.body());
                }
                _ => {}
            }
            Response::text("hello")
        }
    });
    (server, go)
}

/// Waits until a handler waits for its release.
pub(crate) fn wait_for_handler(go: &watch::Sender<bool>) {
    // The server has one receiver, and each handler another one.
    eventually("a handler is at work", || go.receiver_count() > 1);
}

/// An end that is at once, as far as a busy machine goes; the grace time is far beyond.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(8);

#[test]
fn with_nobody_there_it_ends_at_once() {
    let (mut server, _go) = server(patient());
    server.connect().get("/");
    server.stopper.stop();
    assert!(server.wait() < AT_ONCE);
    assert!(server.is_refusing());
}

#[test]
fn idle_connections_are_closed_without_being_waited_for() {
    for spoken in BOTH {
        let (mut server, _go) = server(patient());
        let mut idle: Vec<_> = (0..10).map(|_| server.connect_with(spoken)).collect();
        for client in &mut idle {
            client.get("/");
        }
        let mut silent: Vec<_> = (0..10).map(|_| server.connect()).collect();
        server.stopper.stop();
        // None of the clients does anything.
        assert!(server.wait() < AT_ONCE, "{spoken:?}");
        for client in &mut idle {
            client.ends();
        }
        for client in &mut silent {
            client.ends();
        }
    }
}

#[cfg(feature = "proxy-protocol")]
#[test]
fn a_proxy_that_has_said_nothing_is_not_waited_for() {
    let server = Server::new().timeouts(patient()).proxy_protocol(serow::ProxyProtocol::Required);
    let mut server = Running::with(server, |_: Request| async { "hello" });
    let clients: Vec<_> = (0..3).map(|_| server.connect()).collect();
    sleep(Duration::from_millis(50));
    server.stopper.stop();
    assert!(server.wait() < AT_ONCE);
    drop(clients);
}

#[test]
fn a_running_request_is_finished_and_its_response_closes_the_connection() {
    let (mut server, go) = server(patient());
    let mut running = server.connect();
    running.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut idle = server.connect();
    idle.get("/");
    server.stopper.stop();
    idle.ends();
    eventually("the listener is closed", || server.is_refusing());
    running.receives_nothing_for(Duration::from_millis(50));
    go.send(true).unwrap();
    let answer = running.answer();
    assert_eq!((answer.text(), answer.closes()), ("hello", true));
    running.ends();
    server.wait();
}

#[test]
fn a_response_on_its_way_is_sent_whole() {
    for spoken in BOTH {
        let (mut server, _go) = server(patient());
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/stream"));
        client.head();
        server.stopper.stop();
        eventually("the listener is closed", || server.is_refusing());
        assert_eq!(client.answer().body.len(), 100_000_000, "{spoken:?}");
        client.ends();
        server.wait();
    }
}

#[cfg(not(feature = "simulation"))]
#[test]
fn connections_that_were_accepted_by_the_kernel_are_served() {
    // Stopped before it began: whoever connected in time has his answer.
    let bound = Server::new().listen("127.0.0.1:0").workers(1).timeouts(patient()).bind().unwrap();
    let Some(&Address::Tcp(address)) = bound.addresses().next() else { panic!("no address") };
    let mut clients: Vec<_> = (0..300).map(|_| Client::tcp(address)).collect();
    for client in &mut clients[..200] {
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    bound.stopper().stop();
    let mut server = Running::of(bound, |_: Request| async { "hello" });
    for client in &mut clients[..200] {
        let answer = client.answer();
        assert_eq!((answer.text(), answer.closes()), ("hello", true));
    }
    drop(clients);
    server.wait();
}

#[test]
fn a_request_that_crosses_the_stop_is_answered_or_refused_never_forgotten() {
    for round in 0..10 {
        let (mut server, _go) = server(patient());
        let mut clients: Vec<_> = (0..30).map(|_| server.connect()).collect();
        sleep(Duration::from_millis(round % 3));
        for client in &mut clients {
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        server.stopper.stop();
        for client in &mut clients {
            assert_eq!(client.answer().text(), "hello");
        }
        drop(clients);
        server.wait();
    }
}

/// Less than any of the other times.
const GRACE: Duration = Duration::from_millis(300);

#[test]
fn the_grace_time_cuts_what_still_runs() {
    for spoken in BOTH {
        let (mut server, go) = server(Timeouts { grace: GRACE, ..patient() });
        let mut waiting = server.connect_with(spoken);
        waiting.begin(&Asked::get("/wait"));
        wait_for_handler(&go);
        let mut reading = server.connect();
        reading.send("GET /stream HTTP/1.0\r\n\r\n");
        reading.receive_some().unwrap();
        let began = Instant::now();
        server.stopper.stop();
        assert!(server.wait() < AT_ONCE);
        assert!(began.elapsed() >= GRACE);
        waiting.try_answer().unwrap_err();
        // Without a length only a reset tells that it is not whole.
        reading.is_reset();
    }
}

#[test]
fn requests_that_the_grace_time_cuts_are_logged() {
    for spoken in BOTH {
        let noted = Noted::default();
        let kept = noted.clone();
        let server = Server::new().timeouts(Timeouts { grace: GRACE, ..patient() });
        let (go, wait) = watch::channel(());
        let mut server = Running::with(server.access_log(move || kept.clone()), move |request: Request| {
            let mut wait = wait.clone();
            async move {
                match request.target.path() {
                    "/stream" => {
                        let (feed, body) = channel_body();
                        feed.send("abc".into()).unwrap();
                        // It never ends.
                        std::mem::forget(feed);
                        return Response::default().body(body);
                    }
                    _ => drop(wait.changed().await),
                }
                Response::default()
            }
        });
        let mut waiting = server.connect_with(spoken);
        waiting.begin(&Asked::get("/wait"));
        eventually("a handler is at work", || go.receiver_count() > 1);
        let mut reading = server.connect();
        reading.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
        reading.receive_some().unwrap();
        server.stopper.stop();
        assert!(server.wait() < AT_ONCE);
        let mut entries = noted.entries(2);
        entries.sort_by_key(|entry| entry.status);
        let told: Vec<_> = entries.iter().map(|entry| (entry.status, entry.body_bytes, entry.whole)).collect();
        assert_eq!(told, [(200, 3, false), (499, 0, false)], "{spoken:?}");
    }
}

#[test]
fn a_second_stop_cuts_at_once() {
    for spoken in BOTH {
        let (mut server, go) = server(patient());
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/wait"));
        wait_for_handler(&go);
        server.stopper.stop();
        client.receives_nothing_for(GRACE);
        server.stopper.stop();
        assert!(server.wait() < AT_ONCE);
        client.try_answer().unwrap_err();
    }
}

#[test]
fn the_time_for_what_still_runs_can_change() {
    for spoken in BOTH {
        let (mut server, go) = server(Timeouts { grace: Duration::ZERO, ..patient() });
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/wait"));
        wait_for_handler(&go);
        server.stopper.stop_within(patient().grace);
        client.receives_nothing_for(GRACE);
        let began = Instant::now();
        server.stopper.stop_within(GRACE);
        assert!(server.wait() < AT_ONCE);
        assert!(began.elapsed() >= GRACE);
        client.try_answer().unwrap_err();
    }
}

#[test]
fn an_end_at_once_waits_for_nobody() {
    for spoken in BOTH {
        let (mut server, go) = server(patient());
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/wait"));
        wait_for_handler(&go);
        server.stopper.end();
        server.stopper.stop_within(patient().grace);
        assert!(server.wait() < AT_ONCE);
        client.try_answer().unwrap_err();
    }
}

/// Makes every request a tunnel, which it reads to its end.
pub(crate) fn tunnel_server() -> Running {
    Running::with(Server::new().timeouts(patient()), |mut request: Request| async move {
        let upgrade = request.upgrade().unwrap();
        tokio::task::spawn_local(async move { upgrade.await.unwrap().read_to_end(&mut Vec::new()).await });
        match request.method == Method::CONNECT {
            true => Response::new(StatusCode::OK),
            false => Response::new(StatusCode::SWITCHING_PROTOCOLS).with(KnownHeader::Upgrade, "x"),
        }
    })
}

#[test]
fn tunnels_are_waited_for() {
    let mut server = tunnel_server();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    assert_eq!(client.answer().status, 101);
    server.stopper.stop();
    eventually("the listener is closed", || server.is_refusing());
    client.receives_nothing_for(Duration::from_millis(200));
    client.send("still there");
    client.finish_sending();
    assert!(server.wait() < AT_ONCE);
}

#[test]
fn every_worker_stops() {
    let bound = Server::new().listen("127.0.0.1:0").workers(3).timeouts(patient()).bind().unwrap();
    let mut server = Running::of(bound, |_: Request| async { "hello" });
    let mut clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.get("/");
    }
    server.stopper.stop();
    assert!(server.wait() < AT_ONCE);
    assert!(server.is_refusing());
}

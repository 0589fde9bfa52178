//! Key sets that are fetched from a server, which answers, hangs and lies.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use serow_access::jwt::{Expectations, KeyFetcher, KeySource, RemoteKeys, TokenError, Verifier};

use crate::jwt::issuer::{NOW, claims, issuer};

/// A server whose response can be changed.
struct Server {
    url: String,
    response: Arc<Mutex<String>>,
    requests: Arc<AtomicUsize>,
}

impl Server {
    fn start(response: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let response = Arc::new(Mutex::new(response));
        let requests = Arc::new(AtomicUsize::new(0));
        let (shared, counter) = (Arc::clone(&response), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counter.fetch_add(1, Ordering::SeqCst);
                let response = shared.lock().unwrap().clone();
                answer(stream, &response);
            }
        });
        Self { url, response, requests }
    }
}

fn answer(mut stream: TcpStream, response: &str) {
    let mut received = Vec::new();
    let mut piece = [0; 1024];
    while !received.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(length) => received.extend_from_slice(&piece[..length]),
        }
    }
    // The client may have seen enough.
    let _ = stream.write_all(response.as_bytes());
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "waited for 30 s: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn keys_are_fetched_outside_of_requests_and_secrets_are_left_out() {
    let server = Server::start(ok(&issuer().jwks().to_string()));
    let keys = Arc::new(RemoteKeys::new(&server.url, None).unwrap());
    let source = KeySource::Url(Arc::clone(&keys));
    assert!(source.current().is_none(), "nobody has fetched it");
    let _fetcher = KeyFetcher::start(vec![keys]).unwrap();
    wait_for("the first key set", || source.current().is_some());
    let set = source.current().unwrap();
    let verifier = Verifier::new(Expectations::default());
    assert!(verifier.verify(&issuer().token("RS256", &claims()), &set, NOW).is_ok());
    assert_eq!(verifier.verify(&issuer().token("HS256", &claims()), &set, NOW).map(drop), Err(TokenError::Algorithm));
    assert!(source.demand(Instant::now()).is_none(), "it was fetched just now");
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
    let later = Instant::now() + Duration::from_secs(31);
    assert!(source.demand(later).is_some(), "half a minute later, an unknown key causes a fetch");
}

#[test]
fn responses_without_keys_are_not_used_and_tried_again() {
    let large = ok(&format!("{{\"x\":\"{}\"}}", "a".repeat(300_000)));
    let endless = format!("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}", "a".repeat(300_000));
    let redirect = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n".to_owned();
    let responses = [
        String::new(),
        "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n".to_owned(),
        redirect,
        ok("<html>"),
        ok(&json!({ "keys": [] }).to_string()),
        large,
        endless,
        "nonsense\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 500\r\nConnection: close\r\n\r\n{\"keys\":".to_owned(),
    ];
    let servers: Vec<_> = responses.into_iter().map(Server::start).collect();
    let keys: Vec<_> = servers.iter().map(|server| Arc::new(RemoteKeys::new(&server.url, None).unwrap())).collect();
    let _fetcher = KeyFetcher::start(keys.clone()).unwrap();
    for (number, server) in servers.iter().enumerate() {
        wait_for("two attempts", || server.requests.load(Ordering::SeqCst) >= 2);
        assert!(keys[number].current().is_none(), "{number}");
        *server.response.lock().unwrap() = ok(&issuer().jwks().to_string());
    }
    for keys in keys {
        wait_for("the right key set", || keys.current().is_some());
    }
}

#[test]
fn the_last_good_set_is_kept_while_the_server_fails() {
    let server = Server::start(ok(&json!({ "keys": [issuer().p256_jwk()] }).to_string()));
    let keys = Arc::new(RemoteKeys::new(&server.url, None).unwrap());
    let source = KeySource::Url(Arc::clone(&keys));
    let _fetcher = KeyFetcher::start(vec![keys]).unwrap();
    wait_for("the first key set", || source.current().is_some());
    let set = source.current().unwrap();
    *server.response.lock().unwrap() = ok("<html>");
    // The clock of the demand is ahead: the fetch begins now.
    let end = source.demand(Instant::now() + Duration::from_secs(31)).unwrap();
    wait_for("the next fetch", || server.requests.load(Ordering::SeqCst) >= 2);
    serow_net::thread_runtime().unwrap().block_on(end.wait());
    assert!(Arc::ptr_eq(&source.current().unwrap(), &set));
    *server.response.lock().unwrap() = ok(&json!({ "keys": [issuer().rsa_jwk()] }).to_string());
    // The failed fetch is tried again a second later.
    wait_for("the changed key set", || !Arc::ptr_eq(&source.current().unwrap(), &set));
}

#[test]
fn texts_that_are_not_urls_are_refused() {
    for url in ["", "jwks.json", "ftp://example.com/", "https://", "https://user:password@example.com/", "https:///x"] {
        assert!(RemoteKeys::new(url, None).is_err(), "{url}");
    }
}

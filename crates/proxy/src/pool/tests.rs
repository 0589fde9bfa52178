//! Which connections are kept, and for which requests.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::{future::poll_fn, io::Write, net::TcpListener, net::TcpStream, rc::Rc, sync::Arc, time::Duration};

use bytes::Bytes;
use serow_client::{Buffers, Dialer, Http1, IdleHttp1};
use serow_http1::{Event, Limits};
use serow_message::Method;
use serow_net::{Destination, Moment};
use tokio::runtime::Builder;

use super::{Pool, SETTLING, SETTLING_FACTOR};
use crate::{ServerSettings, Upstream, UpstreamSettings, server::Server};

const CONTENT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\n\r\n";

/// A pool of connections to one server, with the server's ends of them.
struct Fixture {
    listener: TcpListener,
    upstream: Upstream,
    server: Arc<Server>,
    pool: Pool,
    ends: Vec<TcpStream>,
}

impl Fixture {
    fn new(max_idle: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string().parse().unwrap();
        let mut settings = UpstreamSettings::new("app", vec![ServerSettings::new(address)]);
        settings.keep.idle = max_idle;
        let upstream = Upstream::new(settings);
        let server = Arc::clone(&upstream.servers()[0]);
        Self { listener, upstream, server, pool: Pool::default(), ends: Vec::new() }
    }

    /// A connection behind an exchange with this response.
    async fn idle(&mut self, response: &str) -> IdleHttp1 {
        let destination = Destination::Tcp(self.listener.local_addr().unwrap());
        let buffers = Rc::new(Buffers::new());
        let dialer = Dialer { destination, encryption: None, timeout: Duration::from_secs(20) };
        let wire = dialer.dial(&buffers).await.unwrap();
        let mut connection = Box::new(Http1::new(wire, buffers, Limits::default()));
        let mut end = self.listener.accept().unwrap().0;
        connection.send_written(Bytes::from_static(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        connection.expect(&Method::GET).unwrap();
        poll_fn(|context| connection.poll_flush(context)).await.unwrap();
        end.write_all(response.as_bytes()).unwrap();
        self.ends.push(end);
        while !matches!(poll_fn(|context| connection.poll_receive(context)).await.unwrap(), Event::End(_)) {}
        connection.into_idle().unwrap()
    }

    async fn give(&mut self, response: &str, now: u64) {
        let idle = self.idle(response).await;
        self.pool.give(&self.upstream, idle, at(now));
    }

    fn take(&mut self, now: u64) -> bool {
        self.pool.take(&self.upstream, &self.server, at(now)).is_some()
    }

    fn unsolicited(&self) -> u64 {
        self.server.load.counters.unsolicited.value()
    }
}

fn at(milliseconds: u64) -> Moment {
    Moment::from_milliseconds(milliseconds)
}

fn run(test: impl AsyncFnOnce()) {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(test());
}

#[test]
fn a_connection_is_used_again_at_once() {
    run(async || {
        let mut fixture = Fixture::new(2);
        fixture.give(CONTENT, 1000).await;
        assert!(fixture.take(1000));
        assert!(!fixture.take(1000), "there was one");
    });
}

#[test]
fn a_connection_settles_behind_a_response_without_content() {
    run(async || {
        let mut fixture = Fixture::new(2);
        let settled = 1000 + u64::try_from(SETTLING.as_millis()).unwrap();
        fixture.give(NO_CONTENT, 1000).await;
        assert!(!fixture.take(1000) && !fixture.take(settled - 1));
        assert!(fixture.take(settled));
        // Data that arrives while it is idle closes it.
        fixture.give(NO_CONTENT, 1000).await;
        fixture.ends.last_mut().unwrap().write_all(b"body").unwrap();
        assert!(!fixture.take(settled));
        assert_eq!(fixture.unsolicited(), 1);
    });
}

#[test]
fn a_connection_with_unsolicited_bytes_is_closed() {
    run(async || {
        let mut fixture = Fixture::new(4);
        fixture.give(CONTENT, 1000).await;
        fixture.give(CONTENT, 1000).await;
        fixture.ends[1].write_all(b"HTTP/1.1 200 OK\r\n\r\nPOISON").unwrap();
        assert!(fixture.take(1000), "the other one");
        assert!(!fixture.take(1000));
        assert_eq!(fixture.unsolicited(), 1);
    });
}

#[test]
fn a_server_that_closes_idle_connections_does_nothing_wrong() {
    run(async || {
        let mut fixture = Fixture::new(2);
        fixture.give(CONTENT, 1000).await;
        fixture.ends.clear();
        assert!(!fixture.take(1000));
        assert_eq!(fixture.unsolicited(), 0);
    });
}

#[test]
fn the_number_of_connections_is_limited() {
    run(async || {
        let mut fixture = Fixture::new(1);
        fixture.give(CONTENT, 1000).await;
        fixture.give(CONTENT, 1000).await;
        assert!(fixture.take(1000) && !fixture.take(1000));
        for _ in 0..=SETTLING_FACTOR {
            fixture.give(NO_CONTENT, 1000).await;
        }
        assert_eq!(fixture.pool.settling.len(), SETTLING_FACTOR);
        assert!(fixture.take(2000) && !fixture.take(2000));
        let mut none = Fixture::new(0);
        none.give(CONTENT, 1000).await;
        none.give(NO_CONTENT, 1000).await;
        assert!(none.pool.is_empty());
    });
}

#[test]
fn old_connections_are_closed() {
    run(async || {
        let mut fixture = Fixture::new(4);
        for response in [CONTENT, NO_CONTENT] {
            fixture.give(response, 1000).await;
        }
        fixture.pool.sweep(&fixture.upstream, &fixture.server, at(20_000));
        assert_eq!(fixture.pool.idle.len(), 2);
        fixture.pool.sweep(&fixture.upstream, &fixture.server, at(60_000));
        assert!(fixture.pool.is_empty());
        assert!(!fixture.take(60_000));
    });
}

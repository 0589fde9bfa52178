//! Connections of HTTP/1.1 between two exchanges: which can serve another, and which cannot.

use std::{future::poll_fn, io::Write, net::TcpListener, net::TcpStream, rc::Rc, time::Duration};

use bytes::Bytes;
use serow_client::{Buffers, Destination, Dialer, Http1, IdleHttp1, NotReusable};
use serow_http1::{Event, Limits, Next};
use serow_message::Method;
use serow_net::thread_runtime;
use tokio::{runtime::Builder, time::timeout};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(TIMEOUT, future).await.expect("in time") })
}

/// A connection, and the server's end of it.
async fn connection() -> (Box<Http1>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let destination = Destination::Tcp(listener.local_addr().unwrap());
    let buffers = Rc::new(Buffers::new());
    let dialer = Dialer { destination, encryption: None, timeout: TIMEOUT };
    let wire = dialer.dial(&buffers).await.unwrap();
    (Box::new(Http1::new(wire, buffers, Limits::default())), listener.accept().unwrap().0)
}

/// The exchange of a request with this method, to which the server sends this.
async fn exchange(connection: &mut Http1, server: &mut TcpStream, method: &Method, response: &[u8]) -> Next {
    connection.send_written(Bytes::from_static(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    connection.expect(method).unwrap();
    server.write_all(response).unwrap();
    loop {
        let event = poll_fn(|context| {
            let _ = connection.poll_flush(context);
            connection.poll_receive(context)
        });
        if let Event::End(_) = event.await.unwrap() {
            return connection.next();
        }
    }
}

/// A connection that served one exchange.
async fn idle() -> (IdleHttp1, TcpStream) {
    let (mut connection, mut server) = connection().await;
    assert_eq!(exchange(&mut connection, &mut server, &Method::GET, RESPONSE).await, Next::Reuse);
    let idle = connection.into_idle().unwrap();
    assert!(!idle.may_be_overrun());
    (idle, server)
}

#[test]
fn a_connection_serves_one_exchange_after_the_other() {
    block_on(async {
        let (idle, mut server) = idle().await;
        let mut connection = idle.into_active().unwrap();
        assert_eq!(exchange(&mut connection, &mut server, &Method::GET, RESPONSE).await, Next::Reuse);
        assert!(connection.into_idle().is_ok());
    });
}

#[test]
fn a_connection_that_nothing_was_sent_on_is_idle() {
    block_on(async {
        let (connection, _server) = connection().await;
        assert!(connection.into_idle().unwrap().into_active().is_ok());
    });
}

#[test]
fn bytes_behind_the_response_are_unsolicited() {
    let poison = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON";
    for length in 1..poison.len() {
        block_on(async {
            let (mut connection, mut server) = connection().await;
            let sent = [RESPONSE, &poison[..length]].concat();
            assert_eq!(exchange(&mut connection, &mut server, &Method::GET, &sent).await, Next::Reuse);
            assert_eq!(connection.into_idle().err(), Some(NotReusable::Unsolicited), "{length} bytes");
        });
    }
}

#[test]
fn bytes_that_come_later_are_unsolicited() {
    block_on(async {
        let (mut idle, mut server) = idle().await;
        server.write_all(b"x").unwrap();
        assert_eq!(poll_fn(|context| idle.poll_unusable(context)).await, NotReusable::Unsolicited);
    });
}

/// Without a turn of the event loop in between: only the kernel knows of them.
#[test]
fn bytes_that_came_this_moment_are_unsolicited() {
    block_on(async {
        let (idle, mut server) = idle().await;
        server.write_all(b"x").unwrap();
        assert_eq!(idle.into_active().err(), Some(NotReusable::Unsolicited));
    });
}

/// The event loop of Serow's threads says when it has asked the kernel, so that a connection need not ask again.
#[test]
fn connections_that_the_event_loop_watches_need_no_call() {
    thread_runtime().unwrap().block_on(async {
        let (quiet, _quiet_server) = idle().await;
        let (poisoned, mut server) = idle().await;
        let (left, closing) = idle().await;
        assert!(!left.is_watched(), "the loop has not looked since");
        server.write_all(b"x").unwrap();
        drop(closing);
        while !left.is_watched() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(quiet.into_active().is_ok());
        assert_eq!(poisoned.into_active().err(), Some(NotReusable::Unsolicited));
        assert_eq!(left.into_active().err(), Some(NotReusable::Closed));
    });
}

#[test]
fn a_server_that_closes_an_idle_connection_is_noticed() {
    block_on(async {
        let (mut idle, server) = idle().await;
        drop(server);
        assert_eq!(poll_fn(|context| idle.poll_unusable(context)).await, NotReusable::Closed);
        assert_eq!(idle.into_active().err(), Some(NotReusable::Closed));
    });
    block_on(async {
        let (idle, server) = idle().await;
        drop(server);
        assert_eq!(idle.into_active().err(), Some(NotReusable::Closed), "this moment");
    });
    block_on(async {
        let (mut connection, mut server) = connection().await;
        let response = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(exchange(&mut connection, &mut server, &Method::GET, response).await, Next::Close);
        assert_eq!(connection.into_idle().err(), Some(NotReusable::Closed));
    });
}

#[test]
fn an_exchange_that_is_not_over_has_no_idle_connection() {
    block_on(async {
        let (mut connection, _server) = connection().await;
        connection.expect(&Method::GET).unwrap();
        assert_eq!(connection.into_idle().err(), Some(NotReusable::Unfinished));
    });
    block_on(async {
        let (mut connection, _server) = connection().await;
        connection.send_written(Bytes::from_static(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(connection.into_idle().err(), Some(NotReusable::Unfinished), "unsent");
    });
}

#[test]
fn responses_without_content_by_their_nature_may_be_overrun() {
    for (method, response) in [
        (Method::HEAD, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"),
        (Method::GET, "HTTP/1.1 204 No Content\r\n\r\n"),
        (Method::GET, "HTTP/1.1 304 Not Modified\r\n\r\n"),
    ] {
        block_on(async {
            let (mut connection, mut server) = connection().await;
            exchange(&mut connection, &mut server, &method, response.as_bytes()).await;
            assert!(connection.into_idle().unwrap().may_be_overrun(), "{response}");
        });
    }
}

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nSEE-THIS";

/// Nothing waits for so long.
const TIMEOUT: Duration = Duration::from_secs(20);

//! Clients that leave while their response is being made.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serow::{Request, Response, Server};

use crate::{
    streaming::serve_fed,
    support::{Asked, BOTH, Client, Running, eventually, sleep},
};

/// Counts the handlers at work.
struct AtWork(Arc<AtomicUsize>);

impl AtWork {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// `/never` is never answered, `/slow` after a while, and all else at once.
fn server() -> (Running, Arc<AtomicUsize>) {
    let at_work = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&at_work);
    let server = Running::new(move |mut request: Request| {
        let guard = AtWork::new(&counted);
        async move {
            let _guard = guard;
            match request.target.path() {
                "/never" => std::future::pending().await,
                "/slow" => tokio::time::sleep(Duration::from_millis(300)).await,
                "/read" => {
                    while request.body.chunk().await.is_some() {}
                    std::future::pending().await
                }
                _ => {}
            }
            Response::text(request.target.path().to_owned())
        }
    });
    (server, at_work)
}

fn is_working(at_work: &AtomicUsize) {
    eventually("the handler is at work", || at_work.load(Ordering::SeqCst) > 0);
}

fn is_given_up(at_work: &AtomicUsize) {
    eventually("the handler is given up", || at_work.load(Ordering::SeqCst) == 0);
}

#[test]
fn the_handler_of_a_client_that_is_gone_is_dropped() {
    let (server, at_work) = server();
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/never"));
        is_working(&at_work);
        drop(client);
        is_given_up(&at_work);
    }
    for request in [
        "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        "POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "GET /never HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET",
    ] {
        let mut client = server.connect();
        client.send(request);
        is_working(&at_work);
        drop(client);
        is_given_up(&at_work);
    }
}

#[test]
fn a_silent_stream_ends_when_its_client_is_gone() {
    let (server, feeds) = serve_fed(Server::new());
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/"));
        assert_eq!(client.head(), 200);
        let feed = feeds.lock().unwrap().pop().unwrap();
        feed.send("piece".into()).unwrap();
        assert_eq!(client.body(5), b"piece");
        drop(client);
        eventually("the body is dropped", || feed.is_closed());
    }
}

#[test]
fn a_client_that_only_closes_its_sending_side_is_answered() {
    let (server, _) = server();
    let mut client = server.connect();
    client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n").finish_sending();
    assert_eq!(client.answer().text(), "/slow");
    assert_eq!(client.answer().text(), "/next");
    client.ends();
}

/// Longer than such a client is waited for in vain.
#[test]
fn a_stream_goes_on_for_a_client_that_closes_its_sending_side() {
    let (server, feeds) = serve_fed(Server::new());
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").finish_sending();
    let mut feed = None;
    eventually("the body is there", || {
        feed = feeds.lock().unwrap().pop();
        feed.is_some()
    });
    for _ in 0..4 {
        feed.as_ref().unwrap().send("piece".into()).unwrap();
        sleep(Duration::from_millis(400));
    }
    drop(feed);
    assert_eq!(client.answer().text(), "piece".repeat(4));
    client.ends();
}

#[test]
fn requests_behind_a_slow_one_wait_and_are_answered() {
    let (server, _) = server();
    let mut client = server.connect();
    // More than is received ahead, and than is received at a time.
    const COUNT: usize = 20_000;
    let requests = ["GET /slow HTTP/1.1\r\nHost: a\r\n\r\n", &"GET /x HTTP/1.1\r\nHost: a\r\n\r\n".repeat(COUNT)];
    let writing = client.write_beside(requests.map(|text| text.as_bytes().to_vec()).to_vec(), Duration::ZERO);
    assert_eq!(client.answer().text(), "/slow");
    for _ in 0..COUNT {
        assert_eq!(client.answer().text(), "/x");
    }
    assert!(writing.end());
    // It is watched again.
    let other: Client = server.connect();
    drop(other);
    assert_eq!(client.get("/slow").text(), "/slow");
}

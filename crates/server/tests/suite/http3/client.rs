//! A client of HTTP/3 that keeps responses.

use std::{
    collections::HashMap,
    future::poll_fn,
    net::SocketAddr,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use serow_client::{ClientEncryption, Destination, Dialer, Http3, Http3Dialer};
use serow_http3::{Asking, ClientEvent, Limits, StreamId};
use serow_message::{Headers, Method, RequestHead, Target, Version};
use serow_tls::{TlsClientSettings, TlsConnector, Trust};
use tokio::time::timeout;

use crate::support::TIMEOUT;

/// Runs a test on a runtime as that of a worker.
pub(super) fn run(test: impl Future<Output = ()>) {
    serow_net::thread_runtime().unwrap().block_on(test);
}

/// One connection.
pub(super) struct Client {
    connection: Http3,
    answers: HashMap<StreamId, Answer>,
    end: Option<String>,
}

#[derive(Default)]
struct Answer {
    status: u16,
    body: Vec<u8>,
    whole: bool,
    was_reset: bool,
}

impl Client {
    pub(super) async fn new(server: SocketAddr) -> Self {
        let settings = TlsClientSettings { trust: Trust::Unchecked, ..TlsClientSettings::default() };
        let connector = TlsConnector::new(settings).unwrap();
        let encryption = Some(ClientEncryption { connector, server_name: "localhost".to_owned(), protocol: None });
        let dialer = Dialer { destination: Destination::Tcp(server), encryption, timeout: TIMEOUT };
        let dialer = Http3Dialer::new(&dialer).unwrap();
        let connection = dialer.dial(Limits::default(), Duration::ZERO).await.unwrap();
        Self { connection, answers: HashMap::new(), end: None }
    }

    pub(super) fn get(&mut self, path: &str) -> StreamId {
        self.ask(Method::GET, path, &[])
    }

    pub(super) fn post(&mut self, path: &str, body: &[u8]) -> StreamId {
        self.ask(Method::POST, path, body)
    }

    fn ask(&mut self, method: Method, path: &str, body: &[u8]) -> StreamId {
        let mut headers = Headers::new();
        headers.append("host", "localhost").unwrap();
        let target = Target::parse(Bytes::copy_from_slice(path.as_bytes()), false).unwrap();
        let head = RequestHead { method, target, version: Version::HTTP_3, headers };
        let stream = self.connection.open(&head, &Bytes::copy_from_slice(body), Asking::default()).unwrap();
        self.answers.insert(stream, Answer::default());
        stream
    }

    /// Waits for the first byte of a response's body.
    pub(super) async fn begun(&mut self, stream: StreamId) {
        self.until(|client| !client.answers[&stream].body.is_empty()).await;
    }

    /// Waits for a whole response.
    pub(super) async fn answer(&mut self, stream: StreamId) -> (u16, Vec<u8>) {
        self.until(|client| client.answers[&stream].whole || client.answers[&stream].was_reset).await;
        assert!(!self.answers[&stream].was_reset, "{stream} was reset");
        let answer = self.answers.remove(&stream).unwrap();
        (answer.status, answer.body)
    }

    /// Waits until a stream is reset, of which nothing has arrived.
    pub(super) async fn is_reset(&mut self, stream: StreamId) {
        self.until(|client| client.answers[&stream].was_reset).await;
        assert_eq!((self.answers[&stream].status, self.answers[&stream].body.len()), (0, 0));
    }

    /// Waits for the end of the connection, and tells the reason.
    pub(super) async fn end(&mut self) -> String {
        self.until(|client| client.end.is_some()).await;
        self.end.clone().unwrap()
    }

    async fn until(&mut self, is_done: impl Fn(&Self) -> bool) {
        let waited = timeout(
            TIMEOUT,
            poll_fn(|context| {
                self.work(context);
                assert!(self.end.is_none() || is_done(self), "{:?}", self.end);
                if is_done(self) { Poll::Ready(()) } else { Poll::Pending }
            }),
        );
        waited.await.expect("in time");
    }

    /// Does what can be done now.
    fn work(&mut self, context: &mut Context<'_>) {
        while let Poll::Ready(event) = self.connection.poll_receive(context, Duration::ZERO) {
            match event {
                Ok(ClientEvent::Response(response)) => {
                    let answer = self.answers.entry(response.stream).or_default();
                    answer.status = response.head.status.as_u16();
                    answer.whole = !response.has_body;
                }
                Ok(ClientEvent::Data { stream, data }) => {
                    self.answers.entry(stream).or_default().body.extend_from_slice(&data);
                }
                Ok(ClientEvent::End { stream, .. }) => self.answers.entry(stream).or_default().whole = true,
                Ok(ClientEvent::Reset { stream, .. }) => self.answers.entry(stream).or_default().was_reset = true,
                Ok(ClientEvent::GoAway { .. }) => {}
                Err(error) => {
                    self.end = Some(error.to_string());
                    return;
                }
            }
        }
        let _ = self.connection.poll_flush(context);
    }
}

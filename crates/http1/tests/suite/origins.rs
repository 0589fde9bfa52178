//! Whatever a server sends, and whenever: what a client takes for the response to a request never has bytes in it that
//! came before that request was sent.
//!
//! `PROPTEST_CASES=1000000 cargo test --release -p serow-http1 --test suite origins` is the long run.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use proptest::{collection::vec, prelude::*, sample::select};
use serow_http1::{BodyLength, Client, Event, Limits, Next, ProtocolError, UsageError};
use serow_message::{Headers, Method, RequestHead, Target, Version};

/// Texts that servers send: whole responses, parts of them, and bytes that no server should send.
const TEXTS: [&str; 24] = [
    "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nSEE-THIS",
    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON",
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\n",
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\n\r\nuntil the end",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "SEE-THIS",
    "POISON",
    "\r\n",
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "\0",
];

const METHODS: [Method; 4] = [Method::GET, Method::HEAD, Method::POST, Method::CONNECT];

/// The next event on a connection.
#[derive(Clone, Debug)]
enum Step {
    /// The server sends a text.
    Text(&'static str),
    /// The server sends a part of a text: from and to which byte.
    Part(&'static str, usize, usize),
    /// The server sends anything.
    Bytes(Vec<u8>),
    /// The client sends a request where it may.
    Request(Method),
    /// The client sends a request behind the one before.
    RequestAhead(Method),
    /// The server closes its side.
    End,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => select(&TEXTS[..]).prop_map(Step::Text),
        3 => (select(&TEXTS[..]), 0..50_usize, 0..100_usize).prop_map(|(text, from, to)| Step::Part(text, from, to)),
        1 => vec(any::<u8>(), 0..20).prop_map(Step::Bytes),
        8 => select(&METHODS[..]).prop_map(Step::Request),
        1 => select(&METHODS[..]).prop_map(Step::RequestAhead),
        1 => Just(Step::End),
    ]
}

/// A client's connection, driven as `serow-client` does it, with the time of each byte.
struct Connection {
    client: Client,
    input: BytesMut,
    /// How many requests had been sent when each byte of the input came.
    came: VecDeque<usize>,
    sent: usize,
    closed: bool,
}

impl Connection {
    fn new() -> Self {
        let client = Client::new(Limits::default());
        Self { client, input: BytesMut::new(), came: VecDeque::new(), sent: 0, closed: false }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Text(text) => self.receive(text.as_bytes()),
            Step::Part(text, from, to) => {
                let to = text.len().min(*to);
                self.receive(&text.as_bytes()[to.min(*from)..to]);
            }
            Step::Bytes(bytes) => self.receive(bytes),
            Step::Request(method) => self.send(method),
            Step::RequestAhead(method) => self.send_ahead(method),
            Step::End => self.end(),
        }
    }

    /// Sends a request, if the exchange before is over.
    fn send(&mut self, method: &Method) {
        let next = self.client.begin_next(&self.input);
        let (target, headers) = (Target::parse(Bytes::from_static(b"/"), false).unwrap(), Headers::new());
        let head = RequestHead { method: method.clone(), target, version: Version::HTTP_11, headers };
        let sent = self.client.send_head(&head, BodyLength::Known(0), &mut Vec::new());
        assert_eq!(sent.is_ok(), next == Next::Reuse, "{next:?}");
        if sent.is_ok() {
            assert!(!self.closed, "a request on a connection that is of no more use");
            assert!(self.input.is_empty(), "{:?} waits for the next request", self.input);
            self.sent += 1;
        }
    }

    /// Sends a request whose response comes behind the one that is being received.
    fn send_ahead(&mut self, method: &Method) {
        match self.client.expect(method) {
            Ok(()) => {
                self.sent += 1;
                // It was sent before the response that has just ended: so what is there may answer it.
                self.came.iter_mut().for_each(|came| *came = self.sent);
                self.drain();
            }
            Err(misuse) => assert_eq!(misuse, UsageError::OutOfTurn),
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        self.came.extend(std::iter::repeat_n(self.sent, bytes.len()));
        self.drain();
    }

    /// Takes all events there are, and looks at the bytes that each was made of.
    fn drain(&mut self) {
        while !self.closed {
            let before = self.input.len();
            match self.client.receive(&mut self.input) {
                Ok(event) => {
                    self.judge(before - self.input.len());
                    match event {
                        None => return,
                        Some(Event::Data(data)) => assert!(!data.is_empty()),
                        Some(Event::Head(_) | Event::End(_)) => {}
                    }
                }
                Err(error) => {
                    self.closed = true;
                    assert_eq!(self.client.next(), Next::Close, "{error:?}");
                    assert_eq!(self.client.receive(&mut self.input).err(), Some(error));
                }
            }
            if self.client.next() == Next::Tunnel {
                self.closed = true;
            }
        }
    }

    /// Checks that the bytes taken belong to the response to the last request.
    fn judge(&mut self, taken: usize) {
        for came in self.came.drain(..taken) {
            assert_eq!(came, self.sent, "a byte of the response to request {} came after request {came}", self.sent);
        }
    }

    fn end(&mut self) {
        let event = self.client.handle_end();
        let is_whole = !matches!(event, Err(ProtocolError::Incomplete));
        assert!(is_whole || self.client.next() != Next::Reuse);
        self.closed = true;
    }
}

proptest! {
    #[test]
    fn responses_have_no_bytes_from_before_their_request(steps in vec(step(), 1..24)) {
        let mut connection = Connection::new();
        steps.iter().for_each(|step| connection.take(step));
    }
}

#[test]
fn bytes_behind_a_response_close_the_connection() {
    for text in &TEXTS[..10] {
        for tail in TEXTS {
            let mut client = Client::new(Limits::default());
            client.expect(&Method::GET).unwrap();
            let mut input = BytesMut::from(format!("{text}{tail}").as_bytes());
            while let Ok(Some(event)) = client.receive(&mut input) {
                if matches!(event, Event::End(_)) {
                    break;
                }
            }
            assert_eq!(client.begin_next(&input), Next::Close, "{text:?}{tail:?}");
            assert_eq!(client.begin_next(&BytesMut::new()), Next::Close, "for good");
        }
    }
}

#[test]
fn bytes_that_come_while_no_response_is_due_are_an_error() {
    for tail in TEXTS {
        let mut client = Client::new(Limits::default());
        assert!(matches!(client.receive(&mut BytesMut::new()), Ok(None)));
        let mut input = BytesMut::from(tail);
        assert_eq!(client.receive(&mut input).err(), Some(ProtocolError::Unsolicited), "{tail:?}");
        assert_eq!(client.begin_next(&BytesMut::new()), Next::Close);
        assert_eq!(client.expect(&Method::GET), Err(UsageError::OutOfTurn));
    }
}

#[test]
fn informational_responses_have_a_limit() {
    let mut client = Client::new(Limits::default());
    for _ in 0..2 {
        client.expect(&Method::GET).unwrap();
        let mut input = BytesMut::from(&"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(64)[..]);
        while let Some(event) = client.receive(&mut input).unwrap() {
            assert!(matches!(event, Event::Head(response) if response.is_informational()));
        }
        input.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        assert!(matches!(client.receive(&mut input), Ok(Some(Event::Head(_)))));
        assert!(matches!(client.receive(&mut input), Ok(Some(Event::End(None)))));
    }
    client.expect(&Method::GET).unwrap();
    let mut input = BytesMut::from(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(65)[..]);
    let error = loop {
        match client.receive(&mut input) {
            Ok(event) => assert!(event.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(error, ProtocolError::TooManyInformational);
}

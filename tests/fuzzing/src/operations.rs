//! Any order of calls, valid or not: nothing panics, and an invalid call returns an error and writes nothing.

use arbitrary::Arbitrary;
use bytes::BytesMut;
use serow_http1::{BodyLength, Client, Event, Limits, Next, Server, UsageError};
use serow_message::{Headers, Method, RequestHead, ResponseHead, StatusCode, Target, Version};

use crate::with_value;

#[derive(Arbitrary, Debug)]
enum Operation {
    Feed(Feed),
    FeedBytes(Vec<u8>),
    Receive,
    HandleEnd,
    Head { status: u16, length: Option<u8>, upgrade: bool },
    Informational(u16),
    Continue,
    Data(u8),
    Chunk(u8),
    End { trailers: bool },
    Refuse(u16),
    Close,
    Next,
}

/// Parts of messages, so that the states behind a head are reached at once.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Feed {
    Get,
    Head,
    Post,
    Chunked,
    Old,
    Connect,
    Upgrade,
    Data,
    Last,
    Garbage,
    Response,
    Switch,
}

#[derive(Arbitrary, Debug)]
struct Session {
    server: Vec<Operation>,
    client: Vec<Operation>,
}

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(session: Session) {
    let mut server = Watched::new(Server::new(Limits::default()));
    session.server.iter().for_each(|operation| server.serve(operation));
    let mut client = Watched::new(Client::new(Limits::default()));
    session.client.iter().for_each(|operation| client.ask(operation));
}

/// One role, its buffers, and what is known of the message on its way out.
struct Watched<R> {
    role: R,
    input: BytesMut,
    output: Vec<u8>,
    sending: Sending,
    /// The connection is closed or handed over: no message may come from it any more.
    over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sending {
    Head,
    Length(u64),
    Endless,
    Done,
}

impl<R> Watched<R> {
    fn new(role: R) -> Self {
        Self { role, input: BytesMut::new(), output: Vec::new(), sending: Sending::Head, over: false }
    }

    /// Checks the result for so many bytes.
    fn expect_data(&mut self, length: u64, result: Result<(), UsageError>, before: usize) {
        let expected = match &mut self.sending {
            Sending::Head => Err(UsageError::OutOfTurn),
            Sending::Length(left) if *left >= length => {
                *left -= length;
                Ok(())
            }
            Sending::Length(_) => Err(UsageError::TooManyBytes),
            Sending::Endless => Ok(()),
            Sending::Done if length == 0 => Ok(()),
            Sending::Done => Err(UsageError::TooManyBytes),
        };
        assert_eq!(result, expected);
        assert!(result.is_ok() || self.output.len() == before, "something wrong was written");
    }

    fn expect_end(&mut self, result: Result<(), UsageError>, before: usize) {
        let expected = match self.sending {
            Sending::Head => Err(UsageError::OutOfTurn),
            Sending::Length(1..) => Err(UsageError::TooFewBytes),
            _ => Ok(()),
        };
        assert_eq!(result, expected);
        assert!(result.is_ok() || self.output.len() == before, "something wrong was written");
        if result.is_ok() {
            self.sending = Sending::Done;
        }
    }

    fn expect_head(&mut self, result: Result<bool, UsageError>, length: BodyLength, before: usize) {
        match result {
            Ok(body) => {
                assert_eq!(self.sending, Sending::Head, "two heads");
                self.sending = match length {
                    _ if !body => Sending::Done,
                    BodyLength::Known(length) => Sending::Length(length),
                    BodyLength::Unknown => Sending::Endless,
                };
            }
            Err(misuse) => assert_eq!((misuse, self.output.len()), (UsageError::OutOfTurn, before)),
        }
    }

    fn begin_next(&mut self, next: Next) {
        match next {
            Next::Reuse => {
                assert!(!self.over && self.sending == Sending::Done, "too early");
                self.sending = Sending::Head;
            }
            Next::Close | Next::Tunnel => self.over = true,
            Next::Unfinished => {}
        }
    }

    fn expect_event<H>(&self, event: &Event<H>) {
        assert!(!(self.over && matches!(event, Event::Head(_))), "a message behind the end");
    }
}

impl Watched<Server> {
    fn serve(&mut self, operation: &Operation) {
        let before = self.output.len();
        match operation {
            Operation::Feed(feed) => self.input.extend_from_slice(feed.bytes()),
            Operation::FeedBytes(bytes) => self.input.extend_from_slice(bytes),
            Operation::Receive => {
                if let Ok(Some(event)) = self.role.receive(&mut self.input) {
                    self.expect_event(&event);
                }
            }
            Operation::HandleEnd => {
                let _ = self.role.handle_end(&self.input);
            }
            Operation::Head { status, length, upgrade } => {
                let length = length.map_or(BodyLength::Unknown, |length| BodyLength::Known(length.into()));
                let headers = headers(*upgrade);
                let result = self.role.send_head(self::status(*status), &headers, length, b"", &mut self.output);
                self.expect_head(result, length, before);
            }
            Operation::Informational(status) => {
                let status = self::status(*status);
                let head = ResponseHead { status, version: Version::HTTP_11, headers: Headers::new() };
                let result = self.role.send_informational(&head, &mut self.output);
                let is_informational = status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS;
                assert!(result.is_err() || is_informational && self.sending == Sending::Head);
            }
            Operation::Continue => {
                self.role.send_continue(&mut self.output);
                assert!(self.output.len() == before || self.sending == Sending::Head);
            }
            Operation::Data(length) => {
                let result = self.role.send_data(&vec![b'x'; usize::from(*length)], &mut self.output);
                self.expect_data(u64::from(*length), result, before);
            }
            Operation::Chunk(length) => {
                let result = self.role.begin_chunk(u64::from(*length), &mut self.output);
                self.role.end_chunk(u64::from(*length), &mut self.output);
                self.expect_data(u64::from(*length), result, self.output.len());
            }
            Operation::End { trailers } => {
                let result = self.role.send_end(trailers.then(|| headers(false)).as_ref(), &mut self.output);
                self.expect_end(result, before);
            }
            Operation::Refuse(status) => {
                self.role.refuse(self::status(*status), b"", &mut self.output);
                if self.sending == Sending::Head {
                    self.sending = Sending::Done;
                }
                assert!(!self.role.is_persistent());
            }
            Operation::Close => self.role.close(),
            Operation::Next => {
                let next = self.role.begin_next();
                self.begin_next(next);
            }
        }
    }
}

impl Watched<Client> {
    fn ask(&mut self, operation: &Operation) {
        let before = self.output.len();
        match operation {
            Operation::Feed(feed) => self.input.extend_from_slice(feed.bytes()),
            Operation::FeedBytes(bytes) => self.input.extend_from_slice(bytes),
            Operation::Receive => {
                if let Ok(Some(event)) = self.role.receive(&mut self.input) {
                    self.expect_event(&event);
                }
            }
            Operation::HandleEnd => {
                let _ = self.role.handle_end();
            }
            Operation::Head { status, length, upgrade } => {
                let length = length.map_or(BodyLength::Unknown, |length| BodyLength::Known(length.into()));
                let connect = *status == 0;
                let method = if connect { Method::CONNECT } else { Method::POST };
                let target = Target::parse(if connect { "a:1".into() } else { "/".into() }, connect).expect("a target");
                let head = RequestHead { method, target, version: Version::HTTP_11, headers: headers(*upgrade) };
                let result = self.role.send_head(&head, length, &mut self.output);
                self.expect_head(result, length, before);
            }
            Operation::Data(length) => {
                let result = self.role.send_data(&vec![b'x'; usize::from(*length)], &mut self.output);
                self.expect_data(u64::from(*length), result, before);
            }
            Operation::End { trailers } => {
                let result = self.role.send_end(trailers.then(|| headers(false)).as_ref(), &mut self.output);
                self.expect_end(result, before);
            }
            Operation::Next => {
                let next = self.role.begin_next(&self.input);
                assert!(next != Next::Reuse || self.input.is_empty(), "bytes that no request asked for");
                // Nothing has been sent so far, so there is nothing to end.
                if self.sending != Sending::Head || next != Next::Reuse {
                    self.begin_next(next);
                }
            }
            _ => {}
        }
    }
}

impl Feed {
    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Get => b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            Self::Head => b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
            Self::Post => b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n",
            Self::Chunked => b"POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n",
            Self::Old => b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            Self::Connect => b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
            Self::Upgrade => b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
            Self::Data => b"2\r\nab\r\n",
            Self::Last => b"0\r\nX: y\r\n\r\n",
            Self::Garbage => b"\0\r\n\r\n",
            Self::Response => b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd",
            Self::Switch => b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
        }
    }
}

fn headers(upgrade: bool) -> Headers {
    let mut headers = Headers::new();
    headers.append("x", "y").expect("a field");
    if upgrade {
        headers.append("upgrade", "echo").expect("a field");
    }
    headers
}

fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(100 + number % 500).expect("a status")
}

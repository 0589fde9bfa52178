//! The server's side of a connection.

use alloc::vec::Vec;

use bytes::{Bytes, BytesMut};
use serow_message::{Headers, Known, Method, RequestHead, ResponseHead, StatusCode, Version};

use crate::{
    BodyLength, Framing, Limits, Misuse, Next, ProtocolError,
    body::{BodyEvent, BodyReceiver},
    framing::{has_option, is_persistent, may_have_body},
    head::HeadProgress,
    outgoing::{FRAMING, Outgoing, write_decimal},
};

/// Receives requests and sends responses, one after the other (RFC 9112 §9.3.2: answers in the order of the requests, so
/// the next request is taken from the input only when this one is answered).
///
/// ```text
///   receiving   Head ──► Body ──► Done ─┐        either side may be done first;
///                ▲                      ├─► begin_next() ── Reuse: both begin again
///   sending     Head ──► body ──► Done ─┘                Close, Tunnel: the end
/// ```
#[derive(Debug)]
pub struct Server {
    limits: Limits,
    receiving: Receiving,
    sending: Outgoing,
    exchange: Exchange,
}

#[derive(Debug)]
enum Receiving {
    Head(HeadProgress),
    Body(BodyReceiver),
    Done,
}

/// What is remembered of the request until its response is sent.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    version: Version,
    head_only: bool,
    connect: bool,
    takes_trailers: bool,
    expectation: Expectation,
    after: Next,
}

/// RFC 9110 §10.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expectation {
    /// The client sends the body without being asked.
    None,
    /// The client waits to be told.
    Waiting,
}

/// What was received.
#[derive(Debug)]
pub enum Event<H> {
    /// A whole head.
    Head(H),
    /// A piece of the body.
    Data(Bytes),
    /// The end of the body, with its trailers if there were any. Comes for every message, also one without a body.
    End(Option<Headers>),
}

/// A request's head and what it says of the rest.
#[derive(Debug)]
pub struct ReceivedRequest {
    /// The head.
    pub head: RequestHead,
    /// Where the body ends.
    pub framing: Framing,
    /// Whether the client asks for another protocol behind this request (RFC 9110 §7.8), or for a tunnel: a response with
    /// status 101, or 2xx to CONNECT, then ends HTTP on this connection.
    pub upgrade: bool,
}

impl Server {
    /// The state of a new connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            receiving: Receiving::Head(HeadProgress::default()),
            sending: Outgoing::Head,
            exchange: Exchange::FIRST,
        }
    }

    /// Takes the next event from the front of the input; `None` where more input is needed, or the response to this
    /// request comes first.
    ///
    /// # Errors
    ///
    /// What the client did wrong. Answer with [`Self::refuse`], if no response has begun, and close the connection.
    #[inline]
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Event<ReceivedRequest>>, ProtocolError> {
        match &mut self.receiving {
            Receiving::Head(progress) => match progress.receive_request(input, &self.limits)? {
                Some(head) => self.handle_head(head).map(|request| Some(Event::Head(request))),
                None => Ok(None),
            },
            Receiving::Body(body) => Ok(body.receive(input, &self.limits)?.map(|event| match event {
                BodyEvent::Data(data) => {
                    self.exchange.expectation = Expectation::None;
                    Event::Data(data)
                }
                BodyEvent::End(trailers) => {
                    self.receiving = Receiving::Done;
                    Event::End(trailers)
                }
            })),
            Receiving::Done => Ok(None),
        }
    }

    /// The client closed its side; `input` is what is left of what it sent.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::Incomplete`] within a request.
    pub fn handle_end(&mut self, input: &BytesMut) -> Result<(), ProtocolError> {
        match &self.receiving {
            Receiving::Head(_) if input.is_empty() => Ok(()),
            Receiving::Head(_) => Err(ProtocolError::Incomplete),
            Receiving::Body(body) => body.handle_end(),
            Receiving::Done => Ok(()),
        }
    }

    /// Whether the connection is between two requests, with nothing of the next one seen.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        matches!(&self.receiving, Receiving::Head(progress) if !progress.has_begun())
    }

    /// Whether all of the request has been received.
    #[must_use]
    pub fn has_received_all(&self) -> bool {
        matches!(self.receiving, Receiving::Done)
    }

    /// Whether the client waits for `100 Continue` before it sends the body.
    #[must_use]
    pub fn awaits_continue(&self) -> bool {
        self.exchange.expectation == Expectation::Waiting
    }

    /// Writes `100 Continue` if the client waits for it. To be called when somebody wants the body.
    pub fn send_continue(&mut self, output: &mut Vec<u8>) {
        if self.awaits_continue() && self.sending == Outgoing::Head {
            self.exchange.expectation = Expectation::None;
            output.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }

    /// Writes an interim response (1xx but 101). Nothing is written for an HTTP/1.0 client, which would take it for the
    /// response (RFC 9110 §15.2).
    ///
    /// # Errors
    ///
    /// When the response has begun already.
    pub fn send_interim(&mut self, head: &ResponseHead, output: &mut Vec<u8>) -> Result<(), Misuse> {
        if self.sending != Outgoing::Head {
            return Err(Misuse::OutOfTurn);
        }
        if self.exchange.version == Version::HTTP_11 && head.status.is_informational() {
            write_status(head.status, output);
            head.headers.write_lines(output, &FRAMING);
            output.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    /// Writes the head of the response. `lines` are further header lines of the server, each with its CR LF (`Date`).
    /// What `headers` say of length, coding and connection is left out: it follows from `length`, the request and
    /// [`Self::close`]. Says whether a body is to be sent.
    ///
    /// # Errors
    ///
    /// When the response has begun already.
    #[inline]
    pub fn send_head(
        &mut self,
        status: StatusCode,
        headers: &Headers,
        length: BodyLength,
        lines: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<bool, Misuse> {
        if self.sending != Outgoing::Head || matches!(self.receiving, Receiving::Head(_)) {
            return Err(Misuse::OutOfTurn);
        }
        write_status(status, output);
        output.extend_from_slice(lines);
        headers.write_lines(output, &FRAMING);
        if status == StatusCode::SWITCHING_PROTOCOLS || self.exchange.connect && status.is_success() {
            self.exchange.after = Next::Tunnel;
        } else if self.exchange.connect {
            // What follows a refused CONNECT may be meant for the tunnel.
            self.exchange.after = Next::Close;
        }
        self.write_framing(status, headers, length, output);
        output.extend_from_slice(b"\r\n");
        if self.sending == Outgoing::Length(0) {
            self.sending = Outgoing::Done;
        }
        Ok(self.sending != Outgoing::Done)
    }

    /// Writes a whole response to a broken request, and ends the connection. Nothing is written when a response has begun
    /// already.
    pub fn refuse(&mut self, status: StatusCode, lines: &[u8], output: &mut Vec<u8>) {
        self.exchange.after = Next::Close;
        self.receiving = Receiving::Done;
        if self.sending != Outgoing::Head {
            return;
        }
        self.sending = Outgoing::Done;
        let reason = status.canonical_reason().unwrap_or_default();
        write_status(status, output);
        output.extend_from_slice(lines);
        output.extend_from_slice(b"content-type: text/plain; charset=utf-8\r\ncontent-length: ");
        write_decimal(reason.len() as u64 + 5, output);
        output.extend_from_slice(b"\r\nconnection: close\r\n\r\n");
        if !self.exchange.head_only {
            for part in [status.as_str(), " ", reason, "\n"] {
                output.extend_from_slice(part.as_bytes());
            }
        }
    }

    /// Writes a piece of the body.
    ///
    /// # Errors
    ///
    /// Before the head, or more than was announced.
    pub fn send_data(&mut self, data: &[u8], output: &mut Vec<u8>) -> Result<(), Misuse> {
        self.begin_chunk(data.len() as u64, output)?;
        output.extend_from_slice(data);
        self.end_chunk(data.len() as u64, output);
        Ok(())
    }

    /// Announces a piece of the body that is written by other means (a file, a large piece in memory): what is appended
    /// to the output goes out before it.
    ///
    /// # Errors
    ///
    /// Before the head, or more than was announced.
    pub fn begin_chunk(&mut self, length: u64, output: &mut Vec<u8>) -> Result<(), Misuse> {
        self.sending.begin_chunk(length, output)
    }

    /// What goes out behind the piece announced by [`Self::begin_chunk`].
    pub fn end_chunk(&mut self, length: u64, output: &mut Vec<u8>) {
        self.sending.end_chunk(length, output);
    }

    /// Ends the response. Trailers are sent in a chunked body only, and only where the client said `TE: trailers`
    /// (RFC 9110 §6.5.1).
    ///
    /// # Errors
    ///
    /// Before the head, or fewer bytes than were announced: then the connection must be cut, so that the client does not
    /// take the response for whole.
    pub fn send_end(&mut self, trailers: Option<&Headers>, output: &mut Vec<u8>) -> Result<(), Misuse> {
        let trailers = trailers.filter(|_| self.exchange.takes_trailers);
        self.sending.end(trailers, output)
    }

    /// The connection is to be closed after this response. To be called before its head is sent, so that the client is
    /// told.
    pub fn close(&mut self) {
        if self.exchange.after == Next::Reuse {
            self.exchange.after = Next::Close;
        }
    }

    /// Whether this response leaves the connection open.
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.exchange.after == Next::Reuse
    }

    /// What becomes of the connection; after [`Next::Reuse`] the next request can be received.
    pub fn begin_next(&mut self) -> Next {
        if self.sending != Outgoing::Done {
            return Next::Unfinished;
        }
        match (self.exchange.after, &self.receiving) {
            (Next::Reuse, Receiving::Done) => {
                self.receiving = Receiving::Head(HeadProgress::default());
                self.sending = Outgoing::Head;
                Next::Reuse
            }
            // The client was never told to send the body: what comes next may be it, or another request.
            (Next::Reuse, _) if self.awaits_continue() => Next::Close,
            (Next::Reuse, _) => Next::Unfinished,
            (after, _) => after,
        }
    }

    fn handle_head(&mut self, head: RequestHead) -> Result<ReceivedRequest, ProtocolError> {
        let (headers, version) = (&head.headers, head.version);
        let head_only = head.method == Method::HEAD;
        let connect = head.method == Method::CONNECT;
        // Known before anything is refused: a refusal of HEAD has no body either.
        self.exchange = Exchange { version, head_only, connect, ..Exchange::FIRST };
        check_host(&head)?;
        let framing = Framing::of_request(headers, version)?;
        if connect && framing != Framing::None {
            return Err(ProtocolError::ConnectWithContent);
        }
        let upgrade = connect
            || headers.contains(Known::Upgrade)
                && version == Version::HTTP_11
                && framing == Framing::None
                && has_option(headers, b"upgrade");
        self.exchange.expectation = expectation(headers, version, framing)?;
        self.exchange.takes_trailers = headers.contains(Known::Te)
            && headers.list(Known::Te).any(|coding| coding.eq_ignore_ascii_case(b"trailers"));
        self.exchange.after = if is_persistent(headers, version) { Next::Reuse } else { Next::Close };
        self.receiving = match framing {
            Framing::None => Receiving::Done,
            _ => Receiving::Body(BodyReceiver::new(framing, &self.limits)?),
        };
        Ok(ReceivedRequest { head, framing, upgrade })
    }

    /// Chooses the framing of the response (RFC 9112 §6.1, §6.2), and writes the fields that say it.
    #[inline]
    fn write_framing(&mut self, status: StatusCode, headers: &Headers, length: BodyLength, output: &mut Vec<u8>) {
        let exchange = &mut self.exchange;
        let head_only = exchange.head_only;
        self.sending = match length {
            _ if exchange.after == Next::Tunnel || !may_have_body(status) => Outgoing::Done,
            // RFC 9110 §8.6: to HEAD, the length that GET would have; a handler that made no body may know it.
            BodyLength::Known(0) if head_only && headers.contains(Known::ContentLength) => {
                output.extend_from_slice(b"content-length: ");
                output.extend_from_slice(headers.get(Known::ContentLength).unwrap_or_default());
                output.extend_from_slice(b"\r\n");
                Outgoing::Done
            }
            BodyLength::Known(length) => {
                output.extend_from_slice(b"content-length: ");
                write_decimal(length, output);
                output.extend_from_slice(b"\r\n");
                Outgoing::Length(length)
            }
            BodyLength::Unknown if exchange.version == Version::HTTP_11 => {
                output.extend_from_slice(b"transfer-encoding: chunked\r\n");
                Outgoing::Chunked
            }
            BodyLength::Unknown => {
                exchange.after = Next::Close;
                Outgoing::UntilClose
            }
        };
        if head_only {
            self.sending = Outgoing::Done;
        }
        match exchange.after {
            Next::Tunnel if status == StatusCode::SWITCHING_PROTOCOLS => {
                output.extend_from_slice(b"connection: upgrade\r\n");
            }
            Next::Close => output.extend_from_slice(b"connection: close\r\n"),
            Next::Reuse if exchange.version == Version::HTTP_10 => {
                output.extend_from_slice(b"connection: keep-alive\r\n");
            }
            _ => {}
        }
    }
}

impl Exchange {
    /// Before the first request: enough to refuse one that cannot be understood.
    const FIRST: Self = Self {
        version: Version::HTTP_11,
        head_only: false,
        connect: false,
        takes_trailers: false,
        expectation: Expectation::None,
        after: Next::Reuse,
    };
}

/// RFC 9112 §3.2: exactly one in HTTP/1.1, at most one in HTTP/1.0, and it is a host with an optional port.
fn check_host(head: &RequestHead) -> Result<(), ProtocolError> {
    let mut values = head.headers.get_all(Known::Host);
    let host = values.next();
    if values.next().is_some() || host.is_none() && head.version == Version::HTTP_11 {
        return Err(ProtocolError::Host);
    }
    let is_host_byte = |byte: &u8| {
        matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'%' | b'!' | b'$'
            | b'&'..=b'+' | b';' | b'=' | b':' | b'[' | b']')
    };
    if host.is_some_and(|host| !host.iter().all(is_host_byte)) {
        return Err(ProtocolError::Host);
    }
    Ok(())
}

/// RFC 9110 §10.1.1: HTTP/1.0 knows no expectations; without a body there is nothing to wait for.
fn expectation(headers: &Headers, version: Version, framing: Framing) -> Result<Expectation, ProtocolError> {
    if version != Version::HTTP_11 || !headers.contains(Known::Expect) {
        return Ok(Expectation::None);
    }
    for value in headers.list(Known::Expect) {
        if !value.eq_ignore_ascii_case(b"100-continue") {
            return Err(ProtocolError::Expectation);
        }
    }
    Ok(if framing == Framing::None { Expectation::None } else { Expectation::Waiting })
}

/// The status line. RFC 9112 §4: the reason may be empty, the space before it may not.
#[inline]
fn write_status(status: StatusCode, output: &mut Vec<u8>) {
    if status == StatusCode::OK {
        output.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    for part in ["HTTP/1.1 ", status.as_str(), " ", status.canonical_reason().unwrap_or_default(), "\r\n"] {
        output.extend_from_slice(part.as_bytes());
    }
}

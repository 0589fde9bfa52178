//! The client's side of a connection.

use alloc::vec::Vec;

use bytes::BytesMut;
use serow_message::{
    BodyLength, Headers, KnownHeader, Method, RequestHead, ResponseHead, StatusCode, UsageError,
    content::{self, write_decimal},
};

use crate::{
    Event, Framing, Limits, Next, ProtocolError,
    body::BodyReceiver,
    framing::is_persistent,
    outgoing::{FRAMING, Outgoing, write_connection},
    receiving::Receiving,
};

/// Sends requests and receives responses, one after the other.
#[derive(Debug)]
pub struct Client {
    limits: Limits,
    sending: Outgoing,
    receiving: Receiving,
    method: Method,
    asked_for_upgrade: bool,
    /// Informational responses to the request so far.
    informational: usize,
    /// Whether the response had no content because of the method or the status.
    without_content: bool,
    after: Next,
}

/// A response's head and what it says of the rest.
#[derive(Debug)]
pub struct ReceivedResponse {
    /// The head. One with a status 1xx (but 101) is an informational response: the response is still to come.
    pub head: ResponseHead,
    /// Where the body ends.
    pub framing: Framing,
}

impl ReceivedResponse {
    /// Whether the response itself is still to come (RFC 9110 §15.2).
    #[must_use]
    pub fn is_informational(&self) -> bool {
        self.head.status.is_informational() && self.head.status != StatusCode::SWITCHING_PROTOCOLS
    }
}

impl Client {
    /// The state of a new connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            sending: Outgoing::Head,
            receiving: Receiving::Done,
            method: Method::GET,
            asked_for_upgrade: false,
            informational: 0,
            without_content: false,
            after: Next::Reuse,
        }
    }

    /// Writes the head of a request. Header fields about length, coding and connection are left out: the values follow
    /// from `length`. Returns whether a body is to be sent.
    ///
    /// # Errors
    ///
    /// When [`Self::begin_next`] has not said [`Next::Reuse`] since the exchange before, when the server has broken a
    /// rule, or when a CONNECT is to have a body (RFC 9110 §9.3.6).
    pub fn send_head(
        &mut self,
        head: &RequestHead,
        length: BodyLength,
        output: &mut Vec<u8>,
    ) -> Result<bool, UsageError> {
        if !self.is_idle() || head.method == Method::CONNECT && length != BodyLength::Known(0) {
            return Err(UsageError::OutOfTurn);
        }
        for part in [head.method.as_str(), " ", head.target.as_str(), " HTTP/1.1\r\n"] {
            output.extend_from_slice(part.as_bytes());
        }
        head.headers.write_lines(output, &FRAMING);
        // RFC 9110 §7.8, §10.1.4: both speak of this connection and have to be named as such.
        self.asked_for_upgrade = head.headers.contains(KnownHeader::Upgrade);
        let te = head.headers.contains(KnownHeader::Te);
        write_connection([("upgrade", self.asked_for_upgrade), ("te", te)], output);
        self.sending = match length {
            BodyLength::Known(length) => {
                // RFC 9110 §8.6: no length where the method foresees no content and there is none.
                if length > 0 || matches!(head.method, Method::POST | Method::PUT | Method::PATCH) {
                    output.extend_from_slice(b"content-length: ");
                    write_decimal(length, output);
                    output.extend_from_slice(b"\r\n");
                }
                if length == 0 { Outgoing::Done } else { Outgoing::Length(length) }
            }
            BodyLength::Unknown => {
                output.extend_from_slice(b"transfer-encoding: chunked\r\n");
                Outgoing::Chunked
            }
        };
        output.extend_from_slice(b"\r\n");
        self.method = head.method.clone();
        self.informational = 0;
        self.receiving = Receiving::head();
        Ok(self.sending != Outgoing::Done)
    }

    /// A whole request with this method was written by other means: its response comes next. For requests that are sent
    /// many times, or in a form that this crate does not write. Where several were written one behind the other, each
    /// is announced when the response before it is whole; the bytes behind that response are then its own.
    ///
    /// # Errors
    ///
    /// When the exchange before is not finished, or the connection ends with it.
    pub fn expect(&mut self, method: &Method) -> Result<(), UsageError> {
        if !self.is_idle() && self.next() != Next::Reuse {
            return Err(UsageError::OutOfTurn);
        }
        self.sending = Outgoing::Done;
        self.asked_for_upgrade = false;
        if self.method != *method {
            self.method = method.clone();
        }
        self.informational = 0;
        self.receiving = Receiving::head();
        Ok(())
    }

    /// Writes a piece of the request's body.
    ///
    /// # Errors
    ///
    /// Before the head, or more than was announced.
    pub fn send_data(&mut self, data: &[u8], output: &mut Vec<u8>) -> Result<(), UsageError> {
        self.sending.begin_chunk(data.len() as u64, output)?;
        output.extend_from_slice(data);
        self.sending.end_chunk(data.len() as u64, output);
        Ok(())
    }

    /// Ends the request.
    ///
    /// # Errors
    ///
    /// Before the head, or fewer bytes than were announced.
    pub fn send_end(&mut self, trailers: Option<&Headers>, output: &mut Vec<u8>) -> Result<(), UsageError> {
        self.sending.end(trailers, output)
    }

    /// Takes the next event from the front of the input; `None` where more input is needed.
    ///
    /// # Errors
    ///
    /// The server's error; the connection is of no more use. Between two exchanges any byte is an error
    /// ([`ProtocolError::Unsolicited`]).
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Event<ReceivedResponse>>, ProtocolError> {
        let event = self.receive_event(input);
        if let Err(error) = event {
            self.refuse(error);
        }
        event
    }

    /// Nothing more is taken from this server.
    fn refuse(&mut self, error: ProtocolError) {
        self.receiving = Receiving::Broken(error);
        self.after = Next::Close;
    }

    fn receive_event(&mut self, input: &mut BytesMut) -> Result<Option<Event<ReceivedResponse>>, ProtocolError> {
        match &mut self.receiving {
            Receiving::Head(progress) => match progress.receive_response(input, &self.limits)? {
                Some(head) => self.handle_head(head).map(|response| Some(Event::Head(response))),
                None => Ok(None),
            },
            Receiving::Done if self.sending == Outgoing::Head && !input.is_empty() => Err(ProtocolError::Unsolicited),
            behind => behind.receive_behind_head(input, &self.limits),
        }
    }

    /// Bytes still to come of the body that is being received, where its length was announced: the input has nothing
    /// else until then, and the caller may take them past this machine, and [tell](Self::pass_body) it.
    #[must_use]
    pub fn body_left(&self) -> Option<u64> {
        match &self.receiving {
            Receiving::Body(body) => body.left(),
            _ => None,
        }
    }

    /// The caller took these bytes of the body itself.
    ///
    /// # Errors
    ///
    /// If they are more than [`Self::body_left`]: nothing is known of what follows them.
    pub fn pass_body(&mut self, bytes: u64) -> Result<(), ProtocolError> {
        let passed = match &mut self.receiving {
            Receiving::Body(body) => body.pass(bytes),
            _ => false,
        };
        if !passed {
            self.refuse(ProtocolError::Unsolicited);
            return Err(ProtocolError::Unsolicited);
        }
        Ok(())
    }

    /// The server closed its side. A body that lasts until then is whole: its [`Event::End`] is given here.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::Incomplete`] within a response, or before one that was asked for.
    pub fn handle_end(&mut self) -> Result<Option<Event<ReceivedResponse>>, ProtocolError> {
        if self.after == Next::Reuse {
            self.after = Next::Close;
        }
        match &self.receiving {
            Receiving::Broken(error) => Err(*error),
            Receiving::Head(_) => Err(ProtocolError::Incomplete),
            Receiving::Body(body) => {
                body.handle_end()?;
                self.receiving = Receiving::Done;
                Ok(Some(Event::End(None)))
            }
            Receiving::Done => Ok(None),
        }
    }

    /// Begins the next exchange, where the connection allows one: after [`Next::Reuse`] the next request can be sent.
    ///
    /// Bytes that are left in the input belong to no response: a request that is sent only now cannot have caused them.
    /// The connection is closed then, and [`Self::receive`] says why. (An answer that is there before its request is
    /// how one client gets another's response.)
    pub fn begin_next(&mut self, input: &BytesMut) -> Next {
        let next = self.next();
        if next != Next::Reuse {
            return next;
        }
        if !input.is_empty() {
            self.refuse(ProtocolError::Unsolicited);
            return Next::Close;
        }
        self.sending = Outgoing::Head;
        next
    }

    /// Returns how the connection goes on when the exchange is over. A tunnel begins behind the body of the request,
    /// even where the server agrees to it before (RFC 9110 §7.8).
    #[must_use]
    pub fn next(&self) -> Next {
        match (self.sending, &self.receiving) {
            (_, Receiving::Broken(_)) => Next::Close,
            (Outgoing::Head | Outgoing::Done, _) if self.after == Next::Tunnel => Next::Tunnel,
            (Outgoing::Head | Outgoing::Done, Receiving::Done) => self.after,
            _ => Next::Unfinished,
        }
    }

    /// Whether the last response had no content because of the request's method or its status: HEAD, 204 and 304 (RFC
    /// 9112 §6.3). Some servers send content all the same, a moment later.
    #[must_use]
    pub fn may_be_overrun(&self) -> bool {
        self.without_content
    }

    /// Whether a request may be sent.
    fn is_idle(&self) -> bool {
        self.sending == Outgoing::Head && matches!(self.receiving, Receiving::Done) && self.after == Next::Reuse
    }

    fn handle_head(&mut self, head: ResponseHead) -> Result<ReceivedResponse, ProtocolError> {
        let framing = Framing::of_response(&head.headers, head.version, head.status, &self.method)?;
        let response = ReceivedResponse { head, framing };
        if response.is_informational() {
            self.informational += 1;
            if self.informational > self.limits.informational {
                return Err(ProtocolError::TooManyInformational);
            }
            return Ok(response);
        }
        let ReceivedResponse { head, .. } = &response;
        let switch = head.status == StatusCode::SWITCHING_PROTOCOLS;
        // RFC 9110 §7.8: only to a protocol that the client named. Behind a proxy the bytes of the next exchange would
        // otherwise go into a tunnel that nobody asked for.
        if switch && !self.asked_for_upgrade {
            return Err(ProtocolError::Upgrade);
        }
        let tunnel = switch || self.method == Method::CONNECT && head.status.is_success();
        self.after = match framing {
            _ if tunnel => Next::Tunnel,
            Framing::UntilClose => Next::Close,
            _ if is_persistent(&head.headers, head.version) => Next::Reuse,
            _ => Next::Close,
        };
        self.without_content = self.method == Method::HEAD || !content::is_possible(head.status);
        self.receiving = Receiving::Body(BodyReceiver::new(framing, &self.limits)?);
        Ok(response)
    }
}

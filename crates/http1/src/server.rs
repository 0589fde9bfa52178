//! The server's side of a connection.

use alloc::{boxed::Box, vec::Vec};

use bytes::BytesMut;
use serow_message::{
    BodyLength, Headers, KnownHeader, RequestHead, ResponseHead, StatusCode, UsageError, Version,
    content::{self, write_decimal},
    refusal_text,
};

use crate::{
    Event, Framing, Limits, Next, ProtocolError,
    body::BodyReceiver,
    host,
    outgoing::{FRAMING, Outgoing, write_connection, write_status},
    receiving::Receiving,
    response_context::{Expectation, ResponseContext},
};

/// Receives requests and sends responses, one after the other (RFC 9112 §9.3.2: answers in the order of the requests,
/// so the next request is taken from the input only when this one is answered).
///
/// ```text
///   receiving   Head ──► Body ──► Done ─┐        either side may be done first;
///                ▲                      ├─► begin_next() ── Reuse: both begin again
///   sending     Head ──► body ──► Done ─┘                Close, Tunnel: the end
/// ```
///
/// Before a tunnel, too, the request is received to its end: a client changes the protocol behind its body, even where
/// the 101 comes before that (RFC 9110 §7.8).
#[derive(Debug)]
pub struct Server {
    limits: Limits,
    receiving: Receiving,
    sending: Outgoing,
    exchange: ResponseContext,
    /// The head of a request whose body is announced to be too large.
    refused: Option<Box<RequestHead>>,
}

/// A request's head and what it says of the rest.
#[derive(Debug)]
pub struct ReceivedRequest {
    /// The head.
    pub head: RequestHead,
    /// Where the body ends.
    pub framing: Framing,
    /// Whether the client asks for another protocol behind this request and its body (RFC 9110 §7.8), or for a tunnel:
    /// a response with status 101, or 2xx to CONNECT, then ends HTTP on this connection.
    pub upgrade: bool,
}

impl Server {
    /// The state of a new connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            receiving: Receiving::head(),
            sending: Outgoing::Head,
            exchange: ResponseContext::NONE,
            refused: None,
        }
    }

    /// Takes the head of the request that [`Self::receive`] has refused, where only its body is wrong: for the log.
    pub fn take_refused(&mut self) -> Option<RequestHead> {
        self.refused.take().map(|head| *head)
    }

    /// Takes the next event from the front of the input; `None` where more input is needed, or the response to this
    /// request comes first.
    ///
    /// # Errors
    ///
    /// The client's error. Answer with [`Self::refuse`], if no response has begun, and close the connection.
    #[inline(always)]
    pub fn receive(&mut self, input: &mut BytesMut) -> Result<Option<Event<ReceivedRequest>>, ProtocolError> {
        let event = self.receive_event(input);
        if let Err(error) = event {
            if matches!(self.receiving, Receiving::Head(_)) && input.starts_with(b"HEAD ") {
                // A head that was not understood is still there; the client that sent it takes a body for the next
                // response.
                self.exchange.head_only = true;
            }
            self.receiving = Receiving::Broken(error);
            self.exchange.after = Next::Close;
        }
        event
    }

    #[inline(always)]
    fn receive_event(&mut self, input: &mut BytesMut) -> Result<Option<Event<ReceivedRequest>>, ProtocolError> {
        match &mut self.receiving {
            Receiving::Head(progress) => match progress.receive_request(input, &self.limits)? {
                Some(head) => self.handle_head(head).map(|request| Some(Event::Head(request))),
                None => Ok(None),
            },
            behind => {
                let event = behind.receive_behind_head(input, &self.limits)?;
                if event.is_some() {
                    // A client that has begun the body does not wait for 100 Continue.
                    self.exchange.expectation = Expectation::None;
                }
                Ok(event)
            }
        }
    }

    /// The client closed its side; `input` is the rest of the bytes that it sent.
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
            Receiving::Broken(error) => Err(*error),
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

    /// Whether a part of the response has been written, so that it is too late for another one.
    #[must_use]
    pub fn has_begun_response(&self) -> bool {
        self.sending != Outgoing::Head
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

    /// Writes an informational response (1xx but 101). Nothing is written for an HTTP/1.0 client, which would take it
    /// for the response (RFC 9110 §15.2).
    ///
    /// # Errors
    ///
    /// When no request waits for a response, the response has begun already, or the status is none of an informational
    /// response.
    pub fn send_informational(&mut self, head: &ResponseHead, output: &mut Vec<u8>) -> Result<(), UsageError> {
        if !self.awaits_response() || !is_informational(head.status) {
            return Err(UsageError::OutOfTurn);
        }
        if self.exchange.version == Version::HTTP_11 {
            write_status(head.status, output);
            head.headers.write_lines(output, &FRAMING);
            output.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    /// Writes the head of the response. `lines` are further header lines of the server, each with its CR LF (`Date`).
    /// Fields of `headers` about length, coding and connection are left out: the values follow from `length`, the
    /// request and [`Self::close`]. Returns whether a body is to be sent.
    ///
    /// # Errors
    ///
    /// When no request waits for a response, the response has begun already, the status is that of an informational
    /// response, or 101 where no upgrade was asked for (RFC 9110 §15.2.2).
    #[inline]
    pub fn send_head(
        &mut self,
        status: StatusCode,
        headers: &Headers,
        length: BodyLength,
        lines: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<bool, UsageError> {
        let switch = status == StatusCode::SWITCHING_PROTOCOLS;
        if !self.awaits_response() || is_informational(status) || switch && !self.exchange.upgrade {
            return Err(UsageError::OutOfTurn);
        }
        if switch {
            // RFC 9110 §7.8: 100 comes before 101. Without the body, the end of the request would never be found.
            self.send_continue(output);
        }
        write_status(status, output);
        output.extend_from_slice(lines);
        headers.write_lines(output, &FRAMING);
        if matches!(self.receiving, Receiving::Broken(_)) {
            self.exchange.after = Next::Close;
        } else if switch || self.exchange.connect && status.is_success() {
            self.exchange.after = Next::Tunnel;
        } else if self.exchange.connect {
            // Bytes behind a refused CONNECT may be meant for the tunnel.
            self.exchange.after = Next::Close;
        }
        self.write_framing(status, headers, length, output);
        output.extend_from_slice(b"\r\n");
        if self.sending == Outgoing::Length(0) {
            self.sending = Outgoing::Done;
        }
        Ok(self.sending != Outgoing::Done)
    }

    /// Writes a whole response to a broken request, and ends the connection. Nothing is written when a response has
    /// begun already.
    pub fn refuse(&mut self, status: StatusCode, lines: &[u8], output: &mut Vec<u8>) {
        self.exchange.after = Next::Close;
        if !matches!(self.receiving, Receiving::Broken(_)) {
            self.receiving = Receiving::Done;
        }
        if self.sending != Outgoing::Head {
            return;
        }
        self.sending = Outgoing::Done;
        let text = refusal_text(status, self.limits.body);
        write_status(status, output);
        output.extend_from_slice(lines);
        output.extend_from_slice(b"content-type: text/plain; charset=utf-8\r\ncontent-length: ");
        write_decimal(text.len() as u64, output);
        output.extend_from_slice(b"\r\nconnection: close\r\n\r\n");
        if !self.exchange.head_only {
            output.extend_from_slice(&text);
        }
    }

    /// Writes a piece of the body.
    ///
    /// # Errors
    ///
    /// Before the head, or more than was announced.
    pub fn send_data(&mut self, data: &[u8], output: &mut Vec<u8>) -> Result<(), UsageError> {
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
    pub fn begin_chunk(&mut self, length: u64, output: &mut Vec<u8>) -> Result<(), UsageError> {
        self.sending.begin_chunk(length, output)
    }

    /// Writes the end of the piece that [`Self::begin_chunk`] announced.
    pub fn end_chunk(&mut self, length: u64, output: &mut Vec<u8>) {
        self.sending.end_chunk(length, output);
    }

    /// Ends the response. Trailers are sent in a chunked body only, and only where the client said `TE: trailers` (RFC
    /// 9110 §6.5.1).
    ///
    /// # Errors
    ///
    /// Before the head, or fewer bytes than were announced: then the connection must be cut, so that the client does
    /// not take the response for whole.
    pub fn send_end(&mut self, trailers: Option<&Headers>, output: &mut Vec<u8>) -> Result<(), UsageError> {
        let trailers = trailers.filter(|_| self.exchange.takes_trailers);
        self.sending.end(trailers, output)
    }

    /// Closes the connection after this response. Call it before the head is sent, so that the head contains
    /// `Connection: close`.
    pub fn close(&mut self) {
        if self.exchange.after == Next::Reuse {
            self.exchange.after = Next::Close;
        }
    }

    /// Whether this response leaves the connection open, for the next request or as a tunnel.
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.exchange.after != Next::Close
    }

    /// Begins the next exchange, where the connection allows one: after [`Next::Reuse`] the next request can be
    /// received.
    pub fn begin_next(&mut self) -> Next {
        if self.sending != Outgoing::Done {
            return Next::Unfinished;
        }
        match (self.exchange.after, &self.receiving) {
            (Next::Reuse, Receiving::Done) => {
                self.receiving = Receiving::head();
                self.sending = Outgoing::Head;
                self.exchange = ResponseContext::NONE;
                Next::Reuse
            }
            // The server never sent 100 Continue: the next bytes may be the body, or another request.
            (Next::Reuse, _) if self.awaits_continue() => {
                self.exchange.after = Next::Close;
                Next::Close
            }
            (Next::Reuse, _) | (Next::Tunnel, Receiving::Body(_)) => Next::Unfinished,
            (after, _) => after,
        }
    }

    /// Whether a request is there and no response to it yet.
    fn awaits_response(&self) -> bool {
        self.sending == Outgoing::Head && !matches!(self.receiving, Receiving::Head(_))
    }

    fn handle_head(&mut self, head: RequestHead) -> Result<ReceivedRequest, ProtocolError> {
        self.exchange = ResponseContext::of_refusable(&head);
        host::check(&head)?;
        let framing = Framing::of_request(&head.headers, head.version)?;
        if self.exchange.connect && framing != Framing::None {
            return Err(ProtocolError::ConnectWithContent);
        }
        self.exchange.take_in(&head.headers, framing)?;
        let upgrade = self.exchange.upgrade || self.exchange.connect;
        self.receiving = match framing {
            Framing::None => Receiving::Done,
            _ => match BodyReceiver::new(framing, &self.limits) {
                Ok(receiver) => Receiving::Body(receiver),
                Err(error) => {
                    self.refused = Some(Box::new(head));
                    return Err(error);
                }
            },
        };
        Ok(ReceivedRequest { head, framing, upgrade })
    }

    /// Chooses the framing of the response (RFC 9112 §6.1, §6.2), and writes the fields that say it.
    #[inline]
    fn write_framing(&mut self, status: StatusCode, headers: &Headers, length: BodyLength, output: &mut Vec<u8>) {
        let exchange = &mut self.exchange;
        let head_only = exchange.head_only;
        self.sending = match length {
            _ if exchange.after == Next::Tunnel || !content::is_possible(status) => Outgoing::Done,
            // RFC 9110 §8.6: to HEAD, the length that GET would have; a handler that made no body may know it.
            BodyLength::Known(length) => {
                let announced = if head_only && length == 0 { content::length(headers) } else { Ok(None) };
                let length = announced.ok().flatten().unwrap_or(length);
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
        let upgrade = headers.contains(KnownHeader::Upgrade);
        if exchange.after == Next::Reuse && exchange.version == Version::HTTP_11 && !upgrade {
            // HTTP/1.1 stays open without saying so.
            return;
        }
        match exchange.after {
            // A 2xx to CONNECT has no options: the tunnel begins behind it.
            Next::Tunnel if status != StatusCode::SWITCHING_PROTOCOLS => {}
            Next::Close => write_connection([("close", true), ("upgrade", upgrade)], output),
            after => {
                let keep_alive = after == Next::Reuse && exchange.version == Version::HTTP_10;
                write_connection([("keep-alive", keep_alive), ("upgrade", upgrade)], output);
            }
        }
    }
}

/// RFC 9110 §15.2: 101 is not sent as an informational response here: it is the last response on its connection.
fn is_informational(status: StatusCode) -> bool {
    status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS
}

//! A connection to an application that speaks FastCGI, SCGI or uwsgi.

use std::{
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use serow_fastcgi::{
    CgiEvent, CgiHead, CgiResponse, Persistence, ResponseEvent, ResponseForm, Role, SectionLimits, Variables,
    VariablesError, WebServer, write_scgi_request, write_uwsgi_request,
};
use serow_http1::{Event, Framing, ReceivedResponse, UsageError};
use serow_message::{KnownHeader, Method, ResponseHead, Version};
use serow_net::{Buffers, Wire};

use crate::{ClientError, buffered_wire::Link};

/// A protocol between a web server and an application, other than HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgiProtocol {
    /// FastCGI 1.0: php-fpm, php-cgi.
    Fastcgi,
    /// SCGI.
    Scgi,
    /// The protocol of uWSGI.
    Uwsgi,
}

/// A request as its application gets it.
#[derive(Debug)]
pub struct CgiRequest {
    /// The protocol.
    pub protocol: CgiProtocol,
    /// REQUEST_METHOD.
    pub method: Method,
    /// All variables, CONTENT_LENGTH among them.
    pub variables: Variables,
    /// Bytes of the body, exactly.
    pub length: u64,
}

/// A connection during its only exchange. php-fpm's processes stay with a connection until it is closed, whether they have
/// a request or not, and close one unannounced after `pm.max_requests`: a connection for each request avoids both.
///
/// `L` logs each message that the application writes to its standard error.
pub struct CgiConnection<L: Fn(&str)> {
    link: Link,
    /// Bytes of the body of the request.
    length: u64,
    receiving: Receiving,
    response: CgiResponse,
    /// The part of the script's output that is still to be parsed.
    piece: Bytes,
    /// The application's output to its standard error.
    errors: Vec<u8>,
    log: L,
    is_over: bool,
}

/// Where the script's output is.
enum Receiving {
    /// In records.
    Records(Box<WebServer>),
    /// All that comes is output.
    Output,
}

impl<L: Fn(&str)> CgiConnection<L> {
    /// Begins this request over this wire; [`Self::poll_flush`] sends it.
    ///
    /// # Errors
    ///
    /// Variables for which the protocol has no room.
    pub fn begin(wire: Wire, buffers: Rc<Buffers>, request: CgiRequest, log: L) -> Result<Self, VariablesError> {
        let CgiRequest { protocol, method, variables, length } = request;
        let mut link = Link::new(wire, buffers);
        let output = link.output();
        let (mut form, mut receiving) = (ResponseForm::Cgi, Receiving::Output);
        match protocol {
            CgiProtocol::Fastcgi => {
                let mut machine = WebServer::begin_request(Role::Responder, Persistence::Close, &variables, output)?;
                if length == 0 {
                    // It was not sent before.
                    let _ = machine.end_stream(output);
                }
                receiving = Receiving::Records(Box::new(machine));
            }
            CgiProtocol::Scgi => write_scgi_request(&variables, length, output),
            CgiProtocol::Uwsgi => {
                write_uwsgi_request(&variables, output)?;
                form = ResponseForm::CgiOrHttp;
            }
        }
        let response = CgiResponse::new(LIMITS, form, &method);
        Ok(Self { link, length, receiving, response, piece: Bytes::new(), errors: Vec::new(), log, is_over: false })
    }

    /// Whether a body has to follow.
    #[must_use]
    pub fn has_body(&self) -> bool {
        self.length > 0
    }

    /// Sends a piece of the body.
    ///
    /// # Errors
    ///
    /// Behind the end of the body.
    pub fn send_data(&mut self, mut data: &[u8]) -> Result<(), UsageError> {
        let output = self.link.output();
        let Receiving::Records(machine) = &mut self.receiving else {
            output.extend_from_slice(data);
            return Ok(());
        };
        while !data.is_empty() {
            let (piece, rest) = data.split_at(machine.begin_piece(data.len(), output)?);
            output.extend_from_slice(piece);
            data = rest;
        }
        Ok(())
    }

    /// Ends the body.
    ///
    /// # Errors
    ///
    /// When it has ended already.
    pub fn send_end(&mut self) -> Result<(), UsageError> {
        match &mut self.receiving {
            Receiving::Records(machine) => machine.end_stream(self.link.output()),
            Receiving::Output => Ok(()),
        }
    }

    /// Whether there is unsent output.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.link.has_unsent()
    }

    /// Ready when all has been sent.
    ///
    /// # Errors
    ///
    /// If the connection fails.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        self.link.poll_flush(context)
    }

    /// Bytes received so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.link.received()
    }

    /// The next event of the response.
    ///
    /// # Errors
    ///
    /// If the connection fails, or ends before the response is complete; if the application violates its protocol, or a
    /// script that of CGI.
    pub fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Event<ReceivedResponse>, ClientError>> {
        loop {
            if let Some(event) = self.receive_received()? {
                return Poll::Ready(Ok(event));
            }
            if ready!(self.link.poll_fill(context))? == 0 {
                return Poll::Ready(self.handle_end());
            }
        }
    }

    /// The next event from the input received already.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_receive`], but for those of the connection.
    pub fn receive_received(&mut self) -> Result<Option<Event<ReceivedResponse>>, ClientError> {
        loop {
            if self.is_over {
                return Ok(None);
            }
            while !self.piece.is_empty() {
                match self.response.receive(&mut self.piece)? {
                    Some(CgiEvent::Head(head)) => return Ok(Some(Event::Head(self.received_head(head)))),
                    Some(CgiEvent::Data(data)) => return Ok(Some(Event::Data(data))),
                    Some(CgiEvent::Excess) => {
                        self.note_error(b"the script sent more than its Content-Length announced")
                    }
                    None => {}
                }
            }
            match &mut self.receiving {
                Receiving::Output if self.link.input.is_empty() => return Ok(None),
                Receiving::Output => self.piece = self.link.input.split().freeze(),
                Receiving::Records(machine) => match machine.receive(&mut self.link.input)? {
                    None => return Ok(None),
                    Some(ResponseEvent::Stdout(piece)) => self.piece = piece,
                    Some(ResponseEvent::Stderr(text)) => self.note_error(&text),
                    Some(ResponseEvent::End { .. }) => return self.end().map(Some),
                },
            }
        }
    }

    fn note_error(&mut self, text: &[u8]) {
        let room = MAX_ERRORS.saturating_sub(self.errors.len());
        self.errors.extend_from_slice(&text[..text.len().min(room)]);
    }

    fn handle_end(&mut self) -> Result<Event<ReceivedResponse>, ClientError> {
        match &mut self.receiving {
            // A process that crashes closes without END_REQUEST.
            Receiving::Records(_) => Err(ClientError::Closed),
            Receiving::Output if self.link.received() == 0 => Err(ClientError::Closed),
            Receiving::Output if self.link.wire.is_truncated() => Err(ClientError::Truncated),
            Receiving::Output => self.end(),
        }
    }

    fn end(&mut self) -> Result<Event<ReceivedResponse>, ClientError> {
        self.response.handle_end()?;
        self.is_over = true;
        Ok(Event::End(None))
    }

    fn received_head(&self, head: CgiHead) -> ReceivedResponse {
        let CgiHead { status, mut headers, content_length } = head;
        if let Some(length) = content_length {
            // Digits are a valid value.
            let _ = headers.append(KnownHeader::ContentLength, length.to_string());
        }
        let framing = match content_length {
            _ if self.response.drops_body() => Framing::None,
            Some(length) => Framing::Length(length),
            // The end of the exchange says where the body ends, as the last chunk does.
            None => Framing::Chunked,
        };
        ReceivedResponse { head: ResponseHead { status, version: Version::HTTP_11, headers }, framing }
    }
}

impl<L: Fn(&str)> Drop for CgiConnection<L> {
    fn drop(&mut self) {
        for line in String::from_utf8_lossy(&self.errors).lines().filter(|line| !line.trim().is_empty()) {
            // php-fpm's mark for messages of scripts.
            (self.log)(line.strip_prefix("PHP message: ").unwrap_or(line));
        }
    }
}

/// nginx has 4 or 8 KiB for the header section, and guides for WordPress raise it; scripts that set many cookies need more.
/// A script that never ends its section must not fill the memory.
const LIMITS: SectionLimits = SectionLimits { bytes: 256 * 1024, fields: 1000 };

/// Bytes of error messages that are kept for the log: a script in a loop writes without end.
const MAX_ERRORS: usize = 16 * 1024;

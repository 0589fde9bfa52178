//! A check over HTTP: one request on a connection of its own, and its response.

use std::{future::poll_fn, rc::Rc, task::Poll};

use bytes::Bytes;
use serow_client::{Buffers, ClientError, Http1, Http2};
use serow_http1::Event;
use serow_http2::{Asking, ClientEvent, OpenError};
use serow_message::{Headers, KnownHeader, Method, RequestHead, Scheme, Target, Version};
use serow_net::{Wire, monotonic};

use super::{
    error::CheckError,
    expectation::{Expectation, Progress},
};
use crate::settings::HttpCheck;

/// The request, and the server's name.
pub(super) struct Question<'a> {
    pub(super) check: &'a HttpCheck,
    /// The server's name, unless the check sets a host.
    pub(super) authority: String,
    pub(super) scheme: Scheme,
}

impl Question<'_> {
    /// Asks over HTTP/1.1.
    pub(super) async fn ask_http1(&self, wire: Wire, buffers: Rc<Buffers>) -> Result<(), CheckError> {
        let (method, text) = match &self.check.send {
            Some(text) => {
                let method = text.split(' ').next().and_then(|method| Method::from_bytes(method.as_bytes()).ok());
                (method.ok_or(CheckError::Unsendable)?, text.clone())
            }
            None => (Method::GET, self.text()?),
        };
        let mut connection = Http1::new(wire, buffers, serow_http1::Limits::default());
        connection.send_written(text.into());
        connection.expect(&method).map_err(|_| CheckError::Unsendable)?;
        poll_fn(|context| connection.poll_flush(context)).await.map_err(CheckError::Broken)?;
        let mut expectation = Expectation::new(self.check);
        loop {
            let event = poll_fn(|context| connection.poll_receive(context)).await.map_err(CheckError::Broken)?;
            let progress = match event {
                Event::Head(response) if response.is_informational() => Progress::Unfinished,
                Event::Head(response) => expectation.handle_head(&response.head)?,
                Event::Data(data) => expectation.handle_data(&data)?,
                Event::End(_) => return expectation.handle_end(),
            };
            if progress == Progress::Good {
                return Ok(());
            }
        }
    }

    /// Asks over HTTP/2.
    pub(super) async fn ask_http2(&self, wire: Wire, buffers: Rc<Buffers>) -> Result<(), CheckError> {
        let mut exchange = CheckExchange::begin(wire, buffers, &self.head()?, &Bytes::new(), self.scheme)?;
        let mut expectation = Expectation::new(self.check);
        loop {
            let progress = match exchange.receive().await? {
                ClientEvent::Response(response) if response.is_informational() => Progress::Unfinished,
                ClientEvent::Response(response) => match expectation.handle_head(&response.head)? {
                    Progress::Unfinished if !response.has_body => return expectation.handle_end(),
                    progress => progress,
                },
                ClientEvent::Data { data, .. } => expectation.handle_data(&data)?,
                ClientEvent::End { .. } => return expectation.handle_end(),
                ClientEvent::Reset { code, .. } => return Err(CheckError::Reset(code)),
                ClientEvent::GoAway { .. } => Progress::Unfinished,
            };
            if progress == Progress::Good {
                return Ok(());
            }
        }
    }

    /// The request as it is sent over HTTP/1.1.
    fn text(&self) -> Result<String, CheckError> {
        let head = self.head()?;
        let host = head.headers.get_str(KnownHeader::Host).ok_or(CheckError::Unsendable)?;
        let target = head.target.as_str();
        Ok(format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nuser-agent: {AGENT}\r\nconnection: close\r\n\r\n"))
    }

    fn head(&self) -> Result<RequestHead, CheckError> {
        let unsendable = |_| CheckError::Unsendable;
        let target = Target::parse(self.check.path.clone().into(), false).map_err(|_| CheckError::Unsendable)?;
        let mut headers = Headers::new();
        headers.insert(KnownHeader::Host, self.check.host.as_ref().unwrap_or(&self.authority)).map_err(unsendable)?;
        headers.insert(KnownHeader::UserAgent, AGENT).map_err(unsendable)?;
        Ok(RequestHead { method: Method::GET, target, version: Version::HTTP_11, headers })
    }
}

/// The only exchange of a connection that speaks HTTP/2.
pub(super) struct CheckExchange {
    connection: Http2,
}

impl CheckExchange {
    /// Sends a request.
    pub(super) fn begin(
        wire: Wire,
        buffers: Rc<Buffers>,
        head: &RequestHead,
        body: &Bytes,
        scheme: Scheme,
    ) -> Result<Self, CheckError> {
        let mut connection = Http2::new(wire, buffers, serow_http2::Limits::default(), monotonic());
        let scheme = if scheme == Scheme::Https { "https" } else { "http" };
        connection.open(head, body, Asking { scheme, ..Asking::default() }).map_err(|error| match error {
            OpenError::WouldBlock | OpenError::GoAway => CheckError::Refused,
            OpenError::Usage => CheckError::Unsendable,
        })?;
        Ok(Self { connection })
    }

    /// The next event. Meanwhile, pending output is sent.
    pub(super) async fn receive(&mut self) -> Result<ClientEvent, CheckError> {
        let event = poll_fn(|context| {
            let event = self.connection.poll_receive(context, monotonic());
            if event.is_pending()
                && let Poll::Ready(Err(broken)) = self.connection.poll_flush(context)
            {
                return Poll::Ready(Err(broken));
            }
            event
        });
        let event = event.await.map_err(|broken: ClientError| CheckError::Broken(broken))?;
        if let ClientEvent::Data { stream, data } = &event {
            self.connection.note_consumed(*stream, data.len());
        }
        Ok(event)
    }
}

/// The user agent, for the servers' logs.
pub(super) const AGENT: &str = "serow-check";

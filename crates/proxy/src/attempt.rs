//! One attempt at one server: the connection that it goes on, and the exchange there.

use serow_gateway::RequestBody;
use std::{rc::Rc, sync::Arc};

use serow_client::{Http1, Protocol};
use serow_http1::Limits;
use serow_net::Wire;

use crate::{
    attempt_error::AttemptError,
    attempt_log::AttemptLog,
    exchange_deadline::ExchangeDeadline,
    forwarding::{Connections, Forwarding},
    http2,
    lease::Lease,
    sequential_exchange::SequentialExchange,
    server::Server,
    server_response::{ResponseContent, ServerResponse},
    websocket,
};

/// The outcome of an attempt at a server that speaks HTTP/2, or may.
enum Multiplexed {
    Response(ServerResponse),
    /// It speaks HTTP/1.1 for this request.
    Http1(Lease),
}

impl Forwarding {
    /// One attempt at one server, which the lease is of: on a connection that is there, or on a new one.
    ///
    /// All but a request of HTTP/1.1 on a connection that is there is boxed: a future is as large as its largest branch,
    /// and the allocator takes several times as long for more than 1 KiB.
    pub(crate) async fn attempt(&mut self, lease: Lease) -> Result<ServerResponse, AttemptError> {
        let mut lease = self.begin_attempt(lease);
        if let Some(protocol) = self.local.upstream.settings().cgi_protocol {
            return Box::pin(self.attempt_cgi(lease, protocol)).await;
        }
        if let Some(connections) = self.local.multiplexed(lease.server()) {
            match Box::pin(self.attempt_multiplexed(lease, connections)).await? {
                Multiplexed::Response(response) => return Ok(response),
                Multiplexed::Http1(returned) => lease = returned,
            }
        }
        let mut exchange = match self.idle_connection(lease.server()) {
            Some(connection) => self.begin_exchange(lease, connection, true),
            None => {
                let connection = Box::pin(self.connect(lease.server())).await?;
                self.begin_exchange(lease, connection, false)
            }
        };
        let head = self.head.head_for(&exchange.server().settings().address);
        let response = exchange.response(head, &mut self.body, &self.informational).await?;
        exchange.into_answer(response, &self.head, &self.settings.response_buffering)
    }

    /// Counts and logs the attempt, and sets the body to its beginning.
    fn begin_attempt(&mut self, mut lease: Lease) -> Lease {
        let server = lease.server();
        server.load.counters.requests.add(1);
        let (name, queue_time) = (server.shared_name(), self.queue_time);
        self.attempt_log = self.noted.as_ref().map(|noted| AttemptLog::begin(noted, name, queue_time));
        lease.set_attempt_log(self.attempt_log.clone());
        match &self.whole {
            Some(whole) => self.body = RequestBody::new(whole.body(), self.head.trailers.clone()),
            None => self.body.rewind(),
        }
        self.head.set_expectation(self.body.expects_continue());
        lease
    }

    fn idle_connection(&self, server: &Arc<Server>) -> Option<Box<Http1>> {
        match self.connections {
            Connections::Any => self.local.idle_connection(server),
            Connections::New => None,
        }
    }

    fn begin_exchange(&self, lease: Lease, connection: Box<Http1>, is_reused: bool) -> SequentialExchange<Http1> {
        self.note_connection(!is_reused);
        let mut exchange =
            SequentialExchange::new(Rc::clone(&self.local.pool), lease, connection, is_reused, self.until);
        self.set_timeouts(&mut exchange.deadline);
        exchange
    }

    /// An attempt at a server that speaks HTTP/2, or may.
    async fn attempt_multiplexed(
        &mut self,
        lease: Lease,
        connections: Rc<http2::Connections>,
    ) -> Result<Multiplexed, AttemptError> {
        // Where the protocol can be chosen, upgrades use HTTP/1.1. In HTTP/2 an upgrade begins with the tunnel, and
        // has no place for a body: with one, the upgrade is ignored, as any server may (RFC 9110 §7.8).
        let is_chosen = lease.server().settings().address.protocol.is_some();
        let is_upgrade = self.head.upgrade.is_some() && !(is_chosen && self.has_body);
        if !is_upgrade && let Some(stream) = self.open_stream(&connections, lease.server()).await? {
            self.note_connection(false);
            let mut exchange = http2::Exchange::new(Rc::clone(&self.local.pool), lease, stream, self.until);
            self.set_timeouts(&mut exchange.deadline);
            let buffering = &self.settings.response_buffering;
            return exchange.answer(&mut self.body, &self.head, buffering).await.map(Multiplexed::Response);
        }
        if is_upgrade && is_chosen {
            return Box::pin(self.attempt_tunnel(lease, &connections)).await.map(Multiplexed::Response);
        }
        Ok(Multiplexed::Http1(lease))
    }

    /// Begins the request on a stream; `None` where the server turns out to speak HTTP/1.1.
    async fn open_stream(
        &mut self,
        connections: &Rc<http2::Connections>,
        server: &Server,
    ) -> Result<Option<http2::Stream>, AttemptError> {
        let head = self.head.head_for(&server.settings().address);
        let asked = http2::StreamRequest { head, body: &self.body, informational: &self.informational, protocol: None };
        match connections.begin(asked)? {
            Some(stream) => Ok(Some(stream)),
            None => Box::pin(connections.begin_later(&self.local.pool, asked)).await,
        }
    }

    /// One attempt at a server of HTTP/2 to change the protocol, by an extended CONNECT.
    async fn attempt_tunnel(
        &mut self,
        lease: Lease,
        connections: &Rc<http2::Connections>,
    ) -> Result<ServerResponse, AttemptError> {
        let head = self.head.head_for(&lease.server().settings().address);
        let key = websocket::key(&head.headers);
        let head = websocket::extended_connect(head).ok_or_else(|| {
            AttemptError::unsendable("the server speaks HTTP/2, which has no upgrade to this protocol")
        })?;
        let protocol = Some(websocket::PROTOCOL);
        let asked =
            http2::StreamRequest { head: &head, body: &self.body, informational: &self.informational, protocol };
        let stream = match connections.begin(asked)? {
            Some(stream) => Some(stream),
            None => connections.begin_later(&self.local.pool, asked).await?,
        };
        // It is not one that may choose.
        let stream = stream.ok_or_else(|| AttemptError::unsendable("the server does not speak HTTP/2"))?;
        self.note_connection(false);
        let mut exchange = http2::Exchange::new(Rc::clone(&self.local.pool), lease, stream, self.until);
        self.set_timeouts(&mut exchange.deadline);
        let mut answer = exchange.agreement(&self.head, &self.settings.response_buffering).await?;
        if let ResponseContent::Tunnel(..) = answer.content {
            websocket::agree(&mut answer.head, key.as_deref());
        }
        Ok(answer)
    }

    /// Gives a server the time that the route gives it.
    #[inline]
    pub(crate) fn set_timeouts(&self, deadline: &mut ExchangeDeadline) {
        if let Some(timeouts) = &self.settings.timeouts {
            deadline.set_timeouts(timeouts);
        }
    }

    async fn connect(&self, server: &Server) -> Result<Box<Http1>, AttemptError> {
        let wire = self.dial(server).await?;
        Ok(Box::new(Http1::new(wire, Rc::clone(&self.local.pool.thread.buffers), Limits::default())))
    }

    pub(crate) async fn dial(&self, server: &Server) -> Result<Wire, AttemptError> {
        let header = self.local.upstream.settings().proxy_header;
        let header = header.map(|header| header.for_request(&self.client)).unwrap_or_default();
        self.local.pool.dial(server, Some(Protocol::Http1), &header).await.map_err(AttemptError::dial)
    }

    pub(crate) fn note_connection(&self, opened: bool) {
        if let Some(attempt_log) = &self.attempt_log {
            attempt_log.note_connection(opened);
        }
    }
}

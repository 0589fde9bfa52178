//! One connection: events, timers, sending.

use std::{
    fmt,
    future::Future,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use quinn_proto::{ConnectionHandle, EndpointEvent, Event, Transmit, VarInt, crypto::rustls::HandshakeData};
use serow_net::time;
use tokio::time::{Sleep, sleep_until};

use crate::{congestion, endpoint::SharedEndpoint};

/// A connection, in a task of its own on its endpoint's thread.
///
/// Whenever the task is polled: [`Self::poll_receive`], all [`Self::next_event`]s, what these lead to, then
/// [`Self::send`] until nothing is left.
pub struct Connection {
    shared: Rc<SharedEndpoint>,
    handle: ConnectionHandle,
    /// Boxed: it has several kilobytes, and a task has room for each place that its future is moved to.
    machine: Box<quinn_proto::Connection>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Datagrams that the kernel did not take.
    refused: Option<Datagrams>,
    /// Whether the next bytes are less urgent than others may be.
    is_less_urgent: bool,
}

/// The datagrams that one call sends.
struct Datagrams {
    transmit: Transmit,
    content: Vec<u8>,
}

/// The result of a handshake.
#[derive(Clone, Debug, Default)]
pub struct Handshake {
    /// The server name that the client requested.
    pub server_name: Option<String>,
    /// The client's verified certificate in DER.
    pub client_certificate: Option<Vec<u8>>,
}

/// The outcome of [`Connection::send`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Datagrams were given to the kernel. There may be more to send.
    Datagrams,
    /// There was nothing to send, or it may not be sent yet: the congestion window is full, or the pacer waits.
    Nothing,
    /// The kernel takes nothing; the task is woken when it does again.
    Blocked,
}

impl Connection {
    pub(crate) fn new(shared: Rc<SharedEndpoint>, handle: ConnectionHandle, machine: quinn_proto::Connection) -> Self {
        Self { shared, handle, machine: Box::new(machine), timer: None, refused: None, is_less_urgent: false }
    }

    /// The state of QUIC.
    pub fn machine(&mut self) -> &mut quinn_proto::Connection {
        &mut self.machine
    }

    /// Takes what has arrived, and handles the timers that have expired. The task is woken when there is more of either.
    pub fn poll_receive(&mut self, context: &mut Context<'_>) {
        let Self { shared, machine, .. } = self;
        shared.take_events(self.handle, context, |event| machine.handle_event(event));
        self.poll_timers(context);
    }

    /// Returns the next event of the connection, if there is one.
    pub fn next_event(&mut self) -> Option<Event> {
        self.machine.poll()
    }

    /// Sends as many datagrams as fit into one call, if there are any and they may be sent now.
    pub fn send(&mut self, context: &mut Context<'_>) -> Sent {
        self.tell_endpoint();
        let was_refused = self.refused.is_some();
        let Some(datagrams) = self.refused.take().or_else(|| self.next_datagrams()) else {
            self.poll_timers(context);
            return Sent::Nothing;
        };
        if self.shared.poll_send(context, &datagrams.transmit, &datagrams.content).is_pending() {
            self.refused = Some(datagrams);
            return Sent::Blocked;
        }
        self.shared.give_buffer(datagrams.content);
        if was_refused {
            self.shared.wake_waiting();
        }
        Sent::Datagrams
    }

    fn next_datagrams(&mut self) -> Option<Datagrams> {
        let most = self.shared.socket.max_segments().min(MAX_SEGMENTS);
        let mut content = self.shared.take_buffer();
        match self.machine.poll_transmit(time::now(), most, &mut content) {
            Some(transmit) => Some(Datagrams { transmit, content }),
            None => {
                self.shared.give_buffer(content);
                None
            }
        }
    }

    /// Says whether the next bytes to be sent are less urgent than others may be: then no more of them are in flight than
    /// keep the link busy, so that what is urgent does not wait behind them.
    pub fn set_less_urgent(&mut self, is_less_urgent: bool) {
        if self.is_less_urgent != is_less_urgent {
            self.is_less_urgent = is_less_urgent;
            congestion::set_less_urgent(self.machine.congestion_state(), is_less_urgent);
        }
    }

    /// Ends the connection: what has not been sent is dropped.
    pub fn close(&mut self, code: u64, reason: &'static str) {
        let code = VarInt::from_u64(code).unwrap_or_default();
        self.machine.close(time::now(), code, Bytes::from_static(reason.as_bytes()));
    }

    /// Ready when the connection has ended for ever: late packets of the peer are answered until then (RFC 9000 §10.2).
    pub fn poll_drained(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            self.poll_receive(context);
            while self.next_event().is_some() {}
            match self.send(context) {
                Sent::Datagrams => {}
                Sent::Nothing | Sent::Blocked => break,
            }
        }
        if self.machine.is_drained() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// The peer's address, which may change (RFC 9000 §9).
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.machine.remote_address()
    }

    /// The address that the peer sends to.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        let bound = self.shared.socket.local_address();
        let ip = self.machine.local_ip().map_or_else(|| bound.ip(), |ip: IpAddr| ip.to_canonical());
        SocketAddr::new(ip, bound.port())
    }

    /// The round trip as measured.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        self.machine.rtt()
    }

    /// A server: whether it has answered the client's first message. It can send on streams then, and what arrives on them
    /// while the connection [is handshaking](Self::is_handshaking) is early data (0-RTT), which may be a copy.
    #[must_use]
    pub fn knows_client_hello(&self) -> bool {
        self.machine.crypto_session().handshake_data().is_some()
    }

    /// Whether the handshake is not complete yet.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.machine.is_handshaking()
    }

    /// The result of the handshake, once it is complete. A server knows the name before.
    #[must_use]
    pub fn handshake(&self) -> Handshake {
        let session = self.machine.crypto_session();
        let data = session.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
        let chain = session
            .peer_identity()
            .and_then(|identity| identity.downcast::<Vec<rustls::pki_types::CertificateDer<'static>>>().ok());
        Handshake {
            server_name: data.and_then(|data| data.server_name),
            client_certificate: chain.and_then(|chain| chain.first().map(|first| first.to_vec())),
        }
    }

    /// Passes on what the machine wants of the endpoint.
    fn tell_endpoint(&mut self) {
        while let Some(event) = self.machine.poll_endpoint_events() {
            if let Some(answer) = self.shared.handle(self.handle, event) {
                self.machine.handle_event(answer);
            }
        }
    }

    fn poll_timers(&mut self, context: &mut Context<'_>) {
        loop {
            let Some(deadline) = self.machine.poll_timeout() else {
                self.timer = None;
                return;
            };
            let now = time::now();
            if deadline <= now {
                self.machine.handle_timeout(now);
                continue;
            }
            let deadline = tokio::time::Instant::from_std(deadline);
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            // One that expires too early costs a look; most deadlines only move into the future.
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            if timer.as_mut().poll(context).is_pending() {
                return;
            }
            self.timer = None;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.tell_endpoint();
        if !self.machine.is_drained() {
            self.shared.handle(self.handle, EndpointEvent::drained());
        }
        self.shared.forget(self.handle);
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("peer", &self.remote_address()).finish_non_exhaustive()
    }
}

/// Datagrams of one call: with 1,452 bytes each, the most that the kernel takes as one (64 KiB).
const MAX_SEGMENTS: usize = 44;

//! The socket of a thread, and which connection a datagram is for.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt, io,
    net::{IpAddr, SocketAddr},
    os::fd::OwnedFd,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::BytesMut;
use quinn_proto::{ConnectError, ConnectionEvent, ConnectionHandle, DatagramEvent, EndpointConfig, EndpointEvent};
use serow_net::{DatagramBatch, EcnCodepoint, Transmit, UdpSocket, bind_udp, time};

use crate::{ClientSettings, Connection, Secrets, ServerSettings};

/// Sends and receives the packets of one thread's connections. Clones are the same endpoint.
#[derive(Clone)]
pub struct Endpoint {
    shared: Rc<SharedEndpoint>,
}

/// A client that wants to connect. Accept, refuse or ignore it.
#[derive(Debug)]
pub struct Incoming(quinn_proto::Incoming);

/// The memory that one call of the kernel fills. The endpoints of a thread can share it: clones are the same.
#[derive(Clone, Debug, Default)]
pub struct ReceiveBuffers(Rc<RefCell<DatagramBatch>>);

/// State that an endpoint and its connections share.
pub(crate) struct SharedEndpoint {
    pub(crate) socket: UdpSocket,
    /// Those of a server.
    settings: Option<Arc<ServerSettings>>,
    /// Datagrams to send are assembled here: 64 KiB for each connection would be most of an idle one's memory.
    buffer: Cell<Vec<u8>>,
    state: RefCell<EndpointState>,
}

struct EndpointState {
    machine: quinn_proto::Endpoint,
    /// For each connection, the events that have arrived for it.
    inboxes: Vec<Inbox>,
    incoming: VecDeque<quinn_proto::Incoming>,
    batch: ReceiveBuffers,
    /// Connections whose datagrams the kernel did not take.
    waiting_for_room: Vec<Waker>,
}

/// Events that have arrived for a connection, and its task.
#[derive(Default)]
struct Inbox {
    events: VecDeque<ConnectionEvent>,
    waker: Option<Waker>,
}

impl Endpoint {
    /// With this socket, whose place in its group is `slot`; within a runtime.
    ///
    /// # Errors
    ///
    /// If the event loop refuses the socket.
    pub fn new(socket: OwnedFd, slot: u8, settings: Arc<ServerSettings>) -> io::Result<Self> {
        let (config, server) = (settings.endpoint(slot), settings.current());
        Self::with(socket, config, server, Some(settings), ReceiveBuffers::default())
    }

    /// For a client, on a port that the kernel chooses at this address; within a runtime.
    ///
    /// # Errors
    ///
    /// If the socket cannot be opened, or the event loop refuses it.
    pub fn client(address: IpAddr, buffers: &ReceiveBuffers) -> io::Result<Self> {
        let socket = bind_udp(SocketAddr::new(address, 0), 1)?.swap_remove(0);
        let config = EndpointConfig::new(Secrets::random().reset);
        Self::with(socket, config, None, None, buffers.clone())
    }

    fn with(
        socket: OwnedFd,
        config: EndpointConfig,
        server: Option<Arc<quinn_proto::ServerConfig>>,
        settings: Option<Arc<ServerSettings>>,
        batch: ReceiveBuffers,
    ) -> io::Result<Self> {
        let socket = UdpSocket::new(socket)?;
        let machine = quinn_proto::Endpoint::new(Arc::new(config), server, !socket.may_fragment(), None);
        let state = RefCell::new(EndpointState {
            machine,
            inboxes: Vec::new(),
            incoming: VecDeque::new(),
            batch,
            waiting_for_room: Vec::new(),
        });
        Ok(Self { shared: Rc::new(SharedEndpoint { socket, settings, buffer: Cell::default(), state }) })
    }

    /// Begins a connection to a server.
    ///
    /// # Errors
    ///
    /// If the server's name is not one, or its address cannot be reached from this socket.
    pub fn connect(
        &self,
        settings: &ClientSettings,
        server: SocketAddr,
        name: &str,
    ) -> Result<Connection, ConnectError> {
        let mut state = self.shared.state.borrow_mut();
        let (handle, machine) = state.machine.connect(time::now(), settings.config(), server, name)?;
        state.make_place(handle);
        drop(state);
        Ok(Connection::new(Rc::clone(&self.shared), handle, machine))
    }

    /// The address of its socket.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.shared.socket.local_address()
    }

    /// Receives for all connections, and gives the next client that wants to connect. One task has to call this for as long
    /// as there are connections.
    ///
    /// # Errors
    ///
    /// If the socket fails.
    pub fn poll_incoming(&self, context: &mut Context<'_>) -> Poll<io::Result<Incoming>> {
        let mut state = self.shared.state.borrow_mut();
        loop {
            if let Some(incoming) = state.incoming.pop_front() {
                return Poll::Ready(Ok(Incoming(incoming)));
            }
            let batch = Rc::clone(&state.batch.0);
            let mut batch = batch.borrow_mut();
            match self.shared.socket.poll_receive(context, &mut batch) {
                Poll::Ready(Ok(())) => state.handle_batch(&self.shared.socket, &batch),
                // ICMP errors of other peers: their connections time out.
                Poll::Ready(Err(error)) if is_of_peer(&error) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// A client: receives for all connections; the task is woken when there is more.
    ///
    /// # Errors
    ///
    /// If the socket fails.
    pub fn receive(&self, context: &mut Context<'_>) -> io::Result<()> {
        while let Poll::Ready(incoming) = self.poll_incoming(context) {
            // It has no use for others that want to connect.
            self.ignore(incoming?);
        }
        Ok(())
    }

    /// Begins the handshake of a client; nothing if its first packet is invalid.
    #[must_use]
    pub fn accept(&self, incoming: Incoming) -> Option<Connection> {
        let mut state = self.shared.state.borrow_mut();
        let mut output = Vec::new();
        let settings = self.shared.settings.as_ref().and_then(|settings| settings.current());
        match state.machine.accept(incoming.0, time::now(), &mut output, settings) {
            Ok((handle, machine)) => {
                state.make_place(handle);
                drop(state);
                Some(Connection::new(Rc::clone(&self.shared), handle, machine))
            }
            Err(error) => {
                if let Some(response) = error.response {
                    send(&self.shared.socket, &response, &output);
                }
                tracing::debug!(error = %error.cause, "a QUIC connection could not be begun");
                None
            }
        }
    }

    /// Demands of a client that it shows that it receives what is sent to its address (Retry, RFC 9000 §8.1.2); false if
    /// it has done so already.
    #[must_use]
    pub fn retry(&self, incoming: Incoming) -> bool {
        let mut output = Vec::new();
        let mut state = self.shared.state.borrow_mut();
        match state.machine.retry(incoming.0, &mut output) {
            Ok(response) => {
                send(&self.shared.socket, &response, &output);
                true
            }
            Err(error) => {
                state.machine.ignore(error.into_incoming());
                false
            }
        }
    }

    /// Refuses a client (CONNECTION_REFUSED).
    pub fn refuse(&self, incoming: Incoming) {
        let mut output = Vec::new();
        let response = self.shared.state.borrow_mut().machine.refuse(incoming.0, &mut output);
        send(&self.shared.socket, &response, &output);
    }

    /// Does not answer a client.
    pub fn ignore(&self, incoming: Incoming) {
        self.shared.state.borrow_mut().machine.ignore(incoming.0);
    }
}

impl Incoming {
    /// The client's address.
    #[must_use]
    pub fn remote_address(&self) -> SocketAddr {
        self.0.remote_address()
    }

    /// Whether the client has shown that it receives what is sent to its address.
    #[must_use]
    pub fn is_validated(&self) -> bool {
        self.0.remote_address_validated()
    }
}

impl SharedEndpoint {
    /// Takes what has arrived for a connection; from now on its task is woken when more arrives.
    pub(crate) fn take_events(
        &self,
        handle: ConnectionHandle,
        context: &Context<'_>,
        mut take: impl FnMut(ConnectionEvent),
    ) {
        let events = {
            let mut state = self.state.borrow_mut();
            let Some(inbox) = state.inboxes.get_mut(handle.0) else { return };
            match &mut inbox.waker {
                Some(waker) if waker.will_wake(context.waker()) => {}
                slot => *slot = Some(context.waker().clone()),
            }
            if inbox.events.is_empty() {
                return;
            }
            std::mem::take(&mut inbox.events)
        };
        events.into_iter().for_each(&mut take);
    }

    /// Passes what a connection wants of the endpoint on; gives the answer.
    pub(crate) fn handle(&self, handle: ConnectionHandle, event: EndpointEvent) -> Option<ConnectionEvent> {
        self.state.borrow_mut().machine.handle_event(handle, event)
    }

    /// The connection has ended: its place may go to another.
    pub(crate) fn forget(&self, handle: ConnectionHandle) {
        // It may have been the last to wait for room, the one that is woken.
        self.wake_waiting();
        let mut state = self.state.borrow_mut();
        if let Some(inbox) = state.inboxes.get_mut(handle.0) {
            *inbox = Inbox::default();
        }
        if state.inboxes.len() > FEW && state.machine.open_connections() == 0 {
            state.inboxes = Vec::new();
        }
    }

    /// Sends what `content` begins with, as soon as the kernel takes it.
    pub(crate) fn poll_send(
        &self,
        context: &mut Context<'_>,
        transmit: &quinn_proto::Transmit,
        content: &[u8],
    ) -> Poll<()> {
        let sent = self.socket.poll_send(context, &datagrams(transmit, content));
        if sent.is_pending() {
            self.state.borrow_mut().waiting_for_room.push(context.waker().clone());
        }
        sent
    }

    /// An empty buffer for datagrams to send.
    pub(crate) fn take_buffer(&self) -> Vec<u8> {
        self.buffer.take()
    }

    /// Takes the buffer back.
    pub(crate) fn give_buffer(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.buffer.set(buffer);
    }

    /// The kernel takes datagrams again: of those who wait, the socket has woken only the last.
    pub(crate) fn wake_waiting(&self) {
        self.state.borrow_mut().waiting_for_room.drain(..).for_each(Waker::wake);
    }
}

impl EndpointState {
    /// Makes a place for what arrives for a new connection.
    fn make_place(&mut self, handle: ConnectionHandle) {
        if self.inboxes.len() <= handle.0 {
            self.inboxes.resize_with(handle.0 + 1, Inbox::default);
        }
    }

    fn handle_batch(&mut self, socket: &UdpSocket, batch: &DatagramBatch) {
        let now = time::now();
        let mut output = Vec::new();
        let Self { machine, inboxes, incoming, .. } = self;
        for datagrams in batch.datagrams() {
            let ecn = datagrams.ecn.and_then(|ecn| quinn_proto::EcnCodepoint::from_bits(ecn as u8));
            for content in datagrams.iter() {
                output.clear();
                let content = BytesMut::from(content);
                match machine.handle(now, datagrams.source, datagrams.destination, ecn, content, &mut output) {
                    Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                        let Some(inbox) = inboxes.get_mut(handle.0) else { continue };
                        inbox.events.push_back(event);
                        if let Some(waker) = inbox.waker.take() {
                            waker.wake();
                        }
                    }
                    Some(DatagramEvent::NewConnection(client)) => incoming.push_back(client),
                    Some(DatagramEvent::Response(response)) => send(socket, &response, &output),
                    None => {}
                }
            }
        }
    }
}

/// Sends an answer that no connection keeps.
fn send(socket: &UdpSocket, transmit: &quinn_proto::Transmit, content: &[u8]) {
    socket.send_or_drop(&datagrams(transmit, content));
}

fn datagrams<'a>(transmit: &quinn_proto::Transmit, content: &'a [u8]) -> Transmit<'a> {
    let quinn_proto::Transmit { destination, ecn, size, segment_size, src_ip } = *transmit;
    let ecn = ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8));
    let contents = content.get(..size).unwrap_or(content);
    Transmit { destination, ecn, contents, segment_size, src_ip }
}

/// Whether an error of the socket is about a packet that was sent before.
fn is_of_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable};
    matches!(error.kind(), ConnectionRefused | ConnectionReset | HostUnreachable | NetworkUnreachable)
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Endpoint").field("address", &self.local_address()).finish_non_exhaustive()
    }
}

/// Places that an endpoint without connections keeps.
const FEW: usize = 64;

//! A server that does what a test wants, on a connection of its own.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    thread::{self, JoinHandle},
    time::Duration,
};

use bytes::BytesMut;
use serow_http2::{ErrorCode, Event, Limits, Server, StreamId, frame};

/// The server's end of a connection.
pub(crate) struct Peer {
    stream: TcpStream,
    machine: Server,
    input: BytesMut,
}

/// A request that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) stream: StreamId,
    pub(crate) path: String,
    /// The field `priority`.
    pub(crate) priority: Option<String>,
    /// The urgency that the server gives it, also by the priorities of RFC 7540.
    pub(crate) urgency: u8,
}

/// Accepts one connection and does this with it.
pub(crate) fn serve<T: Send + 'static>(
    script: impl FnOnce(&mut Peer) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let thread = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client comes");
        stream.set_read_timeout(Some(TIMEOUT)).expect("it is a time");
        stream.set_nodelay(true).expect("it is TCP");
        let machine = Server::new(Limits::default(), Duration::ZERO);
        script(&mut Peer { stream, machine, input: BytesMut::new() })
    });
    (address, thread)
}

impl Peer {
    /// Waits for a request.
    pub(crate) fn request(&mut self) -> Asked {
        loop {
            match self.event() {
                Some(Event::Request(request)) => {
                    let stream = request.stream;
                    let priority = request.head.headers.get_str("priority").map(str::to_owned);
                    let path = request.head.target.to_string();
                    return Asked { stream, path, priority, urgency: self.machine.priority(stream).urgency };
                }
                Some(_) => {}
                None => self.read(),
            }
        }
    }

    /// Waits until a stream has this urgency.
    pub(crate) fn urgency(&mut self, stream: StreamId, urgency: u8) {
        while self.machine.priority(stream).urgency != urgency {
            if self.event().is_none() && self.machine.priority(stream).urgency != urgency {
                self.read();
            }
        }
    }

    /// The next event of what has been read.
    fn event(&mut self) -> Option<Event> {
        let event = self.machine.receive(&mut self.input, Duration::ZERO).expect("the client keeps to the rules");
        let mut control = Vec::new();
        self.machine.write_control(&mut control);
        self.send(&control);
        event
    }

    fn read(&mut self) {
        let mut piece = [0; 4096];
        let length = self.stream.read(&mut piece).expect("the client is there");
        assert!(length > 0, "the client stays");
        self.input.extend_from_slice(&piece[..length]);
    }

    /// A head with this field block, perhaps the end.
    pub(crate) fn head(&mut self, stream: StreamId, block: &[u8], end: bool) {
        let mut output = Vec::new();
        let start = frame::begin_headers(&mut output);
        output.extend_from_slice(block);
        frame::finish_headers(start, stream, end, 16_384, &mut output);
        self.send(&output);
    }

    /// A frame of DATA, and of its payload so many bytes.
    pub(crate) fn data(&mut self, stream: StreamId, length: usize, sent: usize, end: bool) {
        let mut output = Vec::new();
        frame::write_data_header(stream, length, end, &mut output);
        output.resize(output.len() + sent, b'x');
        self.send(&output);
    }

    /// The end of a stream.
    pub(crate) fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        let mut output = Vec::new();
        frame::write_reset_stream(stream, code, &mut output);
        self.send(&output);
    }

    /// GOAWAY behind this stream.
    pub(crate) fn go_away(&mut self, last: StreamId, code: ErrorCode) {
        let mut output = Vec::new();
        frame::write_go_away(last, code, b"", &mut output);
        self.send(&output);
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the client is there");
    }

    /// Says no more, and waits until the client has closed the connection: to close it before would reset it.
    pub(crate) fn leave(&mut self) {
        self.stream.shutdown(Shutdown::Write).expect("the client is there");
        self.wait_for_the_end();
    }

    /// Waits until the client has closed the connection.
    pub(crate) fn wait_for_the_end(&mut self) {
        let _ = self.stream.read_to_end(&mut Vec::new());
    }
}

/// `:status: 200` (RFC 7541, appendix A).
pub(crate) const OK: &[u8] = &[0x88];
/// `:status: 404`.
pub(crate) const NOT_FOUND: &[u8] = &[0x8d];

/// Of a machine with much else to do.
const TIMEOUT: Duration = Duration::from_secs(20);

//! A scripted HTTP/2 server.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use serow::{Headers, StatusCode};
use serow_http2::{BodyLength, ErrorCode, Event, Limits, Server, StreamId, frame};

/// A server each of whose connections plays a script, in a thread of its own.
pub struct Scripted {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

/// One of its connections.
pub struct Peer {
    stream: TcpStream,
    machine: Server,
    input: BytesMut,
    /// Which connection this is, from 0.
    pub number: usize,
}

impl Scripted {
    /// Plays the script on each connection, with these limits for clients. It ends with the process.
    pub fn serve(limits: Limits, script: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (script, connections) = (Arc::new(script), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, stream) = (Arc::clone(&script), stream.unwrap());
                let number = count.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
                    stream.set_nodelay(true).unwrap();
                    let machine = Server::new(limits, Duration::ZERO);
                    script(&mut Peer { stream, machine, input: BytesMut::new(), number });
                });
            }
        });
        Self { address, connections }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Peer {
    /// The next event; `None` once the connection is over.
    pub fn event(&mut self) -> Option<Event> {
        loop {
            let event = self.machine.receive(&mut self.input, Duration::ZERO).expect("the proxy keeps to the rules");
            self.flush();
            if event.is_some() {
                return event;
            }
            let mut piece = [0; 16 * 1024];
            let length = self.stream.read(&mut piece).unwrap_or(0);
            if length == 0 {
                return None;
            }
            self.input.extend_from_slice(&piece[..length]);
        }
    }

    /// Waits for a request: its stream and path; `None` once the connection is over.
    pub fn request(&mut self) -> Option<(StreamId, String)> {
        loop {
            if let Event::Request(request) = self.event()? {
                return Some((request.stream, request.head.target.to_string()));
            }
        }
    }

    /// Waits until a stream is reset; returns the error code.
    pub fn wait_for_reset(&mut self, wanted: StreamId) -> ErrorCode {
        loop {
            match self.event().expect("the proxy stays") {
                Event::Reset { stream, code } if stream == wanted => return code,
                _ => {}
            }
        }
    }

    /// A head with status 200.
    pub fn head(&mut self, stream: StreamId, end: bool) {
        let mut output = Vec::new();
        let start = frame::begin_headers(&mut output);
        // RFC 7541, appendix A.
        output.push(0x88);
        frame::finish_headers(start, stream, end, 16_384, &mut output);
        self.send(&output);
    }

    /// Any frame: its kind, flags, stream and content.
    pub fn frame(&mut self, kind: u8, flags: u8, stream: u32, content: &[u8]) {
        let mut output = (content.len() as u32).to_be_bytes()[1..].to_vec();
        output.extend_from_slice(&[kind, flags]);
        output.extend_from_slice(&stream.to_be_bytes());
        output.extend_from_slice(content);
        self.send(&output);
    }

    pub fn data(&mut self, stream: StreamId, data: &Bytes, end: bool) {
        let mut output = Vec::new();
        frame::write_data_header(stream, data.len(), end, &mut output);
        output.extend_from_slice(data);
        self.send(&output);
    }

    /// A response without a body.
    pub fn refuse(&mut self, stream: StreamId, status: StatusCode) {
        self.machine.send_head(stream, status, Headers::new(), BodyLength::Known(0)).unwrap();
        let mut output = Vec::new();
        self.machine.write_head(stream, b"", &mut output).unwrap();
        self.send(&output);
    }

    /// A whole response with this text; the stream is over then.
    pub fn answer(&mut self, stream: StreamId, text: &str) {
        let length = BodyLength::Known(text.len() as u64);
        self.machine.send_head(stream, StatusCode::OK, Headers::new(), length).unwrap();
        self.machine.set_ready(stream, true);
        let mut output = Vec::new();
        self.machine.write_head(stream, b"", &mut output).unwrap();
        self.machine.write_data(stream, text.as_bytes(), true, &mut output).unwrap();
        self.send(&output);
    }

    pub fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        self.machine.reset(stream, code);
        self.flush();
    }

    /// The data were used: the window opens again.
    pub fn consume(&mut self, stream: StreamId, bytes: usize) {
        self.machine.note_consumed(stream, bytes);
    }

    pub fn go_away(&mut self, last: StreamId) {
        let mut output = Vec::new();
        frame::write_go_away(last, ErrorCode::NO_ERROR, b"", &mut output);
        self.send(&output);
    }

    pub fn send(&mut self, bytes: &[u8]) {
        // The proxy may be gone.
        let _ = self.stream.write_all(bytes);
    }

    fn flush(&mut self) {
        let mut control = Vec::new();
        self.machine.write_control(&mut control);
        self.send(&control);
    }
}

/// Of a machine with much else to do.
const TIMEOUT: Duration = Duration::from_secs(20);

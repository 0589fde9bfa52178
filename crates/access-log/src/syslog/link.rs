//! The way to a collector: connected when there is something to send, and again where it broke.

use std::{
    io::{self, ErrorKind, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket},
    os::unix::net::UnixDatagram,
    thread,
    time::Duration,
};

use rustix::net::{RecvFlags, recv, sockopt::set_tcp_user_timeout};

use super::address::{SyslogAddress, Transport};
use crate::{retry::Retry, sink_error::SinkError};

/// The way to one collector.
pub(crate) struct Link {
    address: SyslogAddress,
    socket: Option<Socket>,
    retry: Retry,
    /// Messages behind their lengths; kept for its memory.
    frames: Vec<u8>,
}

enum Socket {
    Unix(UnixDatagram),
    Udp(UdpSocket),
    Tcp(TcpStream),
}

impl Link {
    pub(crate) fn new(address: SyslogAddress) -> Self {
        Self { address, socket: None, retry: Retry::new(), frames: Vec::new() }
    }

    /// Sends each line as a message; those that went out whole need no other call.
    pub(crate) fn write(&mut self, lines: &[u8]) -> (usize, Result<(), SinkError>) {
        let most = self.address.transport.longest_message();
        let (written, outcome) = match self.socket() {
            Ok(Socket::Unix(socket)) => send_each(lines, most, |message| socket.send(message), || {}),
            Ok(Socket::Udp(socket)) => send_each(lines, most, |message| socket.send(message), || thread::sleep(PAUSE)),
            Ok(Socket::Tcp(stream)) => {
                let stream = stream.try_clone();
                stream.map_or_else(|error| (0, Err(error)), |stream| self.send_frames(stream, lines, most))
            }
            Err(error) => (0, Err(error)),
        };
        let error = |error| {
            self.socket = None;
            SinkError::Failed { reason: format!("syslog:{}: {error}", self.address), pause: self.retry.pause() }
        };
        (written, outcome.map_err(error))
    }

    fn socket(&mut self) -> io::Result<&mut Socket> {
        let socket = match self.socket.take().filter(|socket| !socket.is_closed()) {
            Some(socket) => socket,
            None => Socket::connect(&self.address.transport).inspect(|_| self.retry.note_begun())?,
        };
        Ok(self.socket.insert(socket))
    }

    /// Sends lines as a stream of frames (RFC 6587 §3.4.1), in one call where the system takes them.
    fn send_frames(&mut self, mut stream: TcpStream, lines: &[u8], most: usize) -> (usize, io::Result<()>) {
        self.frames.clear();
        for line in messages(lines) {
            let message = cut(line, most);
            // Writing to memory does not fail.
            let _ = write!(self.frames, "{} ", message.len());
            self.frames.extend_from_slice(message);
        }
        let mut sent = 0;
        while sent < self.frames.len() {
            let error = match stream.write(&self.frames[sent..]) {
                Ok(0) => ErrorKind::WriteZero.into(),
                Ok(length) => {
                    sent += length;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            return (whole_lines(lines, most, sent), Err(error));
        }
        (lines.len(), Ok(()))
    }
}

impl Socket {
    fn connect(transport: &Transport) -> io::Result<Self> {
        match transport {
            Transport::Unix(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                Ok(Self::Unix(socket))
            }
            Transport::Udp(host, port) => to_each(host, *port, |address| {
                let any: SocketAddr = if address.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
                let socket = UdpSocket::bind(any)?;
                socket.connect(address)?;
                Ok(Self::Udp(socket))
            }),
            Transport::Tcp(host, port) => to_each(host, *port, |address| {
                let stream = TcpStream::connect_timeout(&address, CONNECTING)?;
                stream.set_nodelay(true)?;
                set_tcp_user_timeout(&stream, SILENCE.as_millis() as u32)?;
                Ok(Self::Tcp(stream))
            }),
        }
    }

    /// Whether the collector has left. It sends nothing, so that there is something to receive only at the end; and
    /// what is sent behind that is lost without an error.
    fn is_closed(&self) -> bool {
        let Self::Tcp(stream) = self else { return false };
        match recv(stream, &mut [0; 64], RecvFlags::DONTWAIT) {
            Ok((_, length)) => length == 0,
            Err(errno) => !matches!(errno, rustix::io::Errno::AGAIN | rustix::io::Errno::INTR),
        }
    }
}

impl Transport {
    /// In bytes; what is longer is cut.
    fn longest_message(&self) -> usize {
        match self {
            // RFC 5426 §3.2: what every receiver should be able to take.
            Self::Udp(..) => 2048,
            // RFC 5424 §6.1 leaves it to the receiver; rsyslog's default.
            Self::Unix(_) | Self::Tcp(..) => 8192,
        }
    }
}

/// Tries the addresses of a host one after the other.
fn to_each<T>(host: &str, port: u16, connect: impl Fn(SocketAddr) -> io::Result<T>) -> io::Result<T> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match connect(address) {
            Ok(connected) => return Ok(connected),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Sends each line as a datagram, with a pause after some; gives the bytes of those that went out.
fn send_each(
    lines: &[u8],
    most: usize,
    send: impl Fn(&[u8]) -> io::Result<usize>,
    pause: impl Fn(),
) -> (usize, io::Result<()>) {
    let mut sent = 0;
    for (number, line) in messages(lines).enumerate() {
        if number > 0 && number % SENT_AT_ONCE == 0 {
            pause();
        }
        loop {
            match send(cut(line, most)) {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return (sent, Err(error)),
            }
        }
        sent += line.len() + 1;
    }
    (sent, Ok(()))
}

/// Lines without their ends.
fn messages(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split_inclusive(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// The bytes of the lines whose frames are within so many bytes.
fn whole_lines(lines: &[u8], most: usize, mut sent: usize) -> usize {
    let mut whole = 0;
    for line in messages(lines) {
        let length = cut(line, most).len();
        let frame = itoa::Buffer::new().format(length).len() + 1 + length;
        match sent.checked_sub(frame) {
            Some(rest) => sent = rest,
            None => break,
        }
        whole += line.len() + 1;
    }
    whole
}

/// The beginning of a message, without the half of a character at its end (RFC 5424 §6.1).
fn cut(message: &[u8], most: usize) -> &[u8] {
    if message.len() <= most {
        return message;
    }
    let is_inside = |end: usize| message[end] & 0b1100_0000 == 0b1000_0000;
    let end = (most.saturating_sub(3)..=most).rev().find(|end| !is_inside(*end));
    &message[..end.unwrap_or(most)]
}

/// Datagrams that nobody holds back: what a receiver has no room for is lost, and nobody knows. Linux has room for some
/// 280 of them (net.core.rmem_default); so many each millisecond, 32,000 in a second, it takes in time.
const SENT_AT_ONCE: usize = 32;
const PAUSE: Duration = Duration::from_millis(1);

/// Longer, a collector within reach does not take.
const CONNECTING: Duration = Duration::from_secs(5);

/// A collector that has not acknowledged anything for so long is gone: the system alone would try for a quarter of an
/// hour (tcp(7), tcp_retries2), and all that time lines would be lost.
const SILENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use std::{io::Read, net::TcpListener};

    use super::*;

    fn link(address: &str) -> Link {
        Link::new(address.parse().unwrap())
    }

    fn write(link: &mut Link, lines: &[u8]) {
        let (written, outcome) = link.write(lines);
        assert_eq!((written, outcome.is_ok()), (lines.len(), true), "{outcome:?}");
    }

    #[test]
    fn a_datagram_for_each_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (unix, udp) = (UnixDatagram::bind(&path).unwrap(), UdpSocket::bind("[::1]:0").unwrap());
        let mut buffer = [0; 70_000];
        let long = format!("{}é\n", "x".repeat(2046));
        let mut local = link(&format!("unix:{}", path.display()));
        write(&mut local, format!("<1>a\n<1>b\n{long}").as_bytes());
        for expected in ["<1>a", "<1>b", long.trim_end()] {
            let length = unix.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], expected.as_bytes());
        }
        let mut remote = link(&format!("udp://{}", udp.local_addr().unwrap()));
        write(&mut remote, format!("<1>a\nx{long}").as_bytes());
        // The last character is of two bytes, of which one too many.
        for expected in ["<1>a".to_owned(), format!("x{}", "x".repeat(2046))] {
            let length = udp.recv(&mut buffer).unwrap();
            assert_eq!(std::str::from_utf8(&buffer[..length]).unwrap(), expected);
        }
    }

    #[test]
    fn a_stream_counts_octets_and_is_opened_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut link = link(&format!("tcp://localhost:{}", listener.local_addr().unwrap().port()));
        write(&mut link, "<1>a\n<1>é\n".as_bytes());
        let mut stream = listener.accept().unwrap().0;
        let mut text = [0; 13];
        stream.read_exact(&mut text).unwrap();
        assert_eq!(std::str::from_utf8(&text).unwrap(), "4 <1>a5 <1>é");
        drop(stream);
        while !link.socket.as_ref().unwrap().is_closed() {
            std::thread::yield_now();
        }
        write(&mut link, b"<1>c\n");
        let mut stream = listener.accept().unwrap().0;
        drop(link);
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert_eq!(text, "4 <1>c");
    }

    #[test]
    fn unreachable_collectors_are_reported() {
        let free = serow_ports::refusing_address();
        for (address, reason) in
            [(format!("tcp://{free}"), "Connection refused"), ("unix:/no/such/socket".to_owned(), "No such file")]
        {
            let mut link = link(&address);
            match link.write(b"a\n") {
                (0, Err(SinkError::Failed { reason: told, .. })) => {
                    assert!(told.starts_with(&format!("syslog:{address}: ")) && told.contains(reason), "{told}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn lines_and_frames() {
        let lines = b"ab\ncde\n";
        for (sent, whole) in [(0, 0), (3, 0), (4, 3), (8, 3), (9, 7)] {
            assert_eq!(whole_lines(lines, 100, sent), whole, "{sent}");
        }
        for (text, most, expected) in
            [("abc", 3, "abc"), ("abcd", 3, "abc"), ("aé", 2, "a"), ("a€", 3, "a"), ("a€b", 4, "a€"), ("😀😀", 7, "😀")]
        {
            assert_eq!(cut(text.as_bytes(), most), expected.as_bytes(), "{text}");
        }
        // Bytes that are not UTF-8 are cut at the limit.
        assert_eq!(cut(&[0x80; 9], 5), [0x80; 5]);
    }
}

//! Cloudflare's quiche, as a program: clients.py describes the arguments and the output.

use std::{
    collections::HashMap,
    error::Error,
    fs, io,
    net::{SocketAddr, UdpSocket},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use quiche::h3::{self, Header, NameValue};
use ring::rand::SecureRandom;
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The certificate's name, whatever address is used.
const HOST: &str = "localhost";
const TIMEOUT: Duration = Duration::from_secs(60);
const AT_A_TIME: usize = 100;
const DATAGRAM: usize = 1350;

/// The part of a response that has arrived.
#[derive(Default)]
struct Answer {
    status: Option<u16>,
    body: Vec<u8>,
    is_over: bool,
    reset: Option<u64>,
}

/// Opens connections to the server of a URL.
struct Session {
    address: SocketAddr,
    path: String,
    config: quiche::Config,
    ticket: Option<Vec<u8>>,
}

/// A connection and its socket. All happens within `pump`.
struct Client {
    socket: UdpSocket,
    local: SocketAddr,
    quic: quiche::Connection,
    h3: Option<h3::Connection>,
    answers: HashMap<u64, Answer>,
    /// The rest of a request's body.
    unsent: Option<(u64, Vec<u8>)>,
    has_goaway: bool,
}

impl Session {
    fn new(url: &str, authority: &str) -> Result<Self> {
        let rest = url.strip_prefix("https://").ok_or("the URL must begin with https://")?;
        let (address, path) = rest.split_once('/').ok_or("the URL has no path")?;
        let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
        config.verify_peer(true);
        config.load_verify_locations_from_file(authority)?;
        config.set_application_protos(h3::APPLICATION_PROTOCOL)?;
        config.set_max_idle_timeout(30_000);
        config.set_max_recv_udp_payload_size(1500);
        config.set_max_send_udp_payload_size(DATAGRAM);
        config.set_initial_max_data(16 << 20);
        config.set_initial_max_stream_data_bidi_local(4 << 20);
        config.set_initial_max_stream_data_uni(1 << 20);
        config.set_initial_max_streams_uni(100);
        config.set_active_connection_id_limit(8);
        Ok(Self { address: address.parse()?, path: format!("/{path}"), config, ticket: None })
    }

    fn connect(&mut self) -> Result<Client> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let local = socket.local_addr()?;
        let id = random();
        let mut quic =
            quiche::connect(Some(HOST), &quiche::ConnectionId::from_ref(&id), local, self.address, &mut self.config)?;
        if let Some(ticket) = &self.ticket {
            quic.set_session(ticket)?;
        }
        let mut client =
            Client { socket, local, quic, h3: None, answers: HashMap::new(), unsent: None, has_goaway: false };
        if !client.pump(TIMEOUT, |client| client.h3.is_some())? {
            return Err(format!("no handshake: {}", client.end()).into());
        }
        Ok(client)
    }
}

impl Client {
    fn open(&mut self, method: &str, path: &str, body: Option<Vec<u8>>) -> Result<u64> {
        let fields = [(":method", method), (":scheme", "https"), (":authority", HOST), (":path", path)];
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect();
        let h3 = self.h3.as_mut().ok_or("not connected")?;
        let stream = h3.send_request(&mut self.quic, &fields, body.is_none())?;
        self.answers.insert(stream, Answer::default());
        self.unsent = body.map(|body| (stream, body));
        Ok(stream)
    }

    fn response(&mut self, stream: u64) -> Result<Answer> {
        self.pump(TIMEOUT, |client| client.answers[&stream].is_over)?;
        let answer = self.answers.remove(&stream).ok_or("no such stream")?;
        if !answer.is_over || answer.reset.is_some() {
            return Err(format!("no response: {:?}, {} bytes, {}", answer.reset, answer.body.len(), self.end()).into());
        }
        Ok(answer)
    }

    /// Sends and receives until something is so; false if the time is up or the connection has ended before.
    fn pump(&mut self, limit: Duration, mut done: impl FnMut(&Self) -> bool) -> Result<bool> {
        let until = Instant::now() + limit;
        loop {
            self.handle_http3()?;
            let is_done = done(self);
            self.send()?;
            if is_done || self.quic.is_closed() {
                return Ok(is_done);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let wait = self.quic.timeout().unwrap_or(left).min(left).max(Duration::from_micros(1));
            self.receive(wait)?;
            if self.quic.timeout().is_some_and(|timeout| timeout.is_zero()) {
                self.quic.on_timeout();
            }
        }
    }

    fn send(&mut self) -> Result<()> {
        let mut datagram = [0; DATAGRAM];
        loop {
            match self.quic.send(&mut datagram) {
                Ok((length, target)) => match self.socket.send_to(&datagram[..length], target.to) {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error.into()),
                    _ => {}
                },
                Err(quiche::Error::Done) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for the first datagram, and takes those that are there as well.
    fn receive(&mut self, wait: Duration) -> Result<()> {
        let mut datagram = [0; 65536];
        self.socket.set_read_timeout(Some(wait))?;
        for number in 0..64 {
            self.socket.set_nonblocking(number > 0)?;
            match self.socket.recv_from(&mut datagram) {
                Ok((length, from)) => {
                    // quiche refuses packets of other connections; they are dropped.
                    let _ = self.quic.recv(&mut datagram[..length], quiche::RecvInfo { from, to: self.local });
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.socket.set_nonblocking(false)?;
        Ok(())
    }

    fn handle_http3(&mut self) -> Result<()> {
        if self.h3.is_none() && self.quic.is_established() {
            self.h3 = Some(h3::Connection::with_transport(&mut self.quic, &h3::Config::new()?)?);
        }
        let Some(h3) = &mut self.h3 else { return Ok(()) };
        if let Some((stream, body)) = &mut self.unsent {
            match h3.send_body(&mut self.quic, *stream, body, true) {
                Ok(length) if length == body.len() => self.unsent = None,
                Ok(length) => drop(body.drain(..length)),
                Err(h3::Error::Done) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut part = [0; 65536];
        loop {
            let (stream, event) = match h3.poll(&mut self.quic) {
                Ok(found) => found,
                Err(h3::Error::Done) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            if matches!(event, h3::Event::GoAway) {
                self.has_goaway = true;
                continue;
            }
            let Some(answer) = self.answers.get_mut(&stream) else { continue };
            match event {
                h3::Event::Headers { list, .. } => {
                    let status = list.iter().find(|field| field.name() == b":status");
                    answer.status = status.and_then(|field| std::str::from_utf8(field.value()).ok()?.parse().ok());
                }
                h3::Event::Data => {
                    while let Ok(length) = h3.recv_body(&mut self.quic, stream, &mut part) {
                        answer.body.extend_from_slice(&part[..length]);
                    }
                }
                h3::Event::Finished => answer.is_over = true,
                h3::Event::Reset(code) => (answer.is_over, answer.reset) = (true, Some(code)),
                _ => {}
            }
        }
    }

    /// To another port, with another connection ID.
    fn migrate(&mut self) -> Result<()> {
        // One that the server can use on the new path. On the new path it would be sent in place of the PING below.
        self.quic.new_scid(&quiche::ConnectionId::from_ref(&random()), u128::from_be_bytes(random()), true)?;
        self.send()?;
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        self.local = socket.local_addr()?;
        self.quic.migrate_source(self.local)?;
        self.socket = socket;
        // Something has to be sent: the server migrates with the first packet that is not a probe (RFC 9000 §9.1).
        Ok(self.quic.send_ack_eliciting()?)
    }

    fn close(mut self) -> Result<()> {
        let _ = self.quic.close(true, 0x100, b"");
        self.send()
    }

    fn end(&self) -> String {
        let closed = if self.quic.is_closed() { "closed" } else { "no time left" };
        format!("{closed}; peer {:?}, own {:?}", self.quic.peer_error(), self.quic.local_error())
    }
}

fn get(session: &mut Session) -> Result<Value> {
    let mut client = session.connect()?;
    let stream = client.open("GET", &session.path, None)?;
    let answer = client.response(stream)?;
    client.close()?;
    Ok(described(&answer))
}

fn post(session: &mut Session, file: &str) -> Result<Value> {
    let mut client = session.connect()?;
    let stream = client.open("POST", &session.path, Some(fs::read(file)?))?;
    let answer = client.response(stream)?;
    client.close()?;
    Ok(described(&answer))
}

fn many(session: &mut Session, count: usize) -> Result<Value> {
    let mut client = session.connect()?;
    let (mut begun, mut over, mut succeeded) = (0, 0, 0);
    while over < count {
        while begun < count && client.answers.len() < AT_A_TIME && client.open("GET", &session.path, None).is_ok() {
            begun += 1;
        }
        if !client.pump(TIMEOUT, |client| client.answers.values().any(|answer| answer.is_over))? {
            return Err(client.end().into());
        }
        client.answers.retain(|_, answer| {
            over += usize::from(answer.is_over);
            succeeded += usize::from(answer.is_over && answer.status == Some(200));
            !answer.is_over
        });
    }
    client.close()?;
    Ok(json!({ "succeeded": succeeded }))
}

fn twice(session: &mut Session) -> Result<Value> {
    let mut client = session.connect()?;
    let stream = client.open("GET", &session.path, None)?;
    client.response(stream)?;
    client.pump(Duration::from_secs(10), |client| client.quic.session().is_some())?;
    session.ticket = client.quic.session().map(<[u8]>::to_vec);
    client.close()?;
    let mut client = session.connect()?;
    let stream = client.open("GET", &session.path, None)?;
    let answer = client.response(stream)?;
    let mut found = described(&answer);
    found["resumed"] = client.quic.is_resumed().into();
    client.close()?;
    Ok(found)
}

fn migrate(session: &mut Session) -> Result<Value> {
    let mut client = session.connect()?;
    let stream = client.open("GET", &session.path, None)?;
    for part in 1..=3 {
        client.pump(TIMEOUT, |client| client.answers[&stream].body.len() > part * 2_000_000)?;
        client.migrate()?;
    }
    let answer = client.response(stream)?;
    let mut found = described(&answer);
    found["migrations"] = 3.into();
    client.close()?;
    Ok(found)
}

/// After GOAWAY, the next requests are of a new connection; those of the old one complete.
fn during(session: &mut Session, seconds: f64, at_a_time: usize) -> Result<Value> {
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let (mut answered, mut failed): (Vec<f64>, Vec<String>) = Default::default();
    let mut clients = vec![session.connect()?];
    loop {
        let goes_on = Instant::now() < until;
        if goes_on && clients.last().is_none_or(|client| client.has_goaway || client.quic.is_closed()) {
            clients.push(session.connect()?);
        }
        let begun: usize = clients.iter().map(|client| client.answers.len()).sum();
        if let (true, Some(client)) = (goes_on, clients.last_mut()) {
            for _ in begun..at_a_time {
                if client.open("GET", &session.path, None).is_err() {
                    break;
                }
            }
        }
        let count = clients.len();
        for (number, client) in clients.iter_mut().enumerate() {
            let wait = Duration::from_millis(if number + 1 == count { 5 } else { 1 });
            client.pump(wait, |client| client.answers.values().any(|answer| answer.is_over))?;
            let (is_closed, end) = (client.quic.is_closed(), client.end());
            client.answers.retain(|_, answer| {
                if answer.is_over && answer.status == Some(200) {
                    if answered.is_empty() {
                        println!("ready");
                    }
                    answered.push(now());
                } else if answer.is_over || is_closed {
                    failed.push(format!("{:.3} {:?} {:?} {end}", now(), answer.status, answer.reset));
                } else {
                    return true;
                }
                false
            });
        }
        clients.retain(|client| !client.quic.is_closed());
        if !goes_on && clients.iter().all(|client| client.answers.is_empty()) {
            break;
        }
    }
    for client in clients {
        client.close()?;
    }
    Ok(json!({ "answered": answered, "failed": failed }))
}

fn described(answer: &Answer) -> Value {
    let digest = ring::digest::digest(&ring::digest::SHA256, &answer.body);
    let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "status": answer.status, "body": digest, "protocol": "h3" })
}

fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the system has random numbers");
    bytes
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64()
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [verb, url, authority, rest @ ..] = arguments.as_slice() else {
        return Err("usage: VERB URL AUTHORITY [ARGUMENT...]".into());
    };
    let session = &mut Session::new(url, authority)?;
    let found = match (*verb, rest) {
        ("get", []) => get(session),
        ("post", [file]) => post(session, file),
        ("many", [count]) => many(session, count.parse()?),
        ("twice", []) => twice(session),
        ("migrate", []) => migrate(session),
        ("during", [seconds, at_a_time]) => during(session, seconds.parse()?, at_a_time.parse()?),
        _ => Err(format!("unknown verb {verb}").into()),
    }?;
    println!("{found}");
    Ok(())
}

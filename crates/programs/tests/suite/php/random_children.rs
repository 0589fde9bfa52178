//! Children of php-fpm that say anything: each client gets bytes of its own exchange alone, and knows whether these are all.

use std::{
    fmt::Write as _,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::net::{UnixListener, UnixStream},
    thread,
    time::Duration,
};

use bytes::BytesMut;
use serow_fastcgi::{Application, RequestEvent};
use serow_proxy::{BufferSettings, CgiProtocol, ForwardingSettings, Proxy, ServerSettings, Upstream, UpstreamSettings};

use crate::answering::Answering;

/// Exchanges; `SEROW_EXCHANGES` and `SEROW_SEED` choose others: 70,000 take ten minutes.
const EXCHANGES: u64 = 300;
const CLIENTS: u64 = 6;

#[test]
fn random_children_give_each_client_bytes_of_its_own_exchange_alone() {
    let number = |name, otherwise| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let (exchanges, seed): (u64, u64) = (number("SEROW_EXCHANGES", EXCHANGES), number("SEROW_SEED", 1));
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("children.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    // It ends with the test's process.
    thread::spawn(move || {
        for connection in listener.incoming() {
            thread::spawn(move || respond(connection.unwrap(), seed));
        }
    });
    let server = ServerSettings::new(format!("unix:{}", socket.display()).parse().unwrap());
    let mut upstream =
        UpstreamSettings { cgi_protocol: Some(CgiProtocol::Fastcgi), ..UpstreamSettings::new("php", vec![server]) };
    upstream.passive.failures = 0;
    let forwarding = ForwardingSettings { buffering: Some(BufferSettings::default()), ..ForwardingSettings::default() };
    let answering = Answering::new(Proxy::new(Upstream::new(upstream), forwarding));
    let address = answering.address();
    let clients: Vec<_> =
        (0..CLIENTS).map(|first| thread::spawn(move || visit(address, seed, first, exchanges))).collect();
    let counts = clients.into_iter().map(|client| client.join().unwrap());
    let (whole, cut) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    assert!(whole > exchanges / 4 && cut > exchanges / 10, "of {exchanges}: {whole} whole, {cut} cut off");
}

/// The fault of a child in its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The connection is closed after this many bytes.
    Closed(usize),
    /// Before this record comes one with other bytes in its header.
    Odd {
        record: usize,
        header: [u8; 8],
    },
    /// The header of this record has another byte at this place.
    Altered {
        record: usize,
        place: usize,
        byte: u8,
    },
    /// END_REQUEST comes before this record.
    EarlyEnd(usize),
    /// More records follow behind END_REQUEST.
    Excess,
    /// The web server's request is refused with this protocol status.
    Refused(u8),
}

/// A response that belongs to one exchange.
struct Plan {
    body: Vec<u8>,
    announced: Option<usize>,
    /// With their headers.
    records: Vec<Vec<u8>>,
    fault: Fault,
}

impl Plan {
    fn new(seed: u64, exchange: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9) ^ exchange);
        let mark = mark(exchange);
        let length = match random.below(4) {
            0 => random.below(20),
            1 => random.below(2000),
            2 => random.below(20_000),
            _ => random.below(200_000),
        };
        let body: Vec<u8> = mark.bytes().cycle().take(length).collect();
        let announced = match random.below(6) {
            0 => Some(length + 1 + random.below(10)),
            1 => Some(length.saturating_sub(random.below(10))),
            2 | 3 => Some(length),
            _ => None,
        };
        let mut text = format!("X-Mark: {mark}\r\nContent-Type: text/plain\r\n");
        if let Some(announced) = announced {
            write!(text, "Content-Length: {announced}\r\n").unwrap();
        }
        text.push_str("\r\n");
        let output = [text.as_bytes(), &body].concat();
        let mut records = Vec::new();
        let mut rest = output.as_slice();
        let most = [1, 8, 500, 8184, 65_000][random.below(5)].max(output.len() / 2000);
        while !rest.is_empty() {
            if random.below(5) == 0 {
                records.push(record(STDERR, format!("ERR{mark}").as_bytes(), random.below(8)));
            }
            let (piece, behind) = rest.split_at((1 + random.below(most)).min(rest.len()));
            records.push(record(STDOUT, piece, random.below(256)));
            rest = behind;
        }
        if random.below(2) == 0 {
            records.push(record(STDOUT, b"", random.below(8)));
        }
        records.push(record(END_REQUEST, &[0; 8], 0));
        let total: usize = records.iter().map(Vec::len).sum();
        let place = random.below(records.len());
        let fault = match random.below(12) {
            0 | 1 => Fault::Closed(random.below(total + 1)),
            2 => Fault::Odd { record: place, header: random.header() },
            3 | 4 => Fault::Altered { record: place, place: random.below(8), byte: random.below(256) as u8 },
            5 => Fault::EarlyEnd(place),
            6 => Fault::Excess,
            7 => Fault::Refused(1 + random.below(5) as u8),
            _ => Fault::None,
        };
        Self { body, announced, records, fault }
    }

    /// The bytes that the child sends.
    fn bytes(&self) -> Vec<u8> {
        let mut records = self.records.clone();
        match self.fault {
            Fault::Odd { record, header } => records.insert(record, header.to_vec()),
            Fault::Altered { record, place, byte } => records[record][place] = byte,
            Fault::EarlyEnd(place) => records.insert(place, record(END_REQUEST, &[0; 8], 0)),
            Fault::Excess => records.push(record(STDOUT, b"behind the end", 0)),
            Fault::Refused(status) => {
                let last = records.len() - 1;
                records[last][12] = status;
            }
            Fault::None | Fault::Closed(_) => {}
        }
        let mut bytes = records.concat();
        if let Fault::Closed(after) = self.fault {
            bytes.truncate(after);
        }
        bytes
    }

    /// Whether there is a reason to cut the response off.
    fn may_fail(&self) -> bool {
        self.fault != Fault::None || self.announced.is_some_and(|announced| announced > self.body.len())
    }

    /// Whether this body, which ended in order, may be all of the response.
    fn may_end_with(&self, body: &[u8]) -> bool {
        let whole = &self.body[..self.announced.unwrap_or(self.body.len()).min(self.body.len())];
        match (self.fault, self.announced) {
            // With padding or a length that is altered, other bytes of the exchange are taken for the body; an end may come early.
            (Fault::Altered { .. } | Fault::Odd { .. } | Fault::EarlyEnd(_), None) => true,
            (Fault::Altered { .. } | Fault::Odd { .. }, Some(announced)) => body.len() == announced,
            // The length says that it is whole, however the connection ends.
            (_, Some(announced)) => body == whole && announced <= self.body.len(),
            (Fault::None | Fault::Excess, None) => body == whole,
            // Behind the end there is nothing to miss.
            (Fault::Closed(after), None) => body == whole && after >= self.records.concat().len(),
            (Fault::Refused(_), None) => false,
        }
    }
}

/// One request of a web server.
fn respond(mut connection: UnixStream, seed: u64) {
    let (mut application, mut input) = (Application::new(1 << 20), BytesMut::new());
    let mut exchange = None;
    loop {
        match application.receive(&mut input).unwrap() {
            Some(RequestEvent::Head(head)) => {
                let (_, query) = head.variables.iter().find(|(name, _)| *name == b"QUERY_STRING").unwrap();
                exchange = std::str::from_utf8(query).unwrap().parse::<u64>().ok();
            }
            Some(RequestEvent::StdinEnd) => break,
            Some(_) => {}
            None => {
                let mut piece = [0; 4096];
                let count = connection.read(&mut piece).unwrap_or(0);
                if count == 0 {
                    return;
                }
                input.extend_from_slice(&piece[..count]);
            }
        }
    }
    let exchange = exchange.unwrap();
    let mut random = Random(seed ^ exchange.rotate_left(20));
    let bytes = Plan::new(seed, exchange).bytes();
    let most = [1, 9, 3000, 100_000][random.below(4)].max(bytes.len() / 200);
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at((1 + random.below(most)).min(rest.len()));
        if connection.write_all(piece).is_err() {
            return;
        }
        rest = behind;
        if random.below(8) == 0 {
            thread::yield_now();
        }
    }
}

/// Sends two requests at a time over one connection; how many responses were whole, and how many were cut off or replaced.
fn visit(address: SocketAddr, seed: u64, first: u64, exchanges: u64) -> (u64, u64) {
    let (mut whole, mut cut) = (0, 0);
    let mut exchange = first * 2;
    while exchange < exchanges {
        let mut connection = TcpStream::connect(address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let request = |number: u64, rest: &str| format!("GET /?{number} HTTP/1.1\r\nHost: a\r\n{rest}\r\n");
        let both = request(exchange, "") + &request(exchange + 1, "Connection: close\r\n");
        connection.write_all(both.as_bytes()).unwrap();
        let mut received = Vec::new();
        // A response that is cut off may end with a reset, on which the kernel drops all that was not read of the other, too.
        let reset = connection.read_to_end(&mut received).err();
        assert_ne!(reset.as_ref().map(std::io::Error::kind), Some(ErrorKind::WouldBlock), "{exchange} hangs");
        let plans = [exchange, exchange + 1].map(|number| (number, Plan::new(seed, number)));
        let mut rest = received.as_slice();
        for (number, plan) in &plans {
            let end = judge(&mut rest, plan, *number);
            let may_be_cut = plan.may_fail() || reset.is_some() && plans.iter().any(|(_, plan)| plan.may_fail());
            assert!(may_be_cut || !matches!(end, End::Cut), "{number} is cut off");
            match end {
                End::Whole => whole += 1,
                End::Replaced => cut += 1,
                End::Cut => {
                    cut += 1;
                    break;
                }
            }
        }
        exchange += CLIENTS * 2;
    }
    (whole, cut)
}

/// How a response ended.
enum End {
    Whole,
    /// By an error page.
    Replaced,
    /// And with it, the connection.
    Cut,
}

fn judge(rest: &mut &[u8], plan: &Plan, exchange: u64) -> End {
    let described = || format!("exchange {exchange}, {:?}, Content-Length {:?}", plan.fault, plan.announced);
    let Some(end) = find(rest, b"\r\n\r\n") else {
        assert!(rest.is_empty(), "{}: {rest:?}", described());
        return End::Cut;
    };
    let head = String::from_utf8_lossy(&rest[..end + 2]).to_ascii_lowercase();
    *rest = &rest[end + 4..];
    let field = |name: &str| head.split("\r\n").find_map(|line| line.strip_prefix(name));
    let (body, is_whole) = match field("content-length: ") {
        Some(length) => take(rest, length.parse().unwrap()),
        None if field("transfer-encoding: ").is_some() => chunked(rest),
        None => panic!("{}: {head}", described()),
    };
    if head.starts_with("http/1.1 502") {
        assert!(!is_foreign(&body, exchange) && is_whole, "{}", described());
        return End::Replaced;
    }
    let mark = mark(exchange);
    // Of an altered header, bytes may be parts of fields.
    let is_altered = matches!(plan.fault, Fault::Altered { .. } | Fault::Odd { .. });
    assert!(is_altered || field("x-mark: ") == Some(mark.as_str()), "{}: {head}", described());
    assert!(!is_foreign(head.as_bytes(), exchange) && !is_foreign(&body, exchange), "{}", described());
    if !is_altered {
        assert!(plan.body.starts_with(&body), "{}: other bytes", described());
    }
    if is_whole {
        assert!(plan.may_end_with(&body), "{}: {} bytes of {}", described(), body.len(), plan.body.len());
        return End::Whole;
    }
    End::Cut
}

/// The body of chunks, and whether its end is there.
fn chunked(rest: &mut &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = find(rest, b"\r\n") else { return (body, false) };
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        *rest = &rest[end + 2..];
        let (piece, is_whole) = take(rest, length + 2);
        body.extend_from_slice(&piece[..length.min(piece.len())]);
        if length == 0 || !is_whole {
            return (body, is_whole);
        }
    }
}

fn take(rest: &mut &[u8], length: usize) -> (Vec<u8>, bool) {
    let (piece, behind) = rest.split_at(length.min(rest.len()));
    *rest = behind;
    (piece.to_vec(), piece.len() == length)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// Whether there is the mark of another exchange.
fn is_foreign(text: &[u8], exchange: u64) -> bool {
    let own = mark(exchange);
    text.split(|&byte| byte == b'<').skip(1).any(|behind| {
        let number = behind.split(|&byte| byte == b'>').next().unwrap_or_default();
        number.len() == own.len() - 2
            && number.iter().all(u8::is_ascii_digit)
            && number != &own.as_bytes()[1..own.len() - 1]
    })
}

fn mark(exchange: u64) -> String {
    format!("<{exchange:08}>")
}

const STDOUT: u8 = 6;
const STDERR: u8 = 7;
const END_REQUEST: u8 = 3;

fn record(kind: u8, content: &[u8], padding: usize) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[1, kind, 0, 1, length[0], length[1], padding as u8, 0], content, &vec![b'.'; padding]].concat()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }

    /// A header of another request, of an unknown type or version, or of no record at all.
    fn header(&mut self) -> [u8; 8] {
        match self.below(4) {
            0 => [1, STDOUT, 0, 2 + self.below(200) as u8, 0, 0, 0, 0],
            1 => [1, [0, 1, 4, 5, 8, 9, 10, 11, 77][self.below(9)], 0, 1, 0, 0, 0, 0],
            2 => [self.below(256) as u8, STDOUT, 0, 1, 0, 0, 0, 0],
            _ => std::array::from_fn(|_| self.below(256) as u8),
        }
    }
}

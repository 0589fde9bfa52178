//! WebSockets to Python's applications, frame by frame.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use crate::support::{Running, at_rest, settings, wait_until};
use serow_apps::{Interface, WebSocketSettings};
use serow_requirements::requires;

const ECHO: &str = r"
import asyncio
last = asyncio.Queue()
flooded = 0

async def app(scope, receive, send):
    global flooded
    if scope['type'] == 'lifespan':
        return
    if scope['type'] == 'http':
        answer = flooded if scope['path'] == '/flooded' else await last.get()
        await send({'type': 'http.response.start', 'status': 200})
        return await send({'type': 'http.response.body', 'body': ascii(answer).encode()})
    assert await receive() == {'type': 'websocket.connect'}
    if scope['path'] == '/refused':
        return await send({'type': 'websocket.close'})
    if scope['path'] == '/answered':
        await send({'type': 'websocket.http.response.start', 'status': 401, 'headers': [(b'content-length', b'6')]})
        await send({'type': 'websocket.http.response.body', 'body': b'den', 'more_body': True})
        return await send({'type': 'websocket.http.response.body', 'body': b'ied'})
    if scope['path'] == '/forgotten':
        return
    if scope['path'] == '/raised':
        raise ValueError('no')
    chosen = scope['subprotocols'][-1] if scope['subprotocols'] else None
    await send({'type': 'websocket.accept', 'subprotocol': chosen, 'headers': [(b'x-scope', scope['scheme'].encode())]})
    if scope['path'] == '/returned':
        return
    if scope['path'] == '/failed':
        raise ValueError('no')
    if scope['path'] == '/cancelled':
        raise asyncio.CancelledError
    if scope['path'] == '/flood':
        flooded = 0
        try:
            while True:
                await send({'type': 'websocket.send', 'bytes': bytes(50_000)})
                flooded += 1
        except OSError:
            return last.put_nowait(flooded < 1000)
    while True:
        message = await receive()
        if message['type'] == 'websocket.disconnect':
            try:
                await send({'type': 'websocket.send', 'text': 'too late'})
            except OSError:
                return last.put_nowait((message['code'], message['reason']))
        if message.get('text') == 'close':
            await send({'type': 'websocket.close', 'code': 3001, 'reason': 'bye'})
            continue
        message['type'] = 'websocket.send'
        await send(message)
";

pub(crate) fn run() -> Running {
    run_with(WebSocketSettings::default())
}

pub(crate) fn run_with(websocket: WebSocketSettings) -> Running {
    let (mut settings, folder) = settings(Interface::Asgi, "application.py", ECHO);
    settings.run.processes = std::num::NonZero::<usize>::MIN;
    settings.websocket = websocket;
    Running::new((settings, folder))
}

/// Sends pings after a short time.
fn run_impatient() -> Running {
    run_with(WebSocketSettings { ping: Duration::from_millis(300), ..WebSocketSettings::default() })
}

/// A client that speaks frames.
pub(crate) struct Client {
    pub(crate) connection: TcpStream,
}

impl Client {
    /// Sends a WebSocket handshake; returns the head of the response.
    pub(crate) fn ask(running: &Running, path: &str, fields: &str) -> (Self, String) {
        let mut connection = TcpStream::connect(running.address()).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
        );
        connection.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            connection.read_exact(&mut byte).unwrap();
            head.extend_from_slice(&byte);
        }
        (Self { connection }, String::from_utf8(head).unwrap())
    }

    fn open(running: &Running, path: &str) -> Self {
        let (client, head) = Self::ask(running, path, "Sec-WebSocket-Version: 13\r\n");
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        client
    }

    /// Sends a masked frame with this first byte and payload.
    pub(crate) fn send(&mut self, first: u8, content: &[u8]) {
        let mut frame = vec![first];
        match content.len() {
            short @ 0..126 => frame.push(0x80 | short as u8),
            medium @ 126..65_536 => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&(medium as u16).to_be_bytes());
            }
            long => {
                frame.push(0x80 | 127);
                frame.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        let mask = [1, 2, 3, 4];
        frame.extend_from_slice(&mask);
        frame.extend(content.iter().zip(mask.into_iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.connection.write_all(&frame).unwrap();
    }

    /// Receives a frame: its first byte and its payload.
    pub(crate) fn receive(&mut self) -> (u8, Vec<u8>) {
        let mut begin = [0; 2];
        self.connection.read_exact(&mut begin).unwrap();
        let length = match begin[1] {
            126 => u64::from(u16::from_be_bytes(self.receive_bytes())),
            127 => u64::from_be_bytes(self.receive_bytes()),
            short => u64::from(short),
        };
        let mut content = vec![0; length as usize];
        self.connection.read_exact(&mut content).unwrap();
        (begin[0], content)
    }

    fn receive_bytes<const LENGTH: usize>(&mut self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        self.connection.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Receives frames until a message is whole.
    pub(crate) fn receive_message(&mut self) -> (u8, Vec<u8>) {
        let (mut first, mut message) = self.receive();
        let opcode = first & 15;
        while first & 0x80 == 0 {
            let (next, content) = self.receive();
            assert_eq!(next & 15, 0, "the rest of a message");
            first = next;
            message.extend(content);
        }
        (opcode, message)
    }

    /// Receives until the frame that closes; gives its code.
    pub(crate) fn receive_close(&mut self) -> u16 {
        loop {
            let (first, content) = self.receive();
            if first == CLOSE {
                return u16::from_be_bytes([content[0], content[1]]);
            }
        }
    }
}

static TOO_LONG: [u8; (16 << 20) + 1] = [0; (16 << 20) + 1];

/// First bytes and payloads of frames.
type Frames<'a> = &'a [(u8, &'a [u8])];

const CONTINUE: u8 = 0x80;
const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;
/// Without the bit that ends a message.
const MORE: u8 = 0x7f;

#[test]
fn handshakes_select_subprotocols() {
    requires!("program:/usr/bin/python3");
    let running = run();
    let fields = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: a, b\r\nSec-WebSocket-Protocol: c\r\n";
    let (_client, head) = Client::ask(&running, "/", fields);
    for expected in [
        "HTTP/1.1 101 ",
        "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        "sec-websocket-protocol: c",
        "x-scope: ws",
    ] {
        assert!(head.contains(expected), "{expected}: {head}");
    }
    for (path, fields, expected) in [
        ("/refused", "Sec-WebSocket-Version: 13\r\n", "HTTP/1.1 403 "),
        ("/answered", "Sec-WebSocket-Version: 13\r\n", "HTTP/1.1 401 "),
        ("/forgotten", "Sec-WebSocket-Version: 13\r\n", "HTTP/1.1 500 "),
        ("/raised", "Sec-WebSocket-Version: 13\r\n", "HTTP/1.1 500 "),
        ("/", "Sec-WebSocket-Version: 12\r\n", "HTTP/1.1 426 "),
    ] {
        let (_client, head) = Client::ask(&running, path, fields);
        assert!(head.starts_with(expected), "{path}: {head}");
    }
}

#[test]
fn messages_go_there_and_back() {
    requires!("program:/usr/bin/python3");
    let running = run();
    let mut client = Client::open(&running, "/");
    let long = vec![b'x'; 70_000];
    let very_long: Vec<u8> = (0..1_000_000_u32).map(|place| (place % 251) as u8).collect();
    let umlauts = "ä".repeat(50_000);
    let cases: [(u8, &[u8]); 7] = [
        (TEXT, b""),
        (TEXT, "grün 🌱\0".as_bytes()),
        (TEXT, &long),
        (TEXT, umlauts.as_bytes()),
        (BINARY, b""),
        (BINARY, b"\0\xff"),
        (BINARY, &very_long),
    ];
    for (first, content) in cases {
        client.send(first, content);
        let (opcode, message) = client.receive_message();
        assert_eq!((opcode, message.len()), (first & 15, content.len()));
        assert!(message == content);
    }
    // In many pieces, some of them empty, with pings between them, and a character that is cut in two.
    client.send(TEXT & MORE, "ä".as_bytes().get(..1).unwrap());
    client.send(PING, b"are you there");
    assert_eq!(client.receive(), (PONG, b"are you there".to_vec()));
    client.send(CONTINUE & MORE, b"");
    client.send(PONG, b"nobody asked");
    client.send(CONTINUE, "ä".as_bytes().get(1..).unwrap());
    assert_eq!(client.receive_message(), (1, "ä".into()));
}

#[test]
fn invalid_frames_close_with_their_code() {
    requires!("program:/usr/bin/python3");
    let running = run();
    let cases: [(&str, Frames<'_>, u16); 9] = [
        ("a reserved bit", &[(TEXT | 0x40, b"")], 1002),
        ("an unknown opcode", &[(0x83, b"")], 1002),
        ("a ping in pieces", &[(PING & MORE, b"")], 1002),
        ("a long ping", &[(PING, &[0; 126])], 1002),
        ("the rest of nothing", &[(CONTINUE, b"")], 1002),
        ("a message within another", &[(TEXT & MORE, b""), (TEXT, b"")], 1002),
        ("a text that is none", &[(TEXT, b"\xff")], 1007),
        ("half a character at the end", &[(TEXT & MORE, b"\xc3"), (CONTINUE, b"")], 1007),
        ("too long", &[(BINARY, &TOO_LONG)], 1009),
    ];
    for (name, frames, code) in cases {
        let mut client = Client::open(&running, "/");
        frames.iter().for_each(|(first, content)| client.send(*first, content));
        assert_eq!(client.receive_close(), code, "{name}");
        // A client that waits for the server to close the connection need not wait long.
        client.connection.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        assert_eq!(client.connection.read(&mut [0]).unwrap(), 0, "{name}");
        drop(client);
        assert_eq!(crate::support::content(&running.get("/")), format!("({code}, '')"), "{name}");
    }
}

#[test]
fn both_sides_may_close() {
    requires!("program:/usr/bin/python3");
    let running = run();
    let cases: [(&[u8], &str); 3] =
        [(b"\x03\xe8", "(1000, '')"), (b"\x0f\xa0mine", "(4000, 'mine')"), (b"", "(1005, '')")];
    for (content, expected) in cases {
        let mut client = Client::open(&running, "/");
        client.send(CLOSE, content);
        assert_eq!(client.receive().0, CLOSE);
        assert_eq!(crate::support::content(&running.get("/")), expected);
    }
    drop(Client::open(&running, "/"));
    assert_eq!(crate::support::content(&running.get("/")), "(1006, '')");
    let mut client = Client::open(&running, "/");
    client.send(TEXT, b"close");
    assert_eq!(client.receive(), (CLOSE, b"\x0b\xb9bye".to_vec()));
    for (path, code) in [("/returned", 1000), ("/failed", 1011), ("/cancelled", 1011)] {
        assert_eq!(Client::open(&running, path).receive_close(), code, "{path}");
    }
}

#[test]
fn the_window_limits_messages_to_slow_clients() {
    requires!("program:/usr/bin/python3");
    let running = run();
    let client = Client::open(&running, "/flood");
    let flooded = || crate::support::content(&running.get("/flooded")).to_owned();
    wait_until("the flood begins", || flooded() != "0");
    at_rest(flooded);
    drop(client);
    assert_eq!(crate::support::content(&running.get("/")), "True");
}

#[test]
fn silent_clients_get_a_ping_and_then_time_out() {
    requires!("program:/usr/bin/python3");
    let running = run_impatient();
    let mut client = Client::open(&running, "/");
    for answer in [PONG, PONG, TEXT] {
        assert_eq!(client.receive(), (PING, Vec::new()));
        client.send(answer, b"");
    }
    assert_eq!(client.receive_message(), (1, Vec::new()));
    assert_eq!(client.receive(), (PING, Vec::new()));
    assert_eq!(client.receive(), (CLOSE, b"\x03\xf3keepalive ping timeout".to_vec()));
    drop(client);
    assert_eq!(crate::support::content(&running.get("/")), "(1006, '')");
}

#[test]
fn clients_that_do_not_read_time_out() {
    requires!("program:/usr/bin/python3");
    let running = run_impatient();
    let _client = Client::open(&running, "/flood");
    assert_eq!(crate::support::content(&running.get("/")), "True");
}

#[test]
fn messages_may_be_as_long_as_is_set() {
    requires!("program:/usr/bin/python3");
    let running = run_with(WebSocketSettings { message: 10, ..WebSocketSettings::default() });
    let mut client = Client::open(&running, "/");
    client.send(BINARY, &[1; 10]);
    assert_eq!(client.receive_message(), (2, vec![1; 10]));
    client.send(BINARY & MORE, &[1; 6]);
    client.send(CONTINUE, &[1; 5]);
    assert_eq!(client.receive_close(), 1009);
    drop(client);
    assert_eq!(crate::support::content(&running.get("/")), "(1009, '')");
}

#[test]
fn a_replaced_worker_closes_its_websockets() {
    requires!("program:/usr/bin/python3");
    let running = run();
    let mut client = Client::open(&running, "/");
    running.reload().unwrap();
    assert_eq!(client.receive_close(), 1012);
    let mut client = Client::open(&running, "/");
    client.send(TEXT, b"new");
    assert_eq!(client.receive_message(), (1, b"new".to_vec()));
}

#[test]
fn a_server_that_stops_tells_its_clients() {
    requires!("program:/usr/bin/python3");
    let running = run();
    let mut client = Client::open(&running, "/");
    running.application.close_websockets();
    assert_eq!(client.receive_close(), 1012);
    drop(client);
    assert_eq!(crate::support::content(&running.get("/")), "(1012, '')");
    assert_eq!(Client::open(&running, "/").receive_close(), 1012);
}

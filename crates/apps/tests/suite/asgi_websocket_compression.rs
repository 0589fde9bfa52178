//! Compressed messages (RFC 7692) between clients and Python's applications, frame by frame.

use std::{io::Read, time::Duration};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use serow_apps::WebSocketSettings;
use serow_requirements::requires;

use crate::{
    asgi_websocket::{Client, run, run_with},
    support::Running,
};

/// Opens a WebSocket with this offer; returns the response's extensions, too.
fn open(running: &Running, offer: &str) -> (Client, Option<String>) {
    let fields = format!("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: {offer}\r\n");
    let (client, head) = Client::ask(running, "/", &fields);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let extensions = head.lines().find_map(|line| line.strip_prefix("sec-websocket-extensions: "));
    (client, extensions.map(str::to_owned))
}

fn open_usually(running: &Running) -> Client {
    let (client, extensions) = open(running, "permessage-deflate; client_max_window_bits");
    let expected = "permessage-deflate; server_max_window_bits=12; client_no_context_takeover";
    assert_eq!(extensions.as_deref(), Some(expected));
    client
}

/// A message as a client compresses it.
fn compressed(content: &[u8]) -> Vec<u8> {
    let mut output = Vec::with_capacity(content.len() + 1000);
    let mut compress = Compress::new(Compression::best(), false);
    compress.compress_vec(content, &mut output, FlushCompress::Sync).unwrap();
    assert!(output.ends_with(&TAIL), "{}", output.len());
    output.truncate(output.len() - TAIL.len());
    output
}

/// Decompresses messages as a client does.
struct Inflater(Decompress);

impl Inflater {
    fn message(&mut self, compressed: &[u8], length: usize) -> Vec<u8> {
        let mut output = Vec::with_capacity(length + 1000);
        let input = [compressed, &TAIL].concat();
        self.0.decompress_vec(&input, &mut output, FlushDecompress::Sync).unwrap();
        output
    }
}

/// First bytes and payloads of frames.
type Frames<'a> = &'a [(u8, &'a [u8])];

const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

#[test]
fn compressed_messages_go_there_and_back() {
    requires!("program:/usr/bin/python3");
    let running = run();
    let mut client = open_usually(&running);
    let mut inflater = Inflater(Decompress::new_with_window_bits(false, 12));
    let long: Vec<u8> = (0..1_000_000_u32).map(|place| (place % 251 * (place >> 12)) as u8).collect();
    let text = "{\"name\": \"grün\"}".repeat(10);
    let cases: [(u8, &[u8]); 5] = [(1, text.as_bytes()), (1, text.as_bytes()), (2, &long), (1, b"short"), (1, b"")];
    let mut lengths = Vec::new();
    for (opcode, content) in cases {
        client.send(0xc0 | opcode, &compressed(content));
        let (mut first, mut message) = client.receive();
        let is_compressed = first & 0x40 != 0;
        assert_eq!((first & 15, is_compressed), (opcode, content.len() >= 32));
        while first & 0x80 == 0 {
            let (next, piece) = client.receive();
            assert_eq!(next & 0x7f, 0, "the rest of a message does not say that it is compressed");
            first = next;
            message.extend(piece);
        }
        lengths.push(message.len());
        let content_of = if is_compressed { inflater.message(&message, content.len()) } else { message };
        assert!(content_of == content, "{lengths:?}");
    }
    // The second message refers to the first.
    assert!(lengths[1] < lengths[0] / 2, "{lengths:?}");
    // Frames that are not compressed are allowed between them, and pings within a message.
    client.send(0x81, b"plain");
    assert_eq!(client.receive(), (0x81, b"plain".to_vec()));
    let message = compressed(b"in pieces");
    client.send(0x41, &message[..2]);
    client.send(0x89, b"ping");
    assert_eq!(client.receive(), (0x8a, b"ping".to_vec()));
    client.send(0x80, &message[2..]);
    assert_eq!(client.receive(), (0x81, b"in pieces".to_vec()));
}

#[test]
fn offers_that_cannot_be_accepted_are_declined() {
    requires!("program:/usr/bin/python3");
    let running = run();
    for offer in ["permessage-deflate; unknown", "permessage-deflate; server_max_window_bits=8", "x-other"] {
        let (mut client, extensions) = open(&running, offer);
        assert_eq!(extensions, None, "{offer}");
        client.send(0x81, &[b'a'; 100]);
        assert_eq!(client.receive(), (0x81, vec![b'a'; 100]));
        client.send(0xc1, &compressed(b"not agreed"));
        assert_eq!(client.receive_close(), 1002);
    }
}

#[test]
fn without_compression_no_offer_is_accepted() {
    requires!("program:/usr/bin/python3");
    let running = run_with(WebSocketSettings { compression: false, ..WebSocketSettings::default() });
    let (mut client, extensions) = open(&running, "permessage-deflate");
    assert_eq!(extensions, None);
    client.send(0x81, &[b'a'; 100]);
    assert_eq!(client.receive(), (0x81, vec![b'a'; 100]));
}

#[test]
fn invalid_compressed_frames_close_with_their_code() {
    requires!("program:/usr/bin/python3");
    let running = run();
    let hello = compressed(b"Hello");
    let bomb = compressed(&vec![0; (16 << 20) + 1]);
    assert!(bomb.len() < 70_000, "{}", bomb.len());
    let cases: [(&str, Frames<'_>, u16); 8] = [
        ("a compressed ping", &[(0xc9, b"")], 1002),
        ("a continuation that says it is compressed", &[(0x41, &hello[..2]), (0xc0, &hello[2..])], 1002),
        ("a compressed rest of nothing", &[(0xc0, &hello)], 1002),
        ("a message within another", &[(0x41, &hello[..2]), (0x81, b"x")], 1002),
        ("another reserved bit", &[(0xe1, &hello)], 1002),
        ("what is not deflate", &[(0xc1, b"\xff\xff\xff\xff")], 1007),
        ("a compressed text that is none", &[(0xc1, &compressed(b"\xff"))], 1007),
        ("a bomb", &[(0xc2, &bomb)], 1009),
    ];
    for (name, frames, code) in cases {
        let mut client = open_usually(&running);
        frames.iter().for_each(|(first, content)| client.send(*first, content));
        assert_eq!(client.receive_close(), code, "{name}");
        client.connection.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        assert_eq!(client.connection.read(&mut [0]).unwrap(), 0, "{name}");
        drop(client);
        assert_eq!(crate::support::content(&running.get("/")), format!("({code}, '')"), "{name}");
    }
}

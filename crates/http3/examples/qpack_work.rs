//! Does one kind of header compression so many times, to have its instructions counted:
//!
//! `valgrind --tool=callgrind target/release/examples/qpack_work CASE TIMES`; the difference of two runs is the cost of
//! the sections that one does more. The messages are those of HPACK's `hpack_work`.

use std::{hint::black_box, ops::ControlFlow, process::ExitCode};

use serow_http3::{
    StreamId,
    qpack::{Decoded, Decoder, Encoder, Name, Pseudo},
};
use serow_message::StatusCode;

/// Header fields of a browser's request.
const BROWSER: [(&str, &str); 12] = [
    (":method", "GET"),
    (":authority", "www.example.com"),
    (":scheme", "https"),
    (":path", "/assets/application-6f3a.js"),
    (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    ),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"),
    ("accept-language", "en-US,en;q=0.9,de;q=0.8"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("referer", "https://www.example.com/articles/2024/index.html"),
    ("cookie", "session=0123456789abcdef0123456789abcdef"),
    ("sec-fetch-mode", "no-cors"),
    ("priority", "u=1, i"),
];

/// Header fields of a file server's response.
const FILE: [(&str, &str); 10] = [
    (":status", "200"),
    ("server", "serow"),
    ("date", "Tue, 15 Nov 1994 08:12:31 GMT"),
    ("content-type", "text/html; charset=utf-8"),
    ("content-length", "12345"),
    ("last-modified", "Mon, 14 Nov 1994 18:22:01 GMT"),
    ("etag", "\"3039-5d2f1c6a4b7e8\""),
    ("accept-ranges", "bytes"),
    ("cache-control", "max-age=3600"),
    ("vary", "accept-encoding"),
];

type Fields = Vec<(Name, String, String)>;

const STREAM: StreamId = StreamId::of_quic(0);

const CAPACITY: usize = 4096;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let case = arguments.next().unwrap_or_default();
    let times = arguments.next().and_then(|times| times.parse().ok()).unwrap_or(1000);
    match &case[..] {
        "encode-static" => encode(&FILE, 0, times),
        "encode-file" => encode(&FILE, CAPACITY, times),
        "decode-first" => decode(&BROWSER, 0, times),
        "decode-browser" => decode(&BROWSER, CAPACITY, times),
        "copy-largest" => copy_largest(times),
        _ => {
            eprintln!("usage: qpack_work encode-static|encode-file|decode-first|decode-browser|copy-largest TIMES");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn fields(lines: &[(&str, &str)]) -> Fields {
    lines.iter().map(|(name, value)| (Name::recognise(name.as_bytes()), name.to_string(), value.to_string())).collect()
}

/// Both ends of a connection, whose tables have what these fields need.
fn connection(fields: &Fields, capacity: usize) -> (Encoder, Decoder) {
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(capacity, 16));
    encoder.set_limits(capacity, 16);
    for _ in 0..4 {
        let (mut block, mut instructions, mut acknowledgements) = (Vec::new(), Vec::new(), Vec::new());
        write(&mut encoder, fields, &mut block);
        encoder.write(&mut instructions);
        decoder.receive(&instructions).expect("what we write can be read");
        read(&mut decoder, &block);
        decoder.write(&mut acknowledgements);
        encoder.receive(&acknowledgements).expect("what we write can be read");
    }
    (encoder, decoder)
}

#[inline(never)]
fn write(encoder: &mut Encoder, fields: &Fields, block: &mut Vec<u8>) {
    let mut section = encoder.begin(STREAM, block);
    for (name_kind, name, value) in fields {
        match name_kind {
            Name::Pseudo(Pseudo::Status) => section.encode_status(StatusCode::OK),
            Name::Pseudo(pseudo) => section.encode_pseudo(*pseudo, value.as_bytes()),
            kind => section.encode(name.as_bytes(), kind.known(), value.as_bytes()),
        }
    }
    section.finish();
}

#[inline(never)]
fn read(decoder: &mut Decoder, block: &[u8]) {
    let outcome = decoder.decode(STREAM, block, |field| {
        black_box(field);
        ControlFlow::Continue(())
    });
    assert_eq!(outcome, Ok(Decoded::Whole));
}

/// Each section is acknowledged at once, if it refers to the table.
fn encode(lines: &[(&str, &str)], capacity: usize, times: usize) {
    let fields = fields(lines);
    let (mut encoder, _) = connection(&fields, capacity);
    let mut block = Vec::with_capacity(1024);
    for _ in 0..times {
        block.clear();
        write(&mut encoder, &fields, &mut block);
        if capacity > 0 {
            encoder.receive(&[0x80]).expect("an acknowledgement");
        }
    }
    eprintln!("{} bytes", block.len());
}

/// The acknowledgements are written each time.
fn decode(lines: &[(&str, &str)], capacity: usize, times: usize) {
    let fields = fields(lines);
    let (mut encoder, mut decoder) = connection(&fields, capacity);
    let (mut block, mut output) = (Vec::new(), Vec::with_capacity(1024));
    write(&mut encoder, &fields, &mut block);
    for _ in 0..times {
        read(&mut decoder, &block);
        output.clear();
        decoder.write(&mut output);
    }
    eprintln!("{} bytes", block.len());
}

/// Attack: each byte of the encoder stream copies an entry that fills the table.
fn copy_largest(times: usize) {
    let mut decoder = Decoder::new(CAPACITY, 16);
    let mut instructions = vec![0x3f, 0xe1, 0x1f, 0x40, 0x7f, 0xe1, 0x1e];
    instructions.resize(instructions.len() + CAPACITY - 32, b'a');
    instructions.resize(instructions.len() + times, 0);
    decoder.receive(&instructions).expect("valid instructions");
    eprintln!("{} entries", decoder.insert_count());
}

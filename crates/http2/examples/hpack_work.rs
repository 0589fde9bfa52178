//! Does one kind of header compression so many times, to have its instructions counted:
//!
//! `valgrind --tool=callgrind target/release/examples/hpack_work CASE TIMES`; the difference of two runs is the cost of
//! the blocks that one does more.

use std::{hint::black_box, ops::ControlFlow, process::ExitCode};

use serow_http2::hpack::{Decoder, Encoder, Pseudo};
use serow_message::{KnownHeader, StatusCode};

/// Header fields of a request by h2load.
const LOAD: [(&str, &str); 5] = [
    (":method", "GET"),
    (":scheme", "http"),
    (":authority", "127.0.0.1:8080"),
    (":path", "/file.html"),
    ("user-agent", "h2load nghttp2/1.52.0"),
];

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

type Fields = Vec<(Kind, String, String)>;

enum Kind {
    Pseudo(Pseudo),
    Header(Option<KnownHeader>),
}

const PSEUDO: [Pseudo; 5] = [Pseudo::Status, Pseudo::Method, Pseudo::Scheme, Pseudo::Authority, Pseudo::Path];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let case = arguments.next().unwrap_or_default();
    let times = arguments.next().and_then(|times| times.parse().ok()).unwrap_or(1000);
    match &case[..] {
        "decode-load" => decode(&LOAD, times),
        "decode-browser" => decode(&BROWSER, times),
        "decode-first" => decode_first(&BROWSER, times),
        "encode-file" => encode(times, |_| fields(&FILE)),
        "encode-files" => encode(times, |number| {
            let mut fields = fields(&FILE);
            fields[4].2 = format!("{}", 10_000 + number % 50_000);
            fields[6].2 = format!("\"3039-5d2f1c6{number:06x}\"");
            fields
        }),
        "encode-request" => encode(times, |_| fields(&LOAD)),
        _ => {
            eprintln!(
                "usage: hpack_work decode-load|decode-browser|decode-first|encode-file|encode-files|encode-request TIMES"
            );
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn fields(lines: &[(&str, &str)]) -> Fields {
    let kind = |name: &str| match PSEUDO.into_iter().find(|pseudo| pseudo.as_str() == name) {
        Some(pseudo) => Kind::Pseudo(pseudo),
        None => Kind::Header(KnownHeader::recognise(name.as_bytes())),
    };
    lines.iter().map(|(name, value)| (kind(name), name.to_string(), value.to_string())).collect()
}

fn block(encoder: &mut Encoder, fields: &Fields) -> Vec<u8> {
    let mut block = Vec::with_capacity(1024);
    write(encoder, fields, &mut block);
    block
}

#[inline(never)]
fn write(encoder: &mut Encoder, fields: &Fields, block: &mut Vec<u8>) {
    for (kind, name, value) in fields {
        match kind {
            Kind::Pseudo(Pseudo::Status) => encoder.encode_status(StatusCode::OK, block),
            Kind::Pseudo(pseudo) => encoder.encode_pseudo(*pseudo, value.as_bytes(), block),
            Kind::Header(known) => encoder.encode(name.as_bytes(), *known, value.as_bytes(), block),
        }
    }
}

#[inline(never)]
fn read(decoder: &mut Decoder, block: &[u8]) {
    let outcome = decoder.decode(block, |field| {
        black_box(field);
        ControlFlow::Continue(())
    });
    assert!(outcome.is_ok());
}

/// Blocks of which all fields are in the table.
fn decode(lines: &[(&str, &str)], times: usize) {
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
    let fields = fields(lines);
    for _ in 0..3 {
        read(&mut decoder, &block(&mut encoder, &fields));
    }
    let last = block(&mut encoder, &fields);
    eprintln!("{} bytes", last.len());
    for _ in 0..times {
        read(&mut decoder, &last);
    }
}

/// First blocks of connections.
fn decode_first(lines: &[(&str, &str)], times: usize) {
    let first = block(&mut Encoder::new(), &fields(lines));
    eprintln!("{} bytes", first.len());
    for _ in 0..times {
        read(&mut Decoder::new(4096), &first);
    }
}

fn encode(times: usize, message: impl Fn(usize) -> Fields) {
    let messages: Vec<Fields> = (0..256).map(message).collect();
    let mut encoder = Encoder::new();
    let mut block = Vec::with_capacity(1024);
    for number in 0..times {
        block.clear();
        write(&mut encoder, &messages[number % messages.len()], &mut block);
    }
    eprintln!("{} bytes", block.len());
}

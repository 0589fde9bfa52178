//! HTTP/2 servers that send surplus data: none of it reaches the client of another request.

use std::time::{Duration, Instant};

use serow::Method;
use serow_http2::{BodyLength, ErrorCode, Limits};
use serow_proxy::{BackgroundTasks, CheckKind, CheckSettings, ForwardingSettings, PassiveSettings, UpstreamSettings};

use crate::support::{
    Proxied,
    multiplexed::Client,
    multiplexing_server,
    script::{Peer, Scripted},
};

/// The action of a server for a request on this stream. It may also answer properly.
type Misbehaviour = fn(&mut Peer, u32);

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PUSH_PROMISE: u8 = 5;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const END: u8 = END_STREAM | END_HEADERS;

/// RFC 7541, appendix A: `:status: 200`, 204 and 304.
const OK: &[u8] = &[0x88];
const NO_CONTENT: &[u8] = &[0x89];
const NOT_MODIFIED: &[u8] = &[0x8b];
/// `:status: 103` (RFC 7541 §6.2.2, with the name of index 8).
const EARLY_HINTS: &[u8] = &[0x08, 3, b'1', b'0', b'3'];
/// `:status: 200` and `content-length: 6`, with the name of index 28.
const OK_OF_SIX: &[u8] = &[0x88, 0x0f, 13, 1, b'6'];
/// `x-end: 1` with a name of its own.
const TRAILERS: &[u8] = &[0x00, 5, b'x', b'-', b'e', b'n', b'd', 1, b'1'];
const POISON: &[u8] = b"POISON";

fn poison(peer: &mut Peer, stream: u32) {
    peer.frame(HEADERS, END_HEADERS, stream, OK);
    peer.frame(DATA, END_STREAM, stream, POISON);
}

fn proper(peer: &mut Peer, stream: u32) {
    peer.frame(HEADERS, END_HEADERS, stream, OK);
    peer.frame(DATA, END_STREAM, stream, b"own");
}

const MISBEHAVIOURS: &[(&str, Misbehaviour)] = &[
    ("DATA after END_STREAM", |peer, stream| {
        proper(peer, stream);
        peer.frame(DATA, END_STREAM, stream, POISON);
    }),
    ("DATA after END_STREAM, without an end", |peer, stream| {
        proper(peer, stream);
        peer.frame(DATA, 0, stream, POISON);
    }),
    ("a second response after END_STREAM", |peer, stream| {
        proper(peer, stream);
        poison(peer, stream);
    }),
    ("a second response before END_STREAM", |peer, stream| {
        peer.frame(HEADERS, END_HEADERS, stream, OK);
        poison(peer, stream);
    }),
    ("a response to the next request, before it comes", |peer, stream| {
        proper(peer, stream);
        poison(peer, stream + 2);
    }),
    ("responses to many requests before they come", |peer, stream| {
        (1..20).for_each(|number| poison(peer, stream + 2 * number));
        proper(peer, stream);
    }),
    ("DATA for the next request", |peer, stream| {
        peer.frame(DATA, 0, stream + 2, POISON);
        proper(peer, stream);
    }),
    ("a response on a stream of the server", |peer, stream| {
        poison(peer, 2);
        proper(peer, stream);
    }),
    ("a push", |peer, stream| {
        peer.frame(PUSH_PROMISE, END_HEADERS, stream, &[0, 0, 0, 2, 0x82, 0x84, 0x86, 0x41, 1, b'a']);
        poison(peer, 2);
        proper(peer, stream);
    }),
    ("DATA on the connection", |peer, _| peer.frame(DATA, 0, 0, POISON)),
    ("HEADERS on the connection", |peer, _| peer.frame(HEADERS, END, 0, OK)),
    ("DATA before HEADERS", |peer, stream| {
        peer.frame(DATA, 0, stream, POISON);
        proper(peer, stream);
    }),
    ("trailers twice", |peer, stream| {
        peer.frame(HEADERS, END_HEADERS, stream, OK);
        peer.frame(HEADERS, END, stream, TRAILERS);
        peer.frame(HEADERS, END, stream, TRAILERS);
    }),
    ("trailers that do not end", |peer, stream| {
        peer.frame(HEADERS, END_HEADERS, stream, OK);
        (0..1000).for_each(|_| peer.frame(HEADERS, END_HEADERS, stream, TRAILERS));
    }),
    ("CONTINUATION of nothing", |peer, stream| peer.frame(CONTINUATION, END_HEADERS, stream, OK)),
    ("CONTINUATION of another stream", |peer, stream| {
        peer.frame(HEADERS, 0, stream, OK);
        peer.frame(CONTINUATION, END_HEADERS, stream + 2, TRAILERS);
    }),
    ("a response after RST_STREAM", |peer, stream| {
        peer.frame(RST_STREAM, 0, stream, &2_u32.to_be_bytes());
        poison(peer, stream);
    }),
    ("a response above GOAWAY", |peer, stream| {
        peer.frame(GOAWAY, 0, 0, &[0; 8]);
        poison(peer, stream);
    }),
    ("more than its length", |peer, stream| {
        peer.frame(HEADERS, END_HEADERS, stream, OK_OF_SIX);
        peer.frame(DATA, END_STREAM, stream, b"own own POISON");
    }),
    ("less than its length, and another response", |peer, stream| {
        peer.frame(HEADERS, END_HEADERS, stream, OK_OF_SIX);
        peer.frame(DATA, END_STREAM, stream, b"own");
        poison(peer, stream);
    }),
    ("204 with DATA", |peer, stream| {
        peer.frame(HEADERS, END_HEADERS, stream, NO_CONTENT);
        peer.frame(DATA, END_STREAM, stream, POISON);
    }),
    ("304 with DATA", |peer, stream| {
        peer.frame(HEADERS, END_HEADERS, stream, NOT_MODIFIED);
        peer.frame(DATA, END_STREAM, stream, POISON);
    }),
    ("an informational response that ends the stream", |peer, stream| {
        peer.frame(HEADERS, END, stream, EARLY_HINTS);
        poison(peer, stream);
    }),
    ("DATA behind an informational response", |peer, stream| {
        peer.frame(HEADERS, END_HEADERS, stream, EARLY_HINTS);
        peer.frame(DATA, END_STREAM, stream, POISON);
    }),
    ("informational responses without end", |peer, stream| {
        (0..100_000).for_each(|_| peer.frame(HEADERS, END_HEADERS, stream, EARLY_HINTS));
    }),
];

fn settings(origin: &Scripted) -> UpstreamSettings {
    let mut settings = UpstreamSettings::new("test", vec![multiplexing_server(origin.address())]);
    settings.passive = PassiveSettings { failures: 0, ..PassiveSettings::default() };
    settings
}

/// A server that misbehaves with requests for `/bad`, and answers others with their paths.
fn misbehaving(misbehave: Misbehaviour) -> Scripted {
    Scripted::serve(Limits::default(), move |peer| {
        while let Some((stream, path)) = peer.request() {
            match &*path {
                "/bad" => misbehave(peer, stream.bits()),
                path => peer.answer(stream, path),
            }
        }
    })
}

#[test]
fn responses_reach_only_their_own_request() {
    for (name, misbehave) in MISBEHAVIOURS {
        for method in [Method::GET, Method::HEAD, Method::POST] {
            let origin = misbehaving(*misbehave);
            let proxied = Proxied::with(settings(&origin), ForwardingSettings::default());
            let attacker = Client::connect(proxied.address());
            let others: Vec<_> = (0..6).map(|_| Client::connect(proxied.address())).collect();
            // The connection is there, and the server's settings are.
            assert_eq!(attacker.response(attacker.get("/first")).text(), "/first");
            let bad = attacker.begin(method.clone(), "/bad", &[], BodyLength::Known(0));
            let streams: Vec<_> = others.iter().map(|client| client.get("/with")).collect();
            for round in ["/with", "/soon", "/later"] {
                for (client, stream) in others.iter().zip(&streams) {
                    let stream = if round == "/with" { *stream } else { client.get(round) };
                    let got = client.response(stream);
                    assert!(!got.text().contains("POISON"), "{name}, {method} {round}: {}", got.text());
                    // A client whose connection to the server ended may get 502, but no other client's response.
                    assert!(got.status == 502 || got.text() == round, "{name}, {method} {round}: {got:?}");
                }
            }
            // Its own exchange may have ended as well, but must not look like a complete response.
            attacker.leave(bad);
        }
    }
}

#[test]
fn a_response_to_a_request_that_the_client_left_reaches_no_other() {
    let origin = Scripted::serve(Limits::default(), |peer| {
        let Some((stream, _)) = peer.request() else { return };
        assert_eq!(peer.wait_for_reset(stream), ErrorCode::CANCEL);
        poison(peer, stream.bits());
        while let Some((stream, path)) = peer.request() {
            peer.answer(stream, &path);
        }
    });
    let proxied = Proxied::with(settings(&origin), ForwardingSettings::default());
    let (client, other) = (Client::connect(proxied.address()), Client::connect(proxied.address()));
    let left = client.get("/left");
    client.work_for(Duration::from_millis(100));
    client.leave(left);
    for _ in 0..6 {
        assert_eq!(other.response(other.get("/other")).text(), "/other");
    }
    assert_eq!(origin.connections(), 1);
}

#[test]
fn informational_responses_without_end_end_the_request() {
    let origin = Scripted::serve(Limits::default(), |peer| {
        while let Some((stream, path)) = peer.request() {
            let count = path.trim_start_matches('/').parse().unwrap();
            (0..count).for_each(|_| peer.frame(HEADERS, END_HEADERS, stream.bits(), EARLY_HINTS));
            if count < 1000 {
                peer.answer(stream, "at last");
            }
        }
    });
    let proxied = Proxied::with(settings(&origin), ForwardingSettings::default());
    let client = Client::connect(proxied.address());
    let began = Instant::now();
    for (path, status) in [("/64", 200), ("/65", 502), ("/10000", 502)] {
        let stream = client.begin(Method::POST, path, &[], BodyLength::Known(0));
        assert_eq!(client.response(stream).status, status, "{path}");
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn a_check_of_grpc_does_not_take_other_streams_for_its_answer() {
    // `HealthCheckResponse { status: SERVING }`, framed.
    const SERVING: &[u8] = &[0, 0, 0, 0, 2, 8, 1];
    let cases: [(&str, Misbehaviour, bool); 4] = [
        (
            "its own",
            |peer, stream| {
                peer.frame(HEADERS, END_HEADERS, stream, OK);
                peer.frame(DATA, END_STREAM, stream, SERVING);
            },
            true,
        ),
        (
            "another stream",
            |peer, stream| {
                peer.frame(HEADERS, END_HEADERS, stream + 2, OK);
                peer.frame(DATA, END_STREAM, stream + 2, SERVING);
            },
            false,
        ),
        (
            "a push",
            |peer, _| {
                peer.frame(HEADERS, END_HEADERS, 2, OK);
                peer.frame(DATA, END_STREAM, 2, SERVING);
            },
            false,
        ),
        (
            "informational responses without end",
            |peer, stream| {
                (0..10_000).for_each(|_| peer.frame(HEADERS, END_HEADERS, stream, EARLY_HINTS));
                peer.frame(HEADERS, END_HEADERS, stream, OK);
                peer.frame(DATA, END_STREAM, stream, SERVING);
            },
            false,
        ),
    ];
    for (name, misbehave, is_up) in cases {
        let origin = Scripted::serve(Limits::default(), move |peer| {
            while let Some((stream, _)) = peer.request() {
                misbehave(peer, stream.bits());
            }
        });
        let mut settings = settings(&origin);
        let kind = CheckKind::Grpc(String::new());
        settings.check = Some(CheckSettings { interval: Duration::from_millis(50), ..CheckSettings::new(kind) });
        let proxied = Proxied::with(settings, ForwardingSettings::default());
        let _background_tasks = BackgroundTasks::start(vec![proxied.upstream.clone()]).unwrap();
        crate::support::until(|| origin.connections() >= 5);
        let is_found_up = || proxied.upstream.report().servers[0].check.as_ref().is_some_and(|check| check.up);
        crate::support::until(|| is_found_up() == is_up);
        assert_eq!(is_found_up(), is_up, "{name}");
    }
}

//! Recordings of a server that does what a test wants.

use std::{future, io::Read, net::SocketAddr, time::Duration};

use http::Version;
use serow_client::{ClientEncryption, Destination, Dialer, TlsClientSettings, TlsConnector, Trust};
use serow_http2::{ErrorCode, StreamId};
use serow_load::waterfall::{
    Ending, FetchError, Outcome, Plan, Recording, Resource, Signals, fetch, read_resource_specs,
};
use tokio::sync::oneshot;

use super::peer::{NOT_FOUND, OK, Peer, serve};

const TIMEOUT: Duration = Duration::from_secs(20);

fn plan(address: SocketAddr, specs: &[&str]) -> Plan {
    let first = format!("http://{address}{}", specs[0]);
    let texts = [first.as_str()].into_iter().chain(specs[1..].iter().copied());
    let (origin, specs) = read_resource_specs(texts).unwrap();
    let dialer = Dialer { destination: Destination::Tcp(address), encryption: None, timeout: TIMEOUT };
    Plan {
        origin,
        dialer,
        version: Version::HTTP_2,
        specs,
        headers: Vec::new(),
        signals: Signals::Rfc9218,
        timeout: TIMEOUT,
    }
}

fn record(plan: &Plan) -> Result<Recording, FetchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(fetch(plan, future::pending()))
}

fn outcomes(recording: &Recording) -> Vec<Outcome> {
    recording.resources.iter().map(|resource| resource.outcome.clone()).collect()
}

#[test]
fn everything_is_asked_for_in_its_time() {
    let (address, server) = serve(|peer| {
        let asked: Vec<_> = (0..3).map(|_| peer.request()).collect();
        peer.urgency(asked[0].stream, 0);
        for (asked, status) in asked.iter().zip([OK, NOT_FOUND, OK]) {
            peer.head(asked.stream, status, false);
            peer.data(asked.stream, 100, 100, true);
        }
        peer.wait_for_the_end();
        asked
    });
    let mut plan = plan(address, &["/late,u=1,i,after=30ms", "/first,u=5,at=60ms,u=0", "/second?a"]);
    plan.headers.push(("priority".to_owned(), "u=7".to_owned()));
    let recording = record(&plan).unwrap();
    let asked = server.join().unwrap();
    let told = asked.iter().map(|asked| (asked.path.as_str(), asked.priority.as_deref()));
    let expected = [("/first", Some("u=5")), ("/second?a", Some("u=7")), ("/late", Some("u=1, i"))];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let [late, first, second] = &recording.resources[..] else { panic!("{recording:?}") };
    assert!(first.asked <= second.asked && second.asked < late.asked);
    assert!(late.asked.unwrap() >= Duration::from_millis(30));
    assert!(first.changes.len() == 1 && first.changes[0].0 >= Duration::from_millis(60));
    assert_eq!([first, second, late].map(|resource| resource.status), [Some(200), Some(404), Some(200)]);
    for resource in &recording.resources {
        assert!(resource.asked <= resource.head && resource.head <= resource.end && resource.bytes() == 100);
        assert!(resource.sent > Some(0) && resource.end.unwrap() <= recording.elapsed);
    }
    assert_eq!((recording.ending, recording.encryption), (Ending::Complete, None));
}

#[test]
fn a_frame_is_noted_as_it_comes() {
    let (address, server) = serve(|peer| {
        let first = peer.request().stream;
        peer.head(first, OK, false);
        peer.data(first, 1000, 400, true);
        // The client has nothing but the time to go by, so that it must have seen the first part.
        let second = peer.request().stream;
        peer.send(&[b'x'; 600]);
        peer.head(second, OK, true);
        peer.wait_for_the_end();
    });
    let recording = record(&plan(address, &["/a", "/b,after=500ms"])).unwrap();
    server.join().unwrap();
    let [first, second] = &recording.resources[..] else { panic!("{recording:?}") };
    let pieces: Vec<_> = first.pieces.iter().map(|piece| piece.bytes).collect();
    assert_eq!((pieces.iter().sum::<u64>(), pieces.last()), (1000, Some(&600)), "{pieces:?}");
    let before = first.pieces.iter().filter(|piece| piece.moment < second.asked.unwrap());
    assert_eq!(before.map(|piece| piece.bytes).sum::<u64>(), 400);
    let places: Vec<_> = first.pieces.iter().map(|piece| piece.place).collect();
    assert!(places.is_sorted() && places[places.len() - 1] >= 400 + 9, "{places:?}");
    assert_eq!((second.bytes(), &second.outcome), (0, &Outcome::Whole));
}

#[test]
fn a_server_that_allows_one_at_a_time() {
    let (address, server) = serve(|peer| {
        let first = peer.request();
        // SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 §6.5.2).
        peer.send(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1]);
        peer.head(first.stream, OK, true);
        let second = peer.request();
        peer.head(second.stream, OK, true);
        let third = peer.request();
        peer.head(third.stream, OK, true);
        peer.wait_for_the_end();
    });
    let recording = record(&plan(address, &["/a", "/b,after=500ms", "/c,after=500ms"])).unwrap();
    server.join().unwrap();
    assert_eq!(outcomes(&recording), [Outcome::Whole, Outcome::Whole, Outcome::Whole]);
    assert!(recording.resources[2].asked >= recording.resources[1].end, "{recording:?}");
}

#[test]
fn older_signals() {
    let (address, server) = serve(|peer| {
        let asked: Vec<_> = (0..3).map(|_| peer.request()).collect();
        asked.iter().for_each(|asked| peer.head(asked.stream, OK, true));
        peer.wait_for_the_end();
        asked
    });
    let plan = Plan { signals: Signals::Rfc7540, ..plan(address, &["/a,u=5", "/b,u=1", "/c"]) };
    assert_eq!(record(&plan).unwrap().missing(), 0);
    let asked = server.join().unwrap();
    assert_eq!(asked.iter().map(|asked| asked.urgency).collect::<Vec<_>>(), [5, 1, 3]);
    assert!(asked.iter().all(|asked| asked.priority.is_none()), "{asked:?}");
}

/// The cases: how a server treats three requests, the last of which comes later; the end of the connection, and the
/// outcomes.
#[test]
fn streams_and_connections_that_end_early_are_recorded() {
    type Case = (fn(&mut Peer, [StreamId; 2]), Option<&'static str>, [Outcome; 3], [u64; 3]);
    let cases: [Case; 4] = [
        (
            |peer, [first, second]| {
                peer.reset(first, ErrorCode::INTERNAL_ERROR);
                peer.reset(second, ErrorCode::REFUSED_STREAM);
                let third = peer.request().stream;
                peer.head(third, OK, true);
                peer.wait_for_the_end();
            },
            None,
            [Outcome::Reset(ErrorCode::INTERNAL_ERROR.to_string()), Outcome::Refused, Outcome::Whole],
            [100, 0, 0],
        ),
        (
            |peer, [first, _]| {
                peer.data(first, 100, 50, false);
                peer.leave();
            },
            Some("the server closed the connection"),
            [Outcome::Incomplete, Outcome::Incomplete, Outcome::Unasked],
            [150, 0, 0],
        ),
        (
            |peer, [first, second]| {
                peer.go_away(second, ErrorCode::ENHANCE_YOUR_CALM);
                peer.data(first, 10, 10, true);
                peer.leave();
            },
            Some("the server ended the connection with ENHANCE_YOUR_CALM"),
            [Outcome::Whole, Outcome::Incomplete, Outcome::Unasked],
            [110, 0, 0],
        ),
        (
            |peer, [first, second]| {
                peer.go_away(second, ErrorCode::NO_ERROR);
                peer.data(first, 10, 10, true);
                peer.head(second, OK, true);
                peer.wait_for_the_end();
            },
            None,
            [Outcome::Whole, Outcome::Whole, Outcome::Refused],
            [110, 0, 0],
        ),
    ];
    for (number, (script, broken, expected, bytes)) in cases.into_iter().enumerate() {
        let (address, server) = serve(move |peer| {
            let streams = [peer.request().stream, peer.request().stream];
            peer.head(streams[0], OK, false);
            peer.data(streams[0], 100, 100, false);
            script(peer, streams);
        });
        // Never, where the connection is to end before.
        let third = if broken.is_some() { "/c,after=1h" } else { "/c,after=100ms" };
        let recording = record(&plan(address, &["/a", "/b,u=1", third])).unwrap();
        server.join().unwrap();
        let ending = broken.map_or(Ending::Complete, |broken| Ending::Broken(broken.to_owned()));
        assert_eq!((&recording.ending, outcomes(&recording)), (&ending, expected.to_vec()), "case {number}");
        assert_eq!(recording.resources.iter().map(Resource::bytes).collect::<Vec<_>>(), bytes, "case {number}");
    }
}

#[test]
fn silence() {
    let (address, server) = serve(|peer| {
        let asked = peer.request();
        peer.head(asked.stream, OK, false);
        peer.wait_for_the_end();
    });
    let timeout = Duration::from_millis(100);
    let recording = record(&Plan { timeout, ..plan(address, &["/a", "/b,after=1h"]) }).unwrap();
    server.join().unwrap();
    assert_eq!(recording.ending, Ending::Silence(timeout));
    assert_eq!(outcomes(&recording), [Outcome::Incomplete, Outcome::Unasked]);
    assert!(recording.elapsed >= timeout);
}

#[test]
fn somebody_stops_it() {
    let (asking, asked) = oneshot::channel();
    let (address, server) = serve(move |peer| {
        peer.request();
        asking.send(()).unwrap();
        peer.wait_for_the_end();
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let plan = plan(address, &["/a"]);
    let recording = runtime.block_on(fetch(&plan, async { asked.await.unwrap() })).unwrap();
    server.join().unwrap();
    assert_eq!((&recording.ending, recording.missing()), (&Ending::Interrupted, 1));

    // While it waits for TLS, from a server that says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let connector = TlsConnector::new(TlsClientSettings { trust: Trust::Unchecked, ..Default::default() }).unwrap();
    let encryption = ClientEncryption { connector, server_name: "localhost".to_owned(), protocol: None };
    let destination = Destination::Tcp(listener.local_addr().unwrap());
    let plan = Plan { dialer: Dialer { destination, encryption: Some(encryption), timeout: TIMEOUT }, ..plan };
    let (greeting, greeted) = oneshot::channel();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0]).unwrap();
        greeting.send(()).unwrap();
        stream
    });
    let error = runtime.block_on(fetch(&plan, async { greeted.await.unwrap() })).unwrap_err();
    server.join().unwrap();
    assert!(matches!(error, FetchError::Interrupted), "{error:?}");
}

#[test]
fn a_server_that_does_not_speak_http2_is_refused() {
    // The answer may be there before anything is asked for.
    for spec in ["/a", "/a,after=20ms"] {
        let (address, server) = serve(|peer| {
            peer.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
            peer.wait_for_the_end();
        });
        let error = record(&plan(address, &[spec])).unwrap_err().to_string();
        server.join().unwrap();
        assert_eq!(error, "the server does not speak HTTP/2; its response begins with \"HTTP/1.1 400 Bad Request\"");
    }

    let (address, server) = serve(|peer| peer.leave());
    let error = record(&plan(address, &["/a"])).unwrap_err().to_string();
    server.join().unwrap();
    assert_eq!(error, "the server closes the connection without a response in HTTP/2");

    let address = serow_ports::refusing_address();
    assert!(matches!(record(&plan(address, &["/a"])), Err(FetchError::Connection(_))));
}

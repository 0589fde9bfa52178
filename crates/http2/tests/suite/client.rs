//! A client's handling of what only a server of HTTP/2 does, and what it sends only to one.

use bytes::BytesMut;
use serow_http2::{Asking, BodyLength, Event, Limits, Server, StreamId, frame::Dependency};
use serow_message::{Headers, Method, Priority, RequestHead, Target, Version};

use crate::machine::client::{NOW, Served, check_mistakes};

#[test]
fn mistakes_of_servers() {
    check_mistakes(&[
        (
            "RFC 9113 §8.1: only 103",
            &["HEADERS 1 | :status: 103", "DATA 1 end"],
            &["response 103 end None", "reset PROTOCOL_ERROR"],
        ),
        ("RFC 9113 §5.1: DATA before HEADERS", &["DATA 1 abc"], &["reset PROTOCOL_ERROR"]),
        ("RFC 9113 §8.4: PUSH_PROMISE", &["BYTES 00 00 04 05 04 00 00 00 01 00 00 00 02"], &["close PROTOCOL_ERROR"]),
        ("RFC 9113 §5.1: a stream that is idle", &["HEADERS 3 | :status: 200"], &["close PROTOCOL_ERROR"]),
        ("RFC 9113 §6.5.2: SETTINGS_ENABLE_PUSH of a server", &["SETTINGS 2=1"], &["close PROTOCOL_ERROR"]),
    ]);
}

#[test]
fn a_ping_brings_no_event() {
    let mut served = Served::begun(Limits::default());
    served.client.send_ping();
    let mut output = Vec::new();
    served.client.write_control(&mut output);
    assert_eq!(output.len(), 17);
    // The acknowledgement has the same payload.
    output[4] = 1;
    assert!(served.client.receive(&mut BytesMut::from(&output[..]), NOW).expect("an answer").is_none());
    assert!(!served.client.has_control());
}

/// Servers measure the link by a PING for each message that they get, and give windows back.
#[test]
fn answers_to_sent_data_do_not_count_against_the_server() {
    let mut served = Served::begun(Limits { idle_frames: 10, ..Limits::default() });
    let stream = served.ask(Method::POST, BodyLength::Unknown);
    for _ in 0..1000 {
        served.client.write_data(stream, b"message", false, &mut Vec::new()).expect("a window");
        assert_eq!(served.told(&["PING 12345678"]), [""; 0]);
    }
    // Frames that no data called for do count.
    let flood = ["PING 12345678", "WINDOW_UPDATE 0 1"].repeat(20);
    assert_eq!(served.told(&flood), ["close ENHANCE_YOUR_CALM"]);
}

#[test]
fn a_dependency_carries_the_urgency_to_older_servers() {
    let mut client = Served::new(Limits::default()).client;
    let mut server = Server::new(Limits::default(), NOW);
    let target = Target::parse("https://a/".into(), false).expect("a target");
    let head = RequestHead { method: Method::GET, target, version: Version::HTTP_2, headers: Headers::new() };
    let mut input = Vec::new();
    for (weight, urgency) in [(256, 0), (147, 3), (1, 7)] {
        let dependency = Some(Dependency { on: StreamId::CONNECTION, weight, exclusive: true });
        let stream = client.open(&head, BodyLength::Known(0), Asking { dependency, ..Asking::default() });
        client.write_control(&mut input);
        let event = server.receive(&mut BytesMut::from(&std::mem::take(&mut input)[..]), NOW);
        assert!(matches!(event, Ok(Some(Event::Request(_)))), "{event:?}");
        let priority = server.priority(stream.expect("a stream"));
        assert_eq!(priority, Priority { urgency, incremental: false });
    }
}

//! The requests of a client, and the frames that it takes from its server.

use core::time::Duration;

use bytes::BytesMut;
use serow_http2::{
    Asking, BodyLength, BodyOrder, Client, ErrorCode, Event, Limits, OpenError, Server, Settings, StreamId,
    frame::{self, Dependency},
};
use serow_message::{Headers, Method, Priority, RequestHead, Target, Version};

const NOW: Duration = Duration::from_secs(1);

fn head(fields: &[(&str, &str)]) -> RequestHead {
    let mut headers = Headers::new();
    for (name, value) in [("host", "a")].iter().chain(fields) {
        headers.append(*name, *value).expect("a field");
    }
    let target = Target::parse("/".into(), false).expect("a target");
    RequestHead { method: Method::POST, target, version: Version::HTTP_2, headers }
}

/// A client whose server has said these settings.
fn introduced(limits: Limits, settings: Settings) -> Client {
    let mut client = Client::new(limits, NOW);
    assert!(!client.has_settings());
    let mut bytes = Vec::new();
    settings.write(&mut bytes);
    assert!(client.receive(&mut BytesMut::from(&bytes[..]), NOW).expect("settings").is_none());
    assert!(client.has_settings());
    client.write_control(&mut Vec::new());
    client
}

#[test]
fn bodies_go_by_priority_or_in_turns() {
    for (order, expected) in [(BodyOrder::ByPriority, [3, 3, 3]), (BodyOrder::InTurns, [1, 3, 1])] {
        let mut client = introduced(Limits::default(), Settings::default());
        let asking = Asking { order, ..Asking::default() };
        for urgency in ["u=3", "u=0"] {
            let stream = client.open(&head(&[("priority", urgency)]), BodyLength::Unknown, asking).expect("room");
            client.set_ready(stream, true);
        }
        let found = expected.map(|_| {
            let turn = client.next_turn(usize::MAX).expect("a turn");
            client.write_data(turn.stream, &vec![0; turn.bytes], false, &mut Vec::new()).expect("its turn");
            turn.stream.get()
        });
        assert_eq!(found, expected, "{order:?}");
    }
}

#[test]
fn a_ping_brings_no_event() {
    let mut client = introduced(Limits::default(), Settings::default());
    client.send_ping();
    let mut output = Vec::new();
    client.write_control(&mut output);
    assert_eq!(output.len(), 17);
    // The acknowledgement has the same payload.
    output[4] = 1;
    assert!(client.receive(&mut BytesMut::from(&output[..]), NOW).expect("an answer").is_none());
    assert!(!client.has_control());
}

#[test]
fn room_is_what_the_server_allows() {
    let mut client = introduced(Limits::default(), Settings { max_concurrent_streams: Some(1), ..Settings::default() });
    assert_eq!(client.check_room(), Ok(()));
    let stream = client.open(&head(&[]), BodyLength::Known(0), Asking::default()).expect("room");
    assert_eq!(client.check_room(), Err(OpenError::WouldBlock));
    client.reset(stream, ErrorCode::CANCEL);
    assert_eq!(client.check_room(), Ok(()));
    client.begin_shutdown();
    assert_eq!(client.check_room(), Err(OpenError::GoAway));
}

/// Servers measure the link by a PING for each message that they get, and give windows back.
#[test]
fn answers_to_sent_data_do_not_count_against_the_server() {
    let mut client = introduced(Limits { idle_frames: 10, ..Limits::default() }, Settings::default());
    let stream = client.open(&head(&[]), BodyLength::Unknown, Asking::default()).expect("room");
    let mut ping = Vec::new();
    frame::write_ping(*b"12345678", false, &mut ping);
    for _ in 0..1000 {
        client.write_data(stream, b"message", false, &mut Vec::new()).expect("a window");
        assert!(client.receive(&mut BytesMut::from(&ping[..]), NOW).expect("an answer").is_none());
        client.write_control(&mut Vec::new());
    }
    // Frames that no data called for do count.
    frame::write_window_update(StreamId::CONNECTION, 1, &mut ping);
    let flood = ping.repeat(20);
    assert!(client.receive(&mut BytesMut::from(&flood[..]), NOW).is_err());
}

#[test]
fn a_dependency_carries_the_urgency_to_older_servers() {
    let (mut client, mut server) = (Client::new(Limits::default(), NOW), Server::new(Limits::default(), NOW));
    let mut input = Vec::new();
    for (weight, urgency) in [(256, 0), (147, 3), (1, 7)] {
        let dependency = Some(Dependency { on: StreamId::CONNECTION, weight, exclusive: true });
        let stream = client.open(&head(&[]), BodyLength::Known(0), Asking { dependency, ..Asking::default() });
        client.write_control(&mut input);
        let event = server.receive(&mut BytesMut::from(&std::mem::take(&mut input)[..]), NOW);
        assert!(matches!(event, Ok(Some(Event::Request(_)))), "{event:?}");
        let priority = server.priority(stream.expect("a stream"));
        assert_eq!(priority, Priority { urgency, incremental: false });
    }
}

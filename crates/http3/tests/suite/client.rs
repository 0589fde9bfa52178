//! A client's handling of what only a server of HTTP/3 does.

use serow_http3::{BodyLength, ErrorCode, Limits, StreamOrder};
use serow_message::Method;

use crate::machine::client::{Served, check_mistakes};

#[test]
fn mistakes_of_servers() {
    check_mistakes(&[
        ("RFC 9114 §4.6: PUSH_PROMISE", &["FRAME 0 05 00"], &["close H3_ID_ERROR"]),
        ("RFC 9114 §4.6: a push stream", &["BYTES 15 01"], &["close H3_ID_ERROR"]),
        ("RFC 9114 §7.2.7: MAX_PUSH_ID", &["FRAME 3 0d 00"], &["close H3_FRAME_UNEXPECTED"]),
        ("RFC 9218 §7.2: PRIORITY_UPDATE", &["FRAME 3 f0700 00"], &["close H3_FRAME_UNEXPECTED"]),
        ("RFC 9114 §7.2.3: CANCEL_PUSH", &["FRAME 3 03 00"], &["close H3_ID_ERROR"]),
        ("RFC 9114 §7.2.6: GOAWAY with a push", &["FRAME 3 07 02"], &["close H3_ID_ERROR"]),
        ("RFC 9114 §5.2: GOAWAY grows", &["FRAME 3 07 04", "FRAME 3 07 08"], &["goaway", "close H3_ID_ERROR"]),
        ("RFC 9114 §6.1: a bidirectional stream", &["BYTES 1 00"], &["close H3_STREAM_CREATION_ERROR"]),
        ("RFC 9114 §6.2.1: the control stream ends", &["END 3"], &["close H3_CLOSED_CRITICAL_STREAM"]),
        ("RFC 9114 §4.1: DATA before HEADERS", &["DATA 0 abc"], &["close H3_FRAME_UNEXPECTED"]),
        ("RFC 9114 §7.1: an end within a frame", &["BYTES 0 end 01 02"], &["close H3_FRAME_ERROR"]),
        ("RFC 9114 §4.1: no response", &["END 0"], &["reset H3_MESSAGE_ERROR"]),
        (
            "RFC 9114 §4.1: only 103",
            &["HEADERS 0 | :status: 103", "END 0"],
            &["response 103 end None", "reset H3_MESSAGE_ERROR"],
        ),
        (
            "RFC 9114 §4.1.2: less than content-length",
            &["HEADERS 0 | :status: 200 | content-length: 4", "DATA 0 end abc"],
            &["response 200 Some(4)", "data abc", "reset H3_MESSAGE_ERROR"],
        ),
        ("a head without end", &["BYTES 0 01 80 ff ff ff"], &["reset H3_EXCESSIVE_LOAD"]),
    ]);
}

#[test]
fn a_tunnel_has_no_trailers() {
    let mut served = Served::begun(Limits::default());
    served.ask(Method::CONNECT, BodyLength::Unknown);
    let lines = ["HEADERS 0 | :status: 200", "HEADERS 0 | x: 1"];
    assert_eq!(served.told(&lines), ["response 200 None", "close H3_FRAME_UNEXPECTED"]);
}

#[test]
fn a_server_that_does_without_the_rest_of_a_request() {
    // RFC 9114 §4.1: STOP_SENDING with H3_NO_ERROR; the response is whole nevertheless.
    let mut served = Served::begun(Limits::default());
    let stream = served.ask(Method::POST, BodyLength::Unknown);
    served.client.set_ready(stream, true);
    assert!(served.client.next_turn(10).is_some());
    assert_eq!(served.told(&["STOP 0 100"]), [""; 0]);
    let client = &mut served.client;
    let reset = StreamOrder::Reset { stream, code: ErrorCode::NO_ERROR };
    assert_eq!((client.next_order(), client.next_order(), client.next_turn(10)), (Some(reset), None, None));
    assert!(client.write_data(stream, b"x", false, &mut Vec::new()).is_err());
    assert_eq!(served.told(&["HEADERS 0 end | :status: 413"]), ["response 413 end None"]);
    assert_eq!(served.client.active_streams(), 0);
}

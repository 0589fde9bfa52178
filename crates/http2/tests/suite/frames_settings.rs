//! The values that peers may set (RFC 9113 §6.5.2, RFC 8441 §3, RFC 9218 §2.1).

use bytes::BytesMut;
use serow_http2::{
    Applied, ErrorCode, ProtocolError, Sender, Settings, SettingsUpdate, StreamId,
    frame::{self, Frame, FrameHeader, Kind},
};

const TABLE: u16 = 1;
const PUSH: u16 = 2;
const STREAMS: u16 = 3;
const WINDOW: u16 = 4;
const FRAME: u16 = 5;
const LIST: u16 = 6;
const CONNECT: u16 = 8;
const PRIORITIES: u16 = 9;

/// Identifiers and values of frames in a row.
type Frames<'a> = &'a [&'a [(u16, u32)]];

/// As it comes from a peer.
fn update(values: &[(u16, u32)]) -> SettingsUpdate {
    let mut output = Vec::new();
    FrameHeader { length: 6 * values.len(), kind: Kind::SETTINGS, flags: 0, stream: StreamId::CONNECTION }
        .write(&mut output);
    for (identifier, value) in values {
        output.extend_from_slice(&identifier.to_be_bytes());
        output.extend_from_slice(&value.to_be_bytes());
    }
    match frame::take(&mut BytesMut::from(&output[..]), 16_384) {
        Ok(Some(Frame::Settings { settings })) => settings,
        other => panic!("{other:?}"),
    }
}

/// The settings after these frames, and the consequences of the last.
fn apply(from: Sender, frames: Frames) -> Result<(Settings, Applied), ErrorCode> {
    let mut settings = Settings::default();
    let mut last = Applied::default();
    for values in frames {
        let before = settings;
        match settings.apply(&update(values), from) {
            Ok(applied) => last = applied,
            Err(ProtocolError::Connection { code, .. }) => {
                assert_eq!(settings, before, "an error changes nothing");
                return Err(code);
            }
            Err(error) => panic!("{error} reaches a stream"),
        }
    }
    Ok((settings, last))
}

/// The settings after a first SETTINGS frame without values.
fn silent() -> Settings {
    Settings { no_rfc7540_priorities: Some(false), ..Settings::default() }
}

#[test]
fn every_setting() {
    let values = [
        (TABLE, 0),
        (PUSH, 0),
        (STREAMS, 100),
        (WINDOW, 0x7fff_ffff),
        (FRAME, 0xff_ffff),
        (LIST, 0),
        (CONNECT, 1),
        (PRIORITIES, 1),
    ];
    let expected = Settings {
        header_table_size: 0,
        enable_push: false,
        max_concurrent_streams: Some(100),
        initial_window_size: 0x7fff_ffff,
        max_frame_size: 0xff_ffff,
        max_header_list_size: Some(0),
        enable_connect_protocol: true,
        no_rfc7540_priorities: Some(true),
    };
    let applied = Applied { smallest_header_table: Some(0) };
    for from in [Sender::Client, Sender::Server] {
        assert_eq!(apply(from, &[&values]), Ok((expected, applied)));
        // Said once more, and not said again: nothing changes.
        assert_eq!(apply(from, &[&values, &values]), Ok((expected, applied)));
        assert_eq!(apply(from, &[&values, &[]]), Ok((expected, Applied::default())));
    }
}

#[test]
fn good_values() {
    let cases: [(Frames, Settings); 9] = [
        (&[&[]], silent()),
        (&[&[(PUSH, 1)]], silent()),
        (&[&[(WINDOW, 0)]], Settings { initial_window_size: 0, ..silent() }),
        (&[&[(FRAME, 16_384)]], silent()),
        (&[&[(STREAMS, 0)]], Settings { max_concurrent_streams: Some(0), ..silent() }),
        // Unknown ones, whatever their value; 7 is nobody's.
        (&[&[(0, 9), (7, u32::MAX), (10, 2), (0xffff, u32::MAX)]], silent()),
        // The same one several times: the last wins.
        (&[&[(WINDOW, 5), (STREAMS, 1), (WINDOW, 7), (STREAMS, 2)]], {
            Settings { initial_window_size: 7, max_concurrent_streams: Some(2), ..silent() }
        }),
        (&[&[(CONNECT, 0)], &[(CONNECT, 1)]], Settings { enable_connect_protocol: true, ..silent() }),
        // A setting that the first SETTINGS left at 0 may be set to 0 later.
        (&[&[], &[(PRIORITIES, 0)]], silent()),
    ];
    for (frames, expected) in cases {
        assert_eq!(apply(Sender::Client, frames).map(|(settings, _)| settings), Ok(expected), "{frames:?}");
    }
}

#[test]
fn wrong_values() {
    let cases: [(Frames, ErrorCode); 17] = [
        (&[&[(PUSH, 2)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[(PUSH, u32::MAX)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[(WINDOW, 0x8000_0000)]], ErrorCode::FLOW_CONTROL_ERROR),
        (&[&[(WINDOW, u32::MAX)]], ErrorCode::FLOW_CONTROL_ERROR),
        (&[&[(FRAME, 16_383)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[(FRAME, 0)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[(FRAME, 0x100_0000)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[(CONNECT, 2)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[(PRIORITIES, 2)]], ErrorCode::PROTOCOL_ERROR),
        // Wrong though a right one follows, or stands before.
        (&[&[(FRAME, 0), (FRAME, 16_384)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[(TABLE, 0), (STREAMS, 1), (PUSH, 2)]], ErrorCode::PROTOCOL_ERROR),
        // Taken back, in one frame or two.
        (&[&[(CONNECT, 1)], &[(CONNECT, 0)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[(CONNECT, 1), (CONNECT, 0)]], ErrorCode::PROTOCOL_ERROR),
        // Changed after the first SETTINGS, whatever stands between.
        (&[&[(PRIORITIES, 1)], &[(PRIORITIES, 0)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[(PRIORITIES, 0)], &[(PRIORITIES, 1)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[], &[(PRIORITIES, 1)]], ErrorCode::PROTOCOL_ERROR),
        (&[&[(PRIORITIES, 1)], &[], &[(PRIORITIES, 0)]], ErrorCode::PROTOCOL_ERROR),
    ];
    for (frames, expected) in cases {
        for from in [Sender::Client, Sender::Server] {
            assert_eq!(apply(from, frames), Err(expected), "{frames:?}");
        }
    }
}

/// RFC 9113 §6.5.2: a server must not set it to 1.
#[test]
fn pushes_of_servers() {
    assert_eq!(apply(Sender::Server, &[&[(PUSH, 1)]]), Err(ErrorCode::PROTOCOL_ERROR));
    let (settings, _) = apply(Sender::Server, &[&[(PUSH, 0)]]).expect("a server may set it to 0");
    assert_eq!(settings, Settings { enable_push: false, ..silent() });
}

/// RFC 7541 §4.2: the encoder announces the smallest size that was set in between.
#[test]
fn smallest_header_table() {
    let cases: [(Frames, u32, Option<u32>); 5] = [
        (&[&[(STREAMS, 7)]], 4_096, None),
        (&[&[(TABLE, 4_096)]], 4_096, Some(4_096)),
        (&[&[(TABLE, 0), (TABLE, 4_096)]], 4_096, Some(0)),
        (&[&[(TABLE, 300), (STREAMS, 7), (TABLE, 100), (TABLE, 65_536)]], 65_536, Some(100)),
        // Of the last frame only.
        (&[&[(TABLE, 0)], &[(TABLE, 200)]], 200, Some(200)),
    ];
    for (frames, last, smallest) in cases {
        let (settings, applied) = apply(Sender::Client, frames).expect("good settings");
        assert_eq!((settings.header_table_size, applied.smallest_header_table), (last, smallest), "{frames:?}");
    }
}

/// A server's first frame with what it usually sets, byte for byte.
#[test]
fn written() {
    let mut output = Vec::from(*b"before");
    Settings::default().write(&mut output);
    assert_eq!(output, b"before\0\0\0\x04\0\0\0\0\0");
    let settings = Settings {
        max_concurrent_streams: Some(128),
        initial_window_size: 65_536,
        enable_connect_protocol: true,
        no_rfc7540_priorities: Some(true),
        ..Settings::default()
    };
    output.clear();
    settings.write(&mut output);
    let values = b"\0\x03\0\0\0\x80\0\x04\0\x01\0\0\0\x08\0\0\0\x01\0\x09\0\0\0\x01";
    assert_eq!(output, [&b"\0\0\x18\x04\0\0\0\0\0"[..], values].concat());
}

//! Property tests: frames that were written are read back the same, wherever the bytes are split.

use crate::frames::taken::{take_split, take_whole};
use bytes::Bytes;
use proptest::{collection::vec, prelude::*};
use serow_http2::{
    ErrorCode, Sender, Settings, StreamId,
    frame::{self, Dependency, Frame, FrameHeader, Kind, flags},
};

fn stream() -> impl Strategy<Value = StreamId> {
    (1u32..1 << 31).prop_map(StreamId::new)
}

fn code() -> impl Strategy<Value = ErrorCode> {
    prop_oneof![(0u32..16).prop_map(ErrorCode), any::<u32>().prop_map(ErrorCode)]
}

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

/// A frame that is written by a function of its own.
fn frame() -> impl Strategy<Value = Frame> {
    let or_connection = prop_oneof![Just(StreamId::CONNECTION), stream()];
    prop_oneof![
        (stream(), bytes(), any::<bool>()).prop_map(|(stream, data, end_stream)| Frame::Data {
            stream,
            data,
            end_stream,
            padding: 0
        }),
        (stream(), code()).prop_map(|(stream, code)| Frame::ResetStream { stream, code }),
        Just(Frame::SettingsAck),
        (any::<[u8; 8]>(), any::<bool>()).prop_map(|(payload, ack)| Frame::Ping { payload, ack }),
        (stream(), code(), bytes()).prop_map(|(last_stream, code, debug)| Frame::GoAway { last_stream, code, debug }),
        (or_connection, 1u32..1 << 31).prop_map(|(stream, increment)| Frame::WindowUpdate { stream, increment }),
        (stream(), bytes()).prop_map(|(stream, value)| Frame::PriorityUpdate { stream, value }),
    ]
}

fn write(frame: &Frame, output: &mut Vec<u8>) {
    match frame {
        Frame::Data { stream, data, end_stream, .. } => {
            frame::write_data_header(*stream, data.len(), *end_stream, output);
            output.extend_from_slice(data);
        }
        Frame::ResetStream { stream, code } => frame::write_reset_stream(*stream, *code, output),
        Frame::SettingsAck => frame::write_settings_ack(output),
        Frame::Ping { payload, ack } => frame::write_ping(*payload, *ack, output),
        Frame::GoAway { last_stream, code, debug } => frame::write_go_away(*last_stream, *code, debug, output),
        Frame::WindowUpdate { stream, increment } => frame::write_window_update(*stream, *increment, output),
        Frame::PriorityUpdate { stream, value } => frame::write_priority_update(*stream, value, output),
        _ => unreachable!("{frame:?} is not among those made"),
    }
}

fn settings() -> impl Strategy<Value = Settings> {
    // Values that are the defaults, too.
    let number = || prop_oneof![Just(4_096), any::<u32>()];
    let window = prop_oneof![Just(65_535), 0..=0x7fff_ffffu32];
    let frame = prop_oneof![Just(16_384), 16_384..=0xff_ffffu32];
    let limits = (any::<Option<u32>>(), any::<Option<u32>>());
    (number(), any::<bool>(), limits, window, frame, any::<bool>(), any::<bool>()).prop_map(
        |(table, push, (streams, list), window, frame, connect, priorities)| Settings {
            header_table_size: table,
            enable_push: push,
            max_concurrent_streams: streams,
            initial_window_size: window,
            max_frame_size: frame,
            max_header_list_size: list,
            enable_connect_protocol: connect,
            no_rfc7540_priorities: Some(priorities),
        },
    )
}

/// A frame that we never send: with padding around its payload, which a priority may begin.
fn padded(header: FrameHeader, priority: Option<Dependency>, payload: &[u8], padding: Option<u8>) -> Vec<u8> {
    let mut body = Vec::from_iter(padding);
    if let Some(Dependency { on, weight, exclusive }) = priority {
        body.extend_from_slice(&(on.bits() | u32::from(exclusive) << 31).to_be_bytes());
        body.push(u8::try_from(weight - 1).expect("a weight"));
    }
    body.extend_from_slice(payload);
    body.extend(vec![0xaa; padding.unwrap_or(0).into()]);
    let mut output = Vec::new();
    FrameHeader { length: body.len(), ..header }.write(&mut output);
    output.extend_from_slice(&body);
    output
}

proptest! {
    #[test]
    fn frames(frames in vec(frame(), 1..8), parts in vec(0.0..1.0f64, 0..5)) {
        let mut output = Vec::new();
        for frame in &frames {
            write(frame, &mut output);
        }
        let mut places: Vec<usize> = parts.iter().map(|part| (part * output.len() as f64) as usize).collect();
        places.sort_unstable();
        let seen = take_split(&output, places, 16_384);
        prop_assert_eq!(&seen.frames, &frames);
        prop_assert_eq!(seen.lines.len(), frames.len());
    }

    #[test]
    fn settings_of_a_client(settings in settings()) {
        let mut output = Vec::new();
        settings.write(&mut output);
        let seen = take_whole(&output, 16_384);
        let [Frame::Settings { settings: update }] = &seen.frames[..] else { panic!("{seen:?}") };
        let mut applied = Settings::default();
        applied.apply(update, Sender::Client).expect("good settings");
        prop_assert_eq!(applied, settings);
        let defaults = Settings::default();
        let changed = [
            settings.header_table_size != defaults.header_table_size,
            settings.enable_push != defaults.enable_push,
            settings.max_concurrent_streams.is_some(),
            settings.initial_window_size != defaults.initial_window_size,
            settings.max_frame_size != defaults.max_frame_size,
            settings.max_header_list_size.is_some(),
            settings.enable_connect_protocol,
            settings.no_rfc7540_priorities == Some(true),
        ];
        prop_assert_eq!(update.iter().count(), changed.into_iter().filter(|&changed| changed).count());
    }

    #[test]
    fn field_blocks(
        before in vec(any::<u8>(), 0..20),
        block in vec(any::<u8>(), 0..400),
        largest in 1usize..200,
        stream in stream(),
        end_stream: bool,
    ) {
        let mut output = before.clone();
        let start = frame::begin_headers(&mut output);
        output.extend_from_slice(&block);
        frame::finish_headers(start, stream, end_stream, largest, &mut output);
        let frames = output.strip_prefix(&before[..]).expect("what stood before stays");
        check_block(&take_whole(frames, largest).frames, &block, largest, stream, end_stream);
    }

    #[test]
    fn dependent_field_blocks(
        block in vec(any::<u8>(), 0..40),
        stream in stream(),
        (on, weight, exclusive) in any::<(u32, u8, bool)>(),
        end_stream: bool,
    ) {
        let dependency = Dependency { on: StreamId::new(on), weight: u16::from(weight) + 1, exclusive };
        let mut output = Vec::new();
        let start = frame::begin_dependent_headers(dependency, &mut output);
        output.extend_from_slice(&block);
        frame::finish_headers(start, stream, end_stream, 30, &mut output);
        let frames = take_whole(&output, 30).frames;
        let Frame::Headers { stream: of, block: beginning, end_stream: ends, end_headers, priority } = &frames[0] else {
            panic!("{frames:?}")
        };
        prop_assert_eq!((of, ends, priority), (&stream, &end_stream, &Some(dependency)));
        // The dependency takes five of the frame's bytes.
        prop_assert_eq!(&beginning[..], &block[..block.len().min(25)]);
        prop_assert_eq!(*end_headers, block.len() <= 25);
        prop_assert_eq!(frames.len(), if block.len() <= 25 { 1 } else { 2 });
    }

    #[test]
    fn padding(
        stream in stream(),
        payload in bytes(),
        padding: Option<u8>,
        priority: Option<(u32, u8, bool)>,
        set: u8,
    ) {
        let priority = priority.map(|(on, weight, exclusive)| Dependency {
            on: StreamId::new(on),
            weight: u16::from(weight) + 1,
            exclusive,
        });
        let unset = set & !(flags::PADDED | flags::PRIORITY);
        let flags = unset | if padding.is_some() { flags::PADDED } else { 0 };
        let header = FrameHeader { length: 0, kind: Kind::DATA, flags, stream };
        let seen = take_whole(&padded(header, None, &payload, padding), 16_384);
        let end_stream = flags & flags::END_STREAM != 0;
        let bytes = padding.map_or(0, |padding| usize::from(padding) + 1);
        prop_assert_eq!(seen.frames, [Frame::Data { stream, data: payload.clone(), end_stream, padding: bytes }]);

        let flags = flags | if priority.is_some() { flags::PRIORITY } else { 0 };
        let header = FrameHeader { kind: Kind::HEADERS, flags, ..header };
        let seen = take_whole(&padded(header, priority, &payload, padding), 16_384);
        let end_headers = flags & flags::END_HEADERS != 0;
        prop_assert_eq!(seen.frames, [Frame::Headers { stream, block: payload, end_stream, end_headers, priority }]);
    }
}

/// At the limits of real frames.
#[test]
fn long_field_blocks() {
    let stream = StreamId::new(5);
    for length in [0usize, 1, 16_383, 16_384, 16_385, 32_768, 32_769, 100_000] {
        let block: Vec<u8> = (0..length).map(|place| (place % 251) as u8).collect();
        let mut output = Vec::new();
        let start = frame::begin_headers(&mut output);
        output.extend_from_slice(&block);
        frame::finish_headers(start, stream, true, 16_384, &mut output);
        let frames = take_whole(&output, 16_384).frames;
        assert_eq!(frames.len(), length.div_ceil(16_384).max(1), "for {length} bytes");
        check_block(&frames, &block, 16_384, stream, true);
    }
}

/// HEADERS and CONTINUATION that carry this block, all but the last as large as they may be.
fn check_block(frames: &[Frame], block: &[u8], largest: usize, stream: StreamId, end_stream: bool) {
    let last = block.len().div_ceil(largest).max(1) - 1;
    assert_eq!(frames.len(), last + 1);
    for (number, frame) in frames.iter().enumerate() {
        let block = &block[number * largest..block.len().min((number + 1) * largest)];
        let block = Bytes::copy_from_slice(block);
        let end_headers = number == last;
        let expected = match number {
            0 => Frame::Headers { stream, block, end_stream, end_headers, priority: None },
            _ => Frame::Continuation { stream, block, end_headers },
        };
        assert_eq!(*frame, expected, "frame {number}");
    }
}

//! The same frames are taken wherever the bytes are split, nothing is held back beyond one frame, and what we can write
//! is taken back.

use serow_http2::{
    Sender, Settings,
    frame::{self, Frame},
};

use crate::taken_frames::{take_split, take_whole};

/// The target. The last four bytes say where to split and which limit holds, so that any stream of frames is a seed.
pub fn target(data: &[u8]) {
    let (input, choice) = data.split_at(data.len().saturating_sub(4));
    let largest = if choice.first() == Some(&1) { 32 } else { 16_384 };
    let seen = take_whole(input, largest);
    let mut places: Vec<usize> = choice.iter().map(|&place| usize::from(place) * input.len() / 256).collect();
    places.sort_unstable();
    assert_eq!(take_split(input, places.iter().copied(), largest), seen, "split at {places:?}");
    assert_eq!(take_split(input, 1..input.len(), largest), seen, "byte by byte");

    let mut settings = Settings::default();
    for frame in &seen.frames {
        if let Frame::Settings { settings: update } = frame
            && settings.apply(update, Sender::Client).is_ok()
        {
            check_settings(&settings);
        }
        let mut output = Vec::new();
        if write(frame, largest, &mut output) {
            check_written(frame, &take_whole(&output, largest).frames);
        }
    }
}

/// The settings of a peer are within their bounds, and can be encoded again.
fn check_settings(settings: &Settings) {
    assert!((16_384..1 << 24).contains(&settings.max_frame_size), "{settings:?}");
    assert!(settings.initial_window_size < 1 << 31, "{settings:?}");
    let mut output = Vec::new();
    settings.write(&mut output);
    let [Frame::Settings { settings: update }] = &take_whole(&output, 16_384).frames[..] else {
        panic!("{settings:?} are not written as settings")
    };
    let mut again = Settings::default();
    again.apply(update, Sender::Client).expect("settings that were applied before");
    assert_eq!(again, *settings);
}

/// Whether it is a frame that we write.
fn write(frame: &Frame, largest: usize, output: &mut Vec<u8>) -> bool {
    match frame {
        Frame::Data { stream, data, end_stream, .. } => {
            frame::write_data_header(*stream, data.len(), *end_stream, output);
            output.extend_from_slice(data);
        }
        Frame::Headers { stream, block, end_stream, .. } => {
            let start = frame::begin_headers(output);
            // Long enough to be split now and then.
            output.extend_from_slice(&block.repeat(3));
            frame::finish_headers(start, *stream, *end_stream, largest, output);
        }
        Frame::ResetStream { stream, code } => frame::write_reset_stream(*stream, *code, output),
        Frame::SettingsAck => frame::write_settings_ack(output),
        Frame::Ping { payload, ack } => frame::write_ping(*payload, *ack, output),
        Frame::GoAway { last_stream, code, debug } => frame::write_go_away(*last_stream, *code, debug, output),
        Frame::WindowUpdate { stream, increment } => frame::write_window_update(*stream, *increment, output),
        Frame::PriorityUpdate { stream, value } => frame::write_priority_update(*stream, value, output),
        _ => return false,
    }
    true
}

fn check_written(frame: &Frame, written: &[Frame]) {
    match (frame, written) {
        (Frame::Headers { block, .. }, [Frame::Headers { block: first, end_headers, .. }, rest @ ..]) => {
            let mut joined = first.to_vec();
            let mut has_ended = *end_headers;
            for frame in rest {
                let Frame::Continuation { block, end_headers, .. } = frame else { panic!("{frame:?} in a block") };
                assert!(!has_ended, "{written:?} end twice");
                joined.extend_from_slice(block);
                has_ended = *end_headers;
            }
            assert!(has_ended, "{written:?} do not end");
            assert_eq!(joined, block.repeat(3));
        }
        (Frame::Data { stream, data, end_stream, .. }, [again]) => {
            let (stream, data, end_stream) = (*stream, data.clone(), *end_stream);
            assert_eq!(*again, Frame::Data { stream, data, end_stream, padding: 0 });
        }
        _ => assert_eq!(written, std::slice::from_ref(frame)),
    }
}

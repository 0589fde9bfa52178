//! Frames taken from bytes that come in pieces, as lines of text.

use bytes::{Bytes, BytesMut};
use serow_http2::{
    ProtocolError, SettingsUpdate,
    frame::{self, Dependency, Frame, FrameHeader},
};

/// The frames and errors taken from an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// A line for each frame and error; `incomplete` where a part of a frame is left.
    pub(crate) lines: Vec<String>,
    /// The frames, without the errors.
    pub(crate) frames: Vec<Frame>,
    /// Whether an error has ended the connection.
    pub(crate) has_ended: bool,
}

/// Takes all frames of an input that comes in pieces, split at these places, in order.
pub(crate) fn take_split(input: &[u8], places: impl IntoIterator<Item = usize>, largest: usize) -> Seen {
    let mut seen = Seen { lines: Vec::new(), frames: Vec::new(), has_ended: false };
    let mut buffer = BytesMut::new();
    let mut from = 0;
    for place in places.into_iter().chain([input.len()]) {
        buffer.extend_from_slice(&input[from..place]);
        from = place;
        if !take_all(&mut buffer, largest, &mut seen) {
            return seen;
        }
        assert!(buffer.len() < FrameHeader::LENGTH + largest, "{} bytes held back", buffer.len());
    }
    if !buffer.is_empty() {
        seen.lines.push("incomplete".into());
    }
    seen
}

/// Takes all frames of an input that comes at once.
pub(crate) fn take_whole(input: &[u8], largest: usize) -> Seen {
    take_split(input, [], largest)
}

/// Takes what is there; says whether the connection lives on.
fn take_all(buffer: &mut BytesMut, largest: usize, seen: &mut Seen) -> bool {
    loop {
        let range = buffer.as_ptr_range();
        match frame::take(buffer, largest) {
            Ok(None) => return true,
            Ok(Some(frame)) => {
                let payload = payload(&frame);
                let is_slice = range.contains(&payload.as_ptr()) || payload.is_empty();
                assert!(is_slice, "{frame:?} is a copy");
                seen.lines.push(line(&frame));
                seen.frames.push(frame);
            }
            Err(ProtocolError::Stream { stream, code, .. }) => {
                seen.lines.push(format!("refused stream {stream} {code}"));
            }
            Err(ProtocolError::Connection { code, .. }) => {
                seen.lines.push(format!("refused connection {code}"));
                seen.has_ended = true;
                return false;
            }
        }
    }
}

/// The part of a frame that is a slice.
fn payload(frame: &Frame) -> &[u8] {
    match frame {
        Frame::Data { data: payload, .. }
        | Frame::Headers { block: payload, .. }
        | Frame::PushPromise { block: payload, .. }
        | Frame::Continuation { block: payload, .. }
        | Frame::GoAway { debug: payload, .. }
        | Frame::PriorityUpdate { value: payload, .. } => payload,
        _ => &[],
    }
}

fn line(frame: &Frame) -> String {
    match frame {
        Frame::Data { stream, data, end_stream, padding } => {
            let padding = if *padding == 0 { String::new() } else { format!(" padding {padding}") };
            format!("DATA {stream} {}{}{padding}", text(data), flag(*end_stream, "end_stream"))
        }
        Frame::Headers { stream, block, end_stream, end_headers, priority } => {
            let flags = flag(*end_stream, "end_stream") + &flag(*end_headers, "end_headers");
            format!("HEADERS {stream} {}{flags}{}", text(block), priority.map(dependency).unwrap_or_default())
        }
        Frame::Priority { stream, dependency: on } => format!("PRIORITY {stream}{}", dependency(*on)),
        Frame::ResetStream { stream, code } => format!("RST_STREAM {stream} {code}"),
        Frame::Settings { settings } => format!("SETTINGS{}", values(settings)),
        Frame::SettingsAck => "SETTINGS ack".into(),
        Frame::PushPromise { stream, promised, block, end_headers } => {
            format!("PUSH_PROMISE {stream} of {promised} {}{}", text(block), flag(*end_headers, "end_headers"))
        }
        Frame::Ping { payload, ack } => format!("PING \"{}\"{}", payload.escape_ascii(), flag(*ack, "ack")),
        Frame::GoAway { last_stream, code, debug } => format!("GOAWAY {last_stream} {code} {}", text(debug)),
        Frame::WindowUpdate { stream, increment } => format!("WINDOW_UPDATE {stream} by {increment}"),
        Frame::Continuation { stream, block, end_headers } => {
            format!("CONTINUATION {stream} {}{}", text(block), flag(*end_headers, "end_headers"))
        }
        Frame::PriorityUpdate { stream, value } => format!("PRIORITY_UPDATE {stream} {}", text(value)),
        Frame::Unknown { kind, stream, flags, length } => {
            format!("unknown {kind} {stream} flags {flags:#x} length {length}")
        }
    }
}

/// Long ones by their length and last byte.
fn text(bytes: &Bytes) -> String {
    match bytes.last() {
        Some(last) if bytes.len() > 100 => format!("{} bytes to {last:02x}", bytes.len()),
        _ => format!("\"{}\"", bytes.escape_ascii()),
    }
}

fn flag(is_set: bool, name: &str) -> String {
    if is_set { format!(" {name}") } else { String::new() }
}

fn dependency(dependency: Dependency) -> String {
    let Dependency { on, weight, exclusive } = dependency;
    format!(" on {on} weight {weight}{}", flag(exclusive, "exclusive"))
}

fn values(settings: &SettingsUpdate) -> String {
    settings.iter().map(|(identifier, value)| format!(" {identifier:#x}={value}")).collect()
}

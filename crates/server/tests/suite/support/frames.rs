//! Frames of HTTP/2 by hand, for what no client does.

use std::io;

use super::{Running, client::Client};

/// A connection on which a test writes frames of its own.
pub(crate) struct Frames {
    pub(crate) client: Client,
}

/// A frame (RFC 9113 §4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// Kinds of frames (RFC 9113 §6).
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

/// END_STREAM and END_HEADERS.
pub(crate) const WHOLE: u8 = 0x5;

impl Running {
    /// Connects, and says that it speaks HTTP/2, with these settings.
    pub(crate) fn connect_frames(&self, settings: &[(u16, u32)]) -> Frames {
        let mut frames = Frames { client: self.connect() };
        let pairs = settings.iter().flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat());
        frames.client.send(serow_http2::PREFACE);
        frames.send(SETTINGS, 0, 0, &pairs.collect::<Vec<u8>>());
        assert_eq!(frames.next().unwrap().kind, SETTINGS);
        frames.send(SETTINGS, 1, 0, b"");
        frames
    }
}

impl Frames {
    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> &mut Self {
        self.client.send(frame(kind, flags, stream, payload));
        self
    }

    /// `GET /name`, whole.
    pub(crate) fn ask(&mut self, stream: u32, name: &str) -> &mut Self {
        self.send(HEADERS, WHOLE, stream, &block(name))
    }

    /// The next frame.
    pub(crate) fn next(&mut self) -> io::Result<Frame> {
        let header = self.client.take(9)?;
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        Ok(Frame { kind: header[3], flags: header[4], stream, payload: self.client.take(length)? })
    }

    /// The next frame of this kind on this stream.
    #[track_caller]
    pub(crate) fn until(&mut self, kind: u8, stream: u32) -> Frame {
        loop {
            let frame = self.next().unwrap();
            if frame.kind == kind && frame.stream == stream {
                return frame;
            }
        }
    }
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The fields of `GET /name`: indices of RFC 7541's static table, and two literals that go into none.
pub(crate) fn block(name: &str) -> Vec<u8> {
    let mut block = vec![0x82, 0x86, 0x01, 1, b'a', 0x04, name.len() as u8 + 1, b'/'];
    block.extend(name.bytes());
    block
}

//! The nine bytes before each payload (RFC 9113 §4.1).

use alloc::vec::Vec;

use crate::StreamId;

/// The nine bytes before each payload (RFC 9113 §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Of the payload: below 2^24.
    pub length: usize,
    /// The kind of frame, which gives the payload its meaning.
    pub kind: Kind,
    /// Those of [`flags`] that the kind knows, and others that are ignored.
    pub flags: u8,
    /// The stream it belongs to.
    pub stream: StreamId,
}

impl FrameHeader {
    /// Its own length.
    pub const LENGTH: usize = 9;

    /// Reads it from the front of the input, if that is long enough.
    #[must_use]
    #[inline]
    pub fn read(input: &[u8]) -> Option<Self> {
        let &[high, middle, low, kind, flags, a, b, c, d, ..] = input else { return None };
        Some(Self {
            length: u32::from_be_bytes([0, high, middle, low]) as usize,
            kind: Kind(kind),
            flags,
            stream: StreamId::new(u32::from_be_bytes([a, b, c, d])),
        })
    }

    /// Appends it to the output.
    #[inline]
    pub fn write(self, output: &mut Vec<u8>) {
        output.extend_from_slice(&self.bytes());
    }

    /// As it is sent.
    #[inline]
    pub(crate) fn bytes(self) -> [u8; Self::LENGTH] {
        // SETTINGS_MAX_FRAME_SIZE has 24 bits at most (RFC 9113 §6.5.2).
        debug_assert!(self.length < 1 << 24, "a frame of {} bytes", self.length);
        let [.., high, middle, low] = (self.length as u32).to_be_bytes();
        let [a, b, c, d] = self.stream.bits().to_be_bytes();
        [high, middle, low, self.kind.0, self.flags, a, b, c, d]
    }

    /// Whether this flag is set.
    #[inline]
    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The kind of a frame (RFC 9113 §11.1, RFC 9218 §15).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind(pub u8);

impl Kind {
    /// RFC 9113 §6.1.
    pub const DATA: Self = Self(0x0);
    /// RFC 9113 §6.2.
    pub const HEADERS: Self = Self(0x1);
    /// RFC 9113 §6.3.
    pub const PRIORITY: Self = Self(0x2);
    /// RFC 9113 §6.4.
    pub const RST_STREAM: Self = Self(0x3);
    /// RFC 9113 §6.5.
    pub const SETTINGS: Self = Self(0x4);
    /// RFC 9113 §6.6.
    pub const PUSH_PROMISE: Self = Self(0x5);
    /// RFC 9113 §6.7.
    pub const PING: Self = Self(0x6);
    /// RFC 9113 §6.8.
    pub const GOAWAY: Self = Self(0x7);
    /// RFC 9113 §6.9.
    pub const WINDOW_UPDATE: Self = Self(0x8);
    /// RFC 9113 §6.10.
    pub const CONTINUATION: Self = Self(0x9);
    /// RFC 9218 §7.1.
    pub const PRIORITY_UPDATE: Self = Self(0x10);

    /// Its name in the RFC; an unknown kind has none.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::PRIORITY_UPDATE => Some("PRIORITY_UPDATE"),
            Self(number) => NAMES.get(usize::from(number)).copied(),
        }
    }
}

serow_streams::show_by_name!(Kind);

/// The flags of frames; RFC 9113 §6 defines which of them each type has.
pub mod flags {
    /// DATA, HEADERS: the stream's last.
    pub const END_STREAM: u8 = 0x1;
    /// SETTINGS, PING: the answer.
    pub const ACK: u8 = 0x1;
    /// HEADERS, PUSH_PROMISE, CONTINUATION: the field block's last.
    pub const END_HEADERS: u8 = 0x4;
    /// DATA, HEADERS, PUSH_PROMISE: there is padding, and a byte in front that says how much.
    pub const PADDED: u8 = 0x8;
    /// HEADERS: RFC 7540's priority stands before the field block.
    pub const PRIORITY: u8 = 0x20;
}

/// In the order of the numbers.
const NAMES: [&str; 10] = [
    "DATA",
    "HEADERS",
    "PRIORITY",
    "RST_STREAM",
    "SETTINGS",
    "PUSH_PROMISE",
    "PING",
    "GOAWAY",
    "WINDOW_UPDATE",
    "CONTINUATION",
];

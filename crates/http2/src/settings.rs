//! The settings of a connection (RFC 9113 §6.5; RFC 8441 §3; RFC 9218 §2.1): each side has its own, and tells them.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::{
    ErrorCode, ProtocolError, StreamId,
    frame::{FrameHeader, Kind},
};

/// The settings of one side: its limits and abilities. The defaults hold until its SETTINGS say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of the table that it decodes with (RFC 7541 §4.2).
    pub header_table_size: u32,
    /// Whether it takes pushes; only a client says so.
    pub enable_push: bool,
    /// How many streams the other side may have open; without a number as many as it likes.
    pub max_concurrent_streams: Option<u32>,
    /// Bytes that may be sent on a new stream before it gives more room.
    pub initial_window_size: u32,
    /// Bytes of the largest payload it takes: 16,384 to 16,777,215.
    pub max_frame_size: u32,
    /// Bytes of the largest field section it takes, each field counted as RFC 9113 §6.5.2 says.
    pub max_header_list_size: Option<u32>,
    /// Whether it takes the extended CONNECT of RFC 8441; only a server says so.
    pub enable_connect_protocol: bool,
    /// Whether it ignores RFC 7540's priorities (RFC 9218 §2.1); `None` as long as the first SETTINGS have not come.
    pub no_rfc7540_priorities: Option<bool>,
}

/// Whose settings they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Those of a client.
    Client,
    /// Those of a server.
    Server,
}

/// The payload of a SETTINGS frame: identifiers and values, not judged yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsUpdate(Bytes);

/// The consequences of a change of settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The smallest header table among those set, if one was. The encoder must announce it too, before the one that
    /// holds now (RFC 7541 §4.2).
    pub smallest_header_table: Option<u32>,
}

impl Settings {
    /// Applies the peer's values in their order, and ignores unknown identifiers. After an error nothing is changed.
    pub fn apply(&mut self, update: &SettingsUpdate, from: Sender) -> Result<Applied, ProtocolError> {
        let mut changed = *self;
        let mut applied = Applied::default();
        for (identifier, value) in update.iter() {
            changed.set(identifier, value, from)?;
            if identifier == HEADER_TABLE_SIZE {
                let smallest = applied.smallest_header_table.map_or(value, |smallest| smallest.min(value));
                applied.smallest_header_table = Some(smallest);
            }
        }
        // RFC 9218 §2.1: what the first SETTINGS say, or do not say, holds.
        let priorities = changed.no_rfc7540_priorities.unwrap_or(false);
        if self.no_rfc7540_priorities.is_some_and(|first| first != priorities) {
            return Err(wrong("SETTINGS_NO_RFC7540_PRIORITIES changed"));
        }
        changed.no_rfc7540_priorities = Some(priorities);
        *self = changed;
        Ok(applied)
    }

    /// Appends a SETTINGS frame with what differs from the defaults.
    pub fn write(&self, output: &mut Vec<u8>) {
        let header = output.len();
        output.extend_from_slice(&[0; FrameHeader::LENGTH]);
        let values = [self.values(), Self::default().values()];
        for ((identifier, value), (_, default)) in values[0].into_iter().zip(values[1]) {
            if let Some(value) = value
                && Some(value) != default
            {
                output.extend_from_slice(&identifier.to_be_bytes());
                output.extend_from_slice(&value.to_be_bytes());
            }
        }
        let length = output.len() - header - FrameHeader::LENGTH;
        let bytes = FrameHeader { length, kind: Kind::SETTINGS, flags: 0, stream: StreamId::CONNECTION }.bytes();
        output[header..header + FrameHeader::LENGTH].copy_from_slice(&bytes);
    }

    /// RFC 9113 §6.5.2, RFC 8441 §3, RFC 9218 §2.1.
    fn set(&mut self, identifier: u16, value: u32, from: Sender) -> Result<(), ProtocolError> {
        match identifier {
            HEADER_TABLE_SIZE => self.header_table_size = value,
            ENABLE_PUSH => {
                self.enable_push = boolean(value, "SETTINGS_ENABLE_PUSH is neither 0 nor 1")?;
                if self.enable_push && from == Sender::Server {
                    return Err(wrong("SETTINGS_ENABLE_PUSH of a server"));
                }
            }
            MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = Some(value),
            INITIAL_WINDOW_SIZE if value > LARGEST_WINDOW => {
                return Err(ProtocolError::Connection {
                    code: ErrorCode::FLOW_CONTROL_ERROR,
                    reason: "SETTINGS_INITIAL_WINDOW_SIZE is too large",
                });
            }
            INITIAL_WINDOW_SIZE => self.initial_window_size = value,
            MAX_FRAME_SIZE if !FRAME_SIZES.contains(&value) => {
                return Err(wrong("SETTINGS_MAX_FRAME_SIZE is out of range"));
            }
            MAX_FRAME_SIZE => self.max_frame_size = value,
            MAX_HEADER_LIST_SIZE => self.max_header_list_size = Some(value),
            ENABLE_CONNECT_PROTOCOL => {
                let enable = boolean(value, "SETTINGS_ENABLE_CONNECT_PROTOCOL is neither 0 nor 1")?;
                if self.enable_connect_protocol && !enable {
                    return Err(wrong("SETTINGS_ENABLE_CONNECT_PROTOCOL was taken back"));
                }
                self.enable_connect_protocol = enable;
            }
            NO_RFC7540_PRIORITIES => {
                let value = boolean(value, "SETTINGS_NO_RFC7540_PRIORITIES is neither 0 nor 1")?;
                self.no_rfc7540_priorities = Some(value);
            }
            _ => {}
        }
        Ok(())
    }

    /// In the order of their identifiers; what has no number is not sent.
    fn values(&self) -> [(u16, Option<u32>); 8] {
        [
            (HEADER_TABLE_SIZE, Some(self.header_table_size)),
            (ENABLE_PUSH, Some(self.enable_push.into())),
            (MAX_CONCURRENT_STREAMS, self.max_concurrent_streams),
            (INITIAL_WINDOW_SIZE, Some(self.initial_window_size)),
            (MAX_FRAME_SIZE, Some(self.max_frame_size)),
            (MAX_HEADER_LIST_SIZE, self.max_header_list_size),
            (ENABLE_CONNECT_PROTOCOL, Some(self.enable_connect_protocol.into())),
            (NO_RFC7540_PRIORITIES, self.no_rfc7540_priorities.filter(|&value| value).map(u32::from)),
        ]
    }
}

impl Default for Settings {
    /// RFC 9113 §6.5.2.
    fn default() -> Self {
        Self {
            header_table_size: 4_096,
            enable_push: true,
            max_concurrent_streams: None,
            initial_window_size: 65_535,
            max_frame_size: *FRAME_SIZES.start(),
            max_header_list_size: None,
            enable_connect_protocol: false,
            no_rfc7540_priorities: None,
        }
    }
}

impl SettingsUpdate {
    /// From a payload, whose length must be a multiple of six (RFC 9113 §6.5).
    pub(crate) fn new(payload: Bytes) -> Option<Self> {
        payload.len().is_multiple_of(SETTING_LENGTH).then_some(Self(payload))
    }

    /// Identifiers and values as they came.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u32)> {
        let (settings, _) = self.0.as_chunks::<SETTING_LENGTH>();
        settings.iter().map(|&[a, b, c, d, e, f]| (u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, f])))
    }
}

fn boolean(value: u32, reason: &'static str) -> Result<bool, ProtocolError> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(wrong(reason)),
    }
}

const fn wrong(reason: &'static str) -> ProtocolError {
    ProtocolError::Connection { code: ErrorCode::PROTOCOL_ERROR, reason }
}

// RFC 9113 §6.5.2.
const HEADER_TABLE_SIZE: u16 = 0x1;
const ENABLE_PUSH: u16 = 0x2;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;
const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const MAX_HEADER_LIST_SIZE: u16 = 0x6;
// RFC 8441 §9.1.
const ENABLE_CONNECT_PROTOCOL: u16 = 0x8;
// RFC 9218 §15.
const NO_RFC7540_PRIORITIES: u16 = 0x9;

/// An identifier of two bytes and a value of four (RFC 9113 §6.5.1).
const SETTING_LENGTH: usize = 6;

/// RFC 9113 §6.9.1.
const LARGEST_WINDOW: u32 = 0x7fff_ffff;

/// RFC 9113 §6.5.2.
const FRAME_SIZES: core::ops::RangeInclusive<u32> = 16_384..=16_777_215;

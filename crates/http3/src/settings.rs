//! The settings of a connection (RFC 9114 §7.2.4; RFC 9204 §5; RFC 9220 §5): each side has its own, and tells them once.

use alloc::vec::Vec;

use bytes::BytesMut;

use crate::{
    ErrorCode, ProtocolError,
    frame::{FrameHeader, Kind},
    varint,
};

/// The settings of one side: its limits and abilities. The defaults hold until its SETTINGS say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of the largest table that it decodes with (RFC 9204 §5).
    pub qpack_max_table_capacity: u64,
    /// How many streams may wait there for entries of that table (RFC 9204 §5).
    pub qpack_blocked_streams: u64,
    /// Bytes of the largest field section it takes, each field counted as RFC 9114 §4.2.2 says.
    pub max_field_section_size: Option<u64>,
    /// Whether it takes the extended CONNECT of RFC 9220; only a server says so.
    pub enable_connect_protocol: bool,
}

impl Settings {
    /// Reads them from the payload of a SETTINGS frame; unknown identifiers are ignored.
    ///
    /// # Errors
    ///
    /// The peer's error, which ends the connection.
    pub fn parse(mut payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut settings = Self::default();
        let mut identifiers = Vec::new();
        while !payload.is_empty() {
            let (identifier, value) = take_setting(&mut payload).ok_or(TRUNCATED)?;
            settings.set(identifier, value)?;
            identifiers.push(identifier);
        }
        // RFC 9114 §7.2.4: each once. Sorted, so that many of them cost little.
        identifiers.sort_unstable();
        if identifiers.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(wrong("a setting stands there twice"));
        }
        Ok(settings)
    }

    /// Appends a SETTINGS frame with what differs from the defaults, and one that means nothing, so that peers keep
    /// ignoring what they do not know (RFC 9114 §7.2.4.1).
    pub fn write(&self, output: &mut BytesMut) {
        let mut payload = Vec::new();
        let values = [
            (QPACK_MAX_TABLE_CAPACITY, Some(self.qpack_max_table_capacity).filter(|&value| value > 0)),
            (MAX_FIELD_SECTION_SIZE, self.max_field_section_size),
            (QPACK_BLOCKED_STREAMS, Some(self.qpack_blocked_streams).filter(|&value| value > 0)),
            (ENABLE_CONNECT_PROTOCOL, self.enable_connect_protocol.then_some(1)),
            (GREASE, Some(0)),
        ];
        for (identifier, value) in values {
            if let Some(value) = value {
                varint::write(identifier, &mut payload);
                varint::write(value, &mut payload);
            }
        }
        FrameHeader { kind: Kind::SETTINGS, length: payload.len() as u64 }.write(output);
        output.extend_from_slice(&payload);
    }

    fn set(&mut self, identifier: u64, value: u64) -> Result<(), ProtocolError> {
        match identifier {
            // RFC 9114 §7.2.4.1, §11.2.2.
            0x0 | 0x2..=0x5 => return Err(wrong("a setting of HTTP/2")),
            QPACK_MAX_TABLE_CAPACITY => self.qpack_max_table_capacity = value,
            QPACK_BLOCKED_STREAMS => self.qpack_blocked_streams = value,
            MAX_FIELD_SECTION_SIZE => self.max_field_section_size = Some(value),
            // RFC 9220 §3, RFC 8441 §3.
            ENABLE_CONNECT_PROTOCOL if value > 1 => {
                return Err(wrong("SETTINGS_ENABLE_CONNECT_PROTOCOL is neither 0 nor 1"));
            }
            ENABLE_CONNECT_PROTOCOL => self.enable_connect_protocol = value == 1,
            _ => {}
        }
        Ok(())
    }
}

fn take_setting(payload: &mut &[u8]) -> Option<(u64, u64)> {
    let (identifier, first) = varint::read(payload)?;
    let (value, second) = varint::read(payload.get(first..)?)?;
    *payload = payload.get(first + second..)?;
    Some((identifier, value))
}

const fn wrong(reason: &'static str) -> ProtocolError {
    ProtocolError::new(ErrorCode::SETTINGS_ERROR, reason)
}

/// RFC 9114 §7.1.
const TRUNCATED: ProtocolError = ProtocolError::new(ErrorCode::FRAME_ERROR, "SETTINGS end within a setting");

// RFC 9204 §5.
const QPACK_MAX_TABLE_CAPACITY: u64 = 0x1;
const QPACK_BLOCKED_STREAMS: u64 = 0x7;
// RFC 9114 §7.2.4.1.
const MAX_FIELD_SECTION_SIZE: u64 = 0x6;
// RFC 9220 §5.
const ENABLE_CONNECT_PROTOCOL: u64 = 0x8;
/// One of the reserved 0x1f * N + 0x21 (RFC 9114 §7.2.4.1), the shortest.
const GREASE: u64 = 0x21;

//! Error codes, and the error of a peer that violates HTTP/2.

/// A client or a server violated HTTP/2.
pub type ProtocolError = serow_streams::ProtocolError<ErrorCode>;

/// RFC 9113 §7.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Not an error.
    pub const NO_ERROR: Self = Self(0x0);
    /// A violation for which there is no other code.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// The sender of this code has an internal error.
    pub const INTERNAL_ERROR: Self = Self(0x2);
    /// More was sent than the window allowed.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// SETTINGS were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(0x4);
    /// A frame for a half-closed stream.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame of a wrong length.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// The request was not processed; it may be sent again.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// The stream is no longer needed.
    pub const CANCEL: Self = Self(0x8);
    /// A field block could not be decoded.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// The connection of a CONNECT request failed.
    pub const CONNECT_ERROR: Self = Self(0xa);
    /// The peer causes excessive load.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
    /// The TLS parameters are not secure enough.
    pub const INADEQUATE_SECURITY: Self = Self(0xc);
    /// HTTP/1.1 is required.
    pub const HTTP_1_1_REQUIRED: Self = Self(0xd);

    /// The name in the RFC; `None` for an unknown code.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.get(self.0 as usize).copied()
    }
}

/// In the order of the codes.
const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

serow_streams::show_by_name!(ErrorCode);

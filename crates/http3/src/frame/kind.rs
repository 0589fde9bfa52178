//! The kinds of frames.

/// The kind of a frame (RFC 9114 §11.2.1, RFC 9218 §15).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind(pub u64);

impl Kind {
    /// RFC 9114 §7.2.1.
    pub const DATA: Self = Self(0x0);
    /// RFC 9114 §7.2.2.
    pub const HEADERS: Self = Self(0x1);
    /// RFC 9114 §7.2.3.
    pub const CANCEL_PUSH: Self = Self(0x3);
    /// RFC 9114 §7.2.4.
    pub const SETTINGS: Self = Self(0x4);
    /// RFC 9114 §7.2.5.
    pub const PUSH_PROMISE: Self = Self(0x5);
    /// RFC 9114 §7.2.6.
    pub const GOAWAY: Self = Self(0x7);
    /// RFC 9114 §7.2.7.
    pub const MAX_PUSH_ID: Self = Self(0xd);
    /// RFC 9218 §7.2: for a request.
    pub const PRIORITY_UPDATE: Self = Self(0xf_0700);
    /// RFC 9218 §7.2: for a push.
    pub const PRIORITY_UPDATE_OF_PUSH: Self = Self(0xf_0701);

    /// Whether HTTP/2 has a frame of this number that HTTP/3 has not, so that it must not be sent (RFC 9114 §7.2.8).
    #[must_use]
    pub fn is_of_http2_only(self) -> bool {
        matches!(self.0, 0x2 | 0x6 | 0x8 | 0x9)
    }

    /// Its name in the RFCs; an unknown kind has none.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::DATA => "DATA",
            Self::HEADERS => "HEADERS",
            Self::CANCEL_PUSH => "CANCEL_PUSH",
            Self::SETTINGS => "SETTINGS",
            Self::PUSH_PROMISE => "PUSH_PROMISE",
            Self::GOAWAY => "GOAWAY",
            Self::MAX_PUSH_ID => "MAX_PUSH_ID",
            Self::PRIORITY_UPDATE | Self::PRIORITY_UPDATE_OF_PUSH => "PRIORITY_UPDATE",
            _ => return None,
        })
    }
}

serow_streams::show_by_name!(Kind);

//! Which name a field has, recognised once.

use serow_message::KnownHeader;

/// A pseudo-header field (RFC 9113 §8.3, RFC 8441 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Pseudo {
    /// `:authority`
    Authority,
    /// `:method`
    Method,
    /// `:path`
    Path,
    /// `:protocol`
    Protocol,
    /// `:scheme`
    Scheme,
    /// `:status`
    Status,
}

impl Pseudo {
    /// The name, with its colon.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Authority => ":authority",
            Self::Method => ":method",
            Self::Path => ":path",
            Self::Protocol => ":protocol",
            Self::Scheme => ":scheme",
            Self::Status => ":status",
        }
    }

    fn recognise(name: &[u8]) -> Option<Self> {
        Some(match name {
            b":authority" => Self::Authority,
            b":method" => Self::Method,
            b":path" => Self::Path,
            b":protocol" => Self::Protocol,
            b":scheme" => Self::Scheme,
            b":status" => Self::Status,
            _ => return None,
        })
    }
}

/// A field's name, recognised; kept with each entry of the tables, so that names are not compared again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// A pseudo-header field.
    Pseudo(Pseudo),
    /// A well-known name in lower case.
    Known(KnownHeader),
    /// Any other bytes, as the peer sent them: they have not been checked for being a valid name.
    Other,
}

impl Name {
    /// Recognises a name as it was received. One with capitals is not well known: RFC 9113 §8.2.1 has it refused.
    pub fn recognise(name: &[u8]) -> Self {
        if let [b':', ..] = name {
            return Pseudo::recognise(name).map_or(Self::Other, Self::Pseudo);
        }
        match KnownHeader::recognise(name) {
            Some(known) if known.as_str().as_bytes() == name => Self::Known(known),
            _ => Self::Other,
        }
    }

    /// The text of a well-known name or that of a pseudo-header field; nothing of others.
    pub fn text(self) -> &'static str {
        match self {
            Self::Pseudo(pseudo) => pseudo.as_str(),
            Self::Known(known) => known.as_str(),
            Self::Other => "",
        }
    }

    /// The well-known name, if it is one.
    #[must_use]
    pub fn known(self) -> Option<KnownHeader> {
        match self {
            Self::Known(known) => Some(known),
            Self::Pseudo(_) | Self::Other => None,
        }
    }
}

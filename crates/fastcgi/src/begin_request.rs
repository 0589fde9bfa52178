//! The content of a BEGIN_REQUEST record: role and flags (FastCGI 1.0 §5.1).

/// The part that the application plays for a request (FastCGI 1.0 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It makes the response from the request, as a CGI program does.
    Responder,
    /// It decides whether the request is allowed; there is no body.
    Authorizer,
    /// As a responder, with a file that follows the body (`DATA`).
    Filter,
    /// A number without a meaning: the application refuses it with [`UnknownRole`](crate::ProtocolStatus::UnknownRole).
    Unknown(u16),
}

impl Role {
    fn number(self) -> u16 {
        match self {
            Self::Responder => 1,
            Self::Authorizer => 2,
            Self::Filter => 3,
            Self::Unknown(number) => number,
        }
    }

    fn of_number(number: u16) -> Self {
        match number {
            1 => Self::Responder,
            2 => Self::Authorizer,
            3 => Self::Filter,
            number => Self::Unknown(number),
        }
    }
}

/// The connection after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// The application closes it.
    Close,
    /// The application leaves it open (`FCGI_KEEP_CONN`).
    Keep,
}

pub(crate) fn encode_begin_request(role: Role, persistence: Persistence) -> [u8; BEGIN_REQUEST_LENGTH] {
    let [high, low] = role.number().to_be_bytes();
    let flags = match persistence {
        Persistence::Close => 0,
        Persistence::Keep => KEEP_CONNECTION,
    };
    [high, low, flags, 0, 0, 0, 0, 0]
}

pub(crate) fn decode_begin_request([high, low, flags, ..]: [u8; BEGIN_REQUEST_LENGTH]) -> (Role, Persistence) {
    let persistence = if flags & KEEP_CONNECTION == 0 { Persistence::Close } else { Persistence::Keep };
    (Role::of_number(u16::from_be_bytes([high, low])), persistence)
}

pub(crate) const BEGIN_REQUEST_LENGTH: usize = 8;

/// FastCGI 1.0 §8: `FCGI_KEEP_CONN`.
const KEEP_CONNECTION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_and_flags_are_decoded_as_they_were_encoded() {
        for (role, number) in [
            (Role::Unknown(0), 0),
            (Role::Responder, 1),
            (Role::Authorizer, 2),
            (Role::Filter, 3),
            (Role::Unknown(0x0102), 0x0102),
        ] {
            for (persistence, flags) in [(Persistence::Close, 0), (Persistence::Keep, 1)] {
                let bytes = encode_begin_request(role, persistence);
                assert_eq!(bytes, [(number >> 8) as u8, number as u8, flags, 0, 0, 0, 0, 0]);
                assert_eq!(decode_begin_request(bytes), (role, persistence));
            }
        }
    }
}

//! The content of an END_REQUEST record: two statuses (FastCGI 1.0 §5.5).

use core::fmt;

/// The reason for the end of a request (FastCGI 1.0 §5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolStatus {
    /// The response is complete.
    RequestComplete,
    /// It takes one request at a time per connection.
    CannotMultiplex,
    /// It is out of a resource.
    Overloaded,
    /// It does not play this role.
    UnknownRole,
    /// A number without a meaning.
    Unknown(u8),
}

impl ProtocolStatus {
    fn number(self) -> u8 {
        match self {
            Self::RequestComplete => 0,
            Self::CannotMultiplex => 1,
            Self::Overloaded => 2,
            Self::UnknownRole => 3,
            Self::Unknown(number) => number,
        }
    }

    fn of_number(number: u8) -> Self {
        match number {
            0 => Self::RequestComplete,
            1 => Self::CannotMultiplex,
            2 => Self::Overloaded,
            3 => Self::UnknownRole,
            number => Self::Unknown(number),
        }
    }
}

impl fmt::Display for ProtocolStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::RequestComplete => "it is complete",
            Self::CannotMultiplex => "it takes one request at a time per connection",
            Self::Overloaded => "it is overloaded",
            Self::UnknownRole => "it does not play this role",
            Self::Unknown(number) => return write!(formatter, "protocol status {number}"),
        })
    }
}

pub(crate) fn encode_end_request(application_status: u32, status: ProtocolStatus) -> [u8; END_REQUEST_LENGTH] {
    let [a, b, c, d] = application_status.to_be_bytes();
    [a, b, c, d, status.number(), 0, 0, 0]
}

pub(crate) fn decode_end_request([a, b, c, d, status, ..]: [u8; END_REQUEST_LENGTH]) -> (u32, ProtocolStatus) {
    (u32::from_be_bytes([a, b, c, d]), ProtocolStatus::of_number(status))
}

pub(crate) const END_REQUEST_LENGTH: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_decoded_as_they_were_encoded() {
        for number in 0..=u8::MAX {
            let status = ProtocolStatus::of_number(number);
            let bytes = encode_end_request(0x0102_0304, status);
            assert_eq!(bytes, [1, 2, 3, 4, number, 0, 0, 0]);
            assert_eq!(decode_end_request(bytes), (0x0102_0304, status));
        }
    }
}

//! Why an update has not succeeded, as its response says.

use std::{error::Error, fmt, time::Duration};

/// Why a response does not say that the request has succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TsigError {
    /// It is not a response to this request.
    Malformed,
    /// It says that the request has succeeded, but nobody has signed that.
    Unsigned,
    /// Its signature is not one of this key.
    ForgedResponse,
    /// It was signed at another time (seconds since 1970): somebody repeats an old one, or a clock is wrong.
    OldResponse(u64),
    /// The server does not have this key, or not for this algorithm (BADKEY).
    UnknownKey,
    /// The server has another secret for this key (BADSIG).
    WrongSecret,
    /// The server's clock differs by more than five minutes (BADTIME): what it shows, in seconds since 1970.
    WrongTime {
        /// When the request was signed.
        signed: u64,
        /// The time that the server's clock showed.
        server: Option<u64>,
    },
    /// The server rejects the request with this code (RCODE).
    Rejected(u16),
}

impl fmt::Display for TsigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => formatter.write_str("its response is not valid DNS"),
            Self::Unsigned => formatter.write_str("its response is not signed: give it the key too"),
            Self::ForgedResponse => formatter.write_str("its response is not signed with this key"),
            Self::OldResponse(_) => formatter.write_str("its response was signed at another time: set the clocks"),
            Self::UnknownKey => formatter.write_str(
                "it does not have this key, or has it with another algorithm (BADKEY): compare the key files of both",
            ),
            Self::WrongSecret => {
                formatter.write_str("it has another secret for this key (BADSIG): compare the key files of both")
            }
            Self::WrongTime { signed, server: Some(server) } => write!(
                formatter,
                "its clock is {:?} {} (BADTIME): set the clocks",
                Duration::from_secs(signed.abs_diff(*server)),
                if server > signed { "ahead" } else { "behind" }
            ),
            Self::WrongTime { .. } => formatter.write_str("its clock shows another time (BADTIME): set the clocks"),
            Self::Rejected(5) => formatter.write_str(
                "it does not allow this key to change the record (REFUSED): allow it by `update-policy` of the zone",
            ),
            Self::Rejected(9) => formatter.write_str("it is not the primary server of the zone (NOTAUTH)"),
            Self::Rejected(2) => formatter.write_str("it failed (SERVFAIL): see its log"),
            Self::Rejected(code @ (1 | 4)) => {
                write!(formatter, "it does not support updates ({})", if *code == 1 { "FORMERR" } else { "NOTIMP" })
            }
            Self::Rejected(code) => write!(formatter, "it rejects the update with code {code}"),
        }
    }
}

impl Error for TsigError {}

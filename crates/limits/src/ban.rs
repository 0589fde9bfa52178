//! A ban, and how the table of bans changes.

use std::{error::Error, fmt, str::FromStr, sync::Arc, time::Duration};

use serow_message::ClientNetwork;

/// A client that is refused for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ban {
    /// The client.
    pub client: ClientNetwork,
    /// The moment at which the ban ends.
    pub until: Duration,
    /// Why the client is banned: one line of at most 200 bytes.
    pub reason: Arc<str>,
    /// The origin of the ban.
    pub origin: BanOrigin,
}

/// The origin of a ban.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BanOrigin {
    /// A limit that the client broke too often.
    Limit,
    /// `serow ban add`.
    Administrator,
    /// Another server of the fleet.
    Fleet,
}

/// A change of the table, for those who subscribe to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BanChange {
    /// A client is banned, or its ban has got another end. The ban's origin says who changed it.
    Added(Ban),
    /// A ban was lifted, by this origin, before its end.
    Removed(ClientNetwork, BanOrigin),
}

/// Why a client cannot be banned. The message names the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BanError {
    /// A trusted proxy has an address in this network: a ban would refuse all of its clients.
    TrustedProxy(ClientNetwork),
}

impl Ban {
    /// How long the ban lasts from this moment.
    #[must_use]
    pub fn remaining(&self, now: Duration) -> Duration {
        self.until.saturating_sub(now)
    }
}

impl BanOrigin {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Limit, Self::Administrator, Self::Fleet];

    /// Its name in the status and in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Administrator => "administrator",
            Self::Fleet => "fleet",
        }
    }
}

impl FromStr for BanOrigin {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|origin| origin.name() == text).ok_or(())
    }
}

impl fmt::Display for BanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::TrustedProxy(client) = self;
        write!(f, "{client} is in `trust`: a ban would refuse all clients of this proxy; ban the clients")
    }
}

impl Error for BanError {}

/// A reason as one line that is not long: it comes from administrators and other servers, and appears in logs.
pub(crate) fn clean_reason(reason: &str) -> Arc<str> {
    let mut end = reason.len().min(MAX_REASON);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let reason = &reason[..end];
    match reason.contains(is_unprintable) {
        true => reason.replace(is_unprintable, " ").into(),
        false => reason.into(),
    }
}

/// Control characters, and those that change the direction of what follows.
fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// In bytes: a sentence. With as many bans as there can be, reasons take 13 MB.
const MAX_REASON: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_one_short_line() {
        let long = "é".repeat(150);
        for (reason, expected) in [
            ("", ""),
            ("too many logins", "too many logins"),
            ("a\nERROR forged\u{202e}", "a ERROR forged "),
            (&long, &long[..200]),
        ] {
            assert_eq!(&*clean_reason(reason), expected);
        }
    }

    #[test]
    fn origins_have_names() {
        for origin in BanOrigin::ALL {
            assert_eq!(origin.name().parse(), Ok(origin));
        }
        assert_eq!("nobody".parse::<BanOrigin>(), Err(()));
    }
}

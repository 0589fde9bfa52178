//! Commands that ban clients and lift bans.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serow_limits::{BanOrigin, Bans};
use serow_message::ClientNetwork;
use serow_net::monotonic;

use super::units::long_time;

/// Bans a client or lifts a ban: as JSON, the body of a POST to `/bans`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BanCommand {
    /// The action.
    pub ban: BanAction,
    /// The client: an IPv4 address, an IPv6 address, or the /64 of one.
    pub client: String,
    /// How many seconds the ban lasts [default: 3600]
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// The reason, for people who list bans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An action on a client.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum BanAction {
    /// Refuse it.
    Add,
    /// Refuse it no longer.
    Remove,
}

impl BanCommand {
    /// Reads a command from JSON, or returns what is wrong with the text.
    pub(crate) fn read(json: &[u8]) -> Result<Self, String> {
        let command: Self = serde_json::from_slice(json).map_err(|error| {
            format!("invalid command ({error}); write it as in {}", r#"{"ban":"add","client":"192.0.2.1","for":600}"#)
        })?;
        command.wanted()?;
        match (command.ban, command.seconds, &command.reason) {
            (BanAction::Remove, None, None) | (BanAction::Add, None | Some(1..), _) => Ok(command),
            (BanAction::Add, Some(0), _) => Err("\"for\" is 0: write the seconds, as in \"for\":600".to_owned()),
            (BanAction::Remove, ..) => Err("`for` and `reason` are for \"add\" only: leave them out".to_owned()),
        }
    }

    /// Applies it; returns what was done, in a line.
    ///
    /// # Errors
    ///
    /// The client is not one, or is a trusted proxy; one line.
    pub fn apply(&self, bans: &Bans) -> Result<String, String> {
        self.apply_as(bans, BanOrigin::Administrator)
    }

    /// Applies it as one of this origin.
    pub(super) fn apply_as(&self, bans: &Bans, origin: BanOrigin) -> Result<String, String> {
        let (client, now) = (self.wanted()?, monotonic());
        if self.ban == BanAction::Remove {
            return Ok(match bans.remove(client, origin, now) {
                true => format!("{client} is no longer banned"),
                false => format!("{client} was not banned"),
            });
        }
        let length = self.length();
        let reason = self.reason.as_deref().unwrap_or_default();
        let ban = bans.add(client, length, reason, origin, now).map_err(|error| error.to_string())?;
        Ok(format!("{client} is banned for {}", long_time(ban.remaining(now).as_secs())))
    }

    /// How long the ban lasts.
    pub(super) fn length(&self) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(LENGTH))
    }

    fn wanted(&self) -> Result<ClientNetwork, String> {
        self.client.parse().map_err(|error| format!("client {:?}: {error}", self.client))
    }
}

/// As in the audit log. Texts of the caller are in quotes: a line break in one must not begin a line of the log.
impl fmt::Display for BanCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self.ban {
            BanAction::Add => "ban",
            BanAction::Remove => "lift the ban of",
        };
        write!(f, "{action} client={:?}", self.client)?;
        self.seconds.map_or(Ok(()), |seconds| write!(f, " for={seconds}"))?;
        self.reason.as_ref().map_or(Ok(()), |reason| write!(f, " reason={reason:?}"))
    }
}

/// An hour, in seconds: long enough to look at what the client does.
const LENGTH: u64 = 3600;

#[cfg(test)]
mod tests {
    use serow_message::{Network, TrustedProxies};

    use super::*;

    #[test]
    fn commands_ban_clients_or_say_why_not() {
        let trusted: TrustedProxies = ["10.0.0.0/8".parse::<Network>().unwrap()].into_iter().collect();
        let bans = Bans::new(trusted);
        for (json, expected, count) in [
            (r#"{"ban":"remove","client":"192.0.2.1"}"#, Ok("192.0.2.1 was not banned"), 0),
            (r#"{"ban":"add","client":"192.0.2.1"}"#, Ok("192.0.2.1 is banned for 1 h 0 min"), 1),
            (
                r#"{"ban":"add","client":"2001:db8::1","for":90,"reason":"scans"}"#,
                Ok("2001:db8::/64 is banned for 1 min 30 s"),
                2,
            ),
            (r#"{"ban":"remove","client":"2001:db8::/64"}"#, Ok("2001:db8::/64 is no longer banned"), 1),
            (r#"{"ban":"add","client":"10.0.0.1"}"#, Err("10.0.0.1 is in `trust`"), 1),
            (r#"{"ban":"add","client":"192.0.2.0/24"}"#, Err("client \"192.0.2.0/24\": not one client"), 1),
            (r#"{"ban":"add","client":"192.0.2.1","for":0}"#, Err("\"for\" is 0"), 1),
            (r#"{"ban":"remove","client":"192.0.2.1","for":9}"#, Err("`for` and `reason` are for"), 1),
            (r#"{"ban":"maybe","client":"192.0.2.1"}"#, Err("invalid command ("), 1),
            (r#"{"ban":"add"}"#, Err("invalid command ("), 1),
        ] {
            let done = BanCommand::read(json.as_bytes()).and_then(|command| command.apply(&bans));
            match (&done, expected) {
                (Ok(done), Ok(expected)) => assert_eq!(done, expected, "{json}"),
                (Err(reason), Err(expected)) => assert!(reason.starts_with(expected), "{json}: {reason}"),
                (done, _) => panic!("{json}: {done:?}"),
            }
            assert_eq!(bans.counts(monotonic()).banned, count, "{json}");
        }
    }

    #[test]
    fn text_of_the_caller_stays_on_its_line() {
        let json = r#"{"ban":"add","client":"192.0.2.1","for":9,"reason":"a\nERROR forged"}"#;
        let command = BanCommand::read(json.as_bytes()).unwrap();
        assert_eq!(command.to_string(), r#"ban client="192.0.2.1" for=9 reason="a\nERROR forged""#);
    }
}

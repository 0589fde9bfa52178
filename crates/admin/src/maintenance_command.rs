//! Commands that begin and end maintenance.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serow_gateway::Network;
use serow_site::{Maintenance, MaintenanceSwitch};

/// Begins or ends maintenance: as JSON, the body of a POST to `/maintenance`.
///
/// Later generations of `serow run` continue with it: a reload during maintenance does not end it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MaintenanceCommand {
    /// Whether there is maintenance from now on.
    pub maintenance: MaintenanceState,
    /// In how many seconds clients may ask again (`Retry-After`) [default: 300]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// Networks whose clients are served as usual, as in `10.0.0.0/8`; `unix` for clients at unix sockets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
}

/// Whether there is maintenance.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum MaintenanceState {
    /// Clients receive 503.
    On,
    /// Clients are served.
    Off,
}

impl MaintenanceCommand {
    /// Reads a command from JSON, or returns what is wrong with the text.
    pub(crate) fn read(json: &[u8]) -> Result<Self, String> {
        let command: Self = serde_json::from_slice(json).map_err(|error| {
            format!("invalid command ({error}); write it as in {}", r#"{"maintenance":"on","retry-after":300}"#)
        })?;
        command.wanted().map(|_| command)
    }

    /// Applies it; returns what was done, in a line.
    ///
    /// # Errors
    ///
    /// A network that is none; one line.
    pub fn apply(&self, switch: &MaintenanceSwitch) -> Result<String, String> {
        let wanted = self.wanted()?;
        let had = switch.get().is_some();
        let done = match (&wanted, had) {
            (None, false) => "maintenance was not on".to_owned(),
            (None, true) => "maintenance has ended: clients are served".to_owned(),
            (Some(maintenance), _) if maintenance.allowed.is_empty() => {
                "maintenance: all clients receive 503".to_owned()
            }
            (Some(_), _) => format!("maintenance: clients receive 503, except {}", self.allow.join(", ")),
        };
        switch.set(wanted);
        Ok(done)
    }

    /// Applies the overrides of earlier generations.
    pub fn apply_overrides(overrides: &[Value], switch: &MaintenanceSwitch) {
        for command in overrides.iter().filter_map(|command| Self::deserialize(command).ok()) {
            if let Err(reason) = command.apply(switch) {
                tracing::info!("the override for maintenance is skipped: {reason}");
            }
        }
    }

    /// Adds it to the overrides, in place of an earlier one; the end of maintenance is none.
    pub fn remember(self, remembered: &mut Vec<Value>) {
        remembered.retain(|other| Self::deserialize(other).is_err());
        if self.maintenance == MaintenanceState::On {
            remembered.extend(serde_json::to_value(self));
        }
    }

    fn wanted(&self) -> Result<Option<Maintenance>, String> {
        if self.maintenance == MaintenanceState::Off {
            return match (self.retry_after, &self.allow[..]) {
                (None, []) => Ok(None),
                _ => Err("`retry-after` and `allow` are for \"on\" only: leave them out".to_owned()),
            };
        }
        let network = |text: &String| text.parse::<Network>().map_err(|error| format!("allow {text:?}: {error}"));
        let allowed = self.allow.iter().map(network).collect::<Result<_, _>>()?;
        let seconds = self.retry_after.unwrap_or(RETRY_AFTER);
        Ok(Some(Maintenance { retry_after: Duration::from_secs(seconds.into()), allowed }))
    }
}

/// As in the audit log. Texts of the caller are in quotes: a line break in one must not begin a line of the log.
impl fmt::Display for MaintenanceCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.maintenance {
            MaintenanceState::On => "begin maintenance",
            MaintenanceState::Off => "end maintenance",
        })?;
        self.retry_after.map_or(Ok(()), |seconds| write!(f, " retry-after={seconds}"))?;
        self.allow.iter().try_for_each(|network| write!(f, " allow={network:?}"))
    }
}

/// Five minutes, in seconds: search engines and monitors ask again soon, and an outage is seldom shorter.
const RETRY_AFTER: u32 = 300;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_switch_maintenance_or_say_why_not() {
        let switch = MaintenanceSwitch::default();
        for (json, expected, seconds) in [
            (r#"{"maintenance":"off"}"#, Ok("maintenance was not on"), None),
            (r#"{"maintenance":"on"}"#, Ok("maintenance: all clients receive 503"), Some(300)),
            (
                r#"{"maintenance":"on","retry-after":60,"allow":["10.0.0.0/8","unix"]}"#,
                Ok("maintenance: clients receive 503, except 10.0.0.0/8, unix"),
                Some(60),
            ),
            (r#"{"maintenance":"on","allow":["10.0.0.0/99"]}"#, Err("allow \"10.0.0.0/99\": "), Some(60)),
            (r#"{"maintenance":"off","retry-after":60}"#, Err("`retry-after` and `allow` are for \"on\""), Some(60)),
            (r#"{"maintenance":"maybe"}"#, Err("invalid command ("), Some(60)),
            (r#"{"maintenance":"off"}"#, Ok("maintenance has ended: clients are served"), None),
        ] {
            let done = MaintenanceCommand::read(json.as_bytes()).and_then(|command| command.apply(&switch));
            match (&done, expected) {
                (Ok(done), Ok(expected)) => assert_eq!(done, expected, "{json}"),
                (Err(reason), Err(expected)) => assert!(reason.starts_with(expected), "{json}: {reason}"),
                (done, _) => panic!("{json}: {done:?}"),
            }
            assert_eq!(switch.get().map(|maintenance| maintenance.retry_after.as_secs()), seconds, "{json}");
        }
    }

    #[test]
    fn later_generations_continue_with_it_until_it_ends() {
        let command = |json: &str| MaintenanceCommand::read(json.as_bytes()).unwrap();
        let other = serde_json::json!({ "upstream": "app" });
        let mut remembered = vec![other.clone()];
        command(r#"{"maintenance":"on"}"#).remember(&mut remembered);
        command(r#"{"maintenance":"on","retry-after":7}"#).remember(&mut remembered);
        let switch = MaintenanceSwitch::default();
        MaintenanceCommand::apply_overrides(&remembered, &switch);
        assert_eq!((remembered.len(), switch.get().unwrap().retry_after.as_secs()), (2, 7));
        command(r#"{"maintenance":"off"}"#).remember(&mut remembered);
        assert_eq!(remembered, [other]);
    }
}

//! Commands that are given to all servers of a fleet.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serow_config::AddedFileName;
use serow_fleet::journal_subject;
use serow_limits::{BanOrigin, Bans};
use serow_net::monotonic;
use serow_supervisor::master::{ChangeError, Changed};

use super::{
    added_settings::{Precondition, SettingsChange},
    ban_command::{BanAction, BanCommand},
    maintenance_command::{MaintenanceCommand, MaintenanceState},
    purge_command::{PurgeCommand, PurgedResponses},
    server_command::{Action, ServerCommand},
};

/// A command for all servers of a fleet, as it is in their journals.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum FleetCommand {
    /// Begin or end maintenance.
    Maintenance(MaintenanceCommand),
    /// Change a server of an upstream.
    Server(ServerCommand),
    /// Purge the cache.
    Purge(PurgeCommand),
    /// Ban a client or lift a ban.
    Ban {
        /// The client and the reason.
        command: BanCommand,
        /// Until when, in seconds since 1970: a server may learn of it much later.
        until: u64,
    },
    /// Add, replace or remove a settings file.
    Config {
        /// Its name.
        name: AddedFileName,
        /// Its text; none removes it.
        text: Option<String>,
    },
}

/// A command for the fleet, from the admin endpoint to the process that serves.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct FleetRequest {
    /// The command.
    pub fleet: FleetCommand,
    /// Which version an added file must have on this server.
    #[serde(default)]
    pub precondition: Precondition,
}

/// The outcome of such a request.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub enum FleetOutcome {
    /// This was done here, and the others learn of it.
    Done {
        /// The line of this server.
        done: String,
        /// The line about the others.
        fleet: String,
    },
    /// The settings were changed, and the others learn of it.
    Changed {
        /// The change on this server.
        changed: Changed,
        /// The line about the others.
        fleet: String,
    },
    /// They were not.
    NotChanged(ChangeError),
}

/// A ban that the journal has: other servers learn of it from there, so that it is not published.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FleetBan {
    /// The ban.
    pub fleet_ban: BanCommand,
}

impl FleetCommand {
    /// A command for bans that is given at this time, in seconds since 1970.
    #[must_use]
    pub fn ban(command: BanCommand, now: u64) -> Self {
        let until = now.saturating_add(command.length().as_secs());
        Self::Ban { command, until }
    }

    /// The thing that it is about: a later command about the same takes its place.
    #[must_use]
    pub fn subject(&self) -> String {
        match self {
            Self::Maintenance(_) => "maintenance".to_owned(),
            Self::Server(command) => {
                journal_subject("server", &format!("{}/{}/{}", command.aspect(), command.upstream, command.address()))
            }
            Self::Purge(PurgeCommand { purge, soft }) => {
                let (kind, text) = match purge {
                    PurgedResponses::Url(url) => ("url", url.as_str()),
                    PurgedResponses::Prefix(url) => ("prefix", url.as_str()),
                    PurgedResponses::Tag(tag) => ("tag", tag.as_str()),
                    PurgedResponses::All => ("all", ""),
                };
                journal_subject("purge", &format!("{}/{kind}/{text}", if *soft { "soft" } else { "hard" }))
            }
            Self::Ban { command, .. } => journal_subject("ban", &command.client),
            Self::Config { name, .. } => journal_subject("config", name.as_str()),
        }
    }

    /// For how many seconds it is kept; `None` for ever. Those that leave nothing to be kept are kept for servers that are
    /// away.
    #[must_use]
    pub fn life(&self, now: u64) -> Option<u64> {
        match self {
            Self::Purge(_) => Some(DAY),
            Self::Ban { command, until } => match command.ban {
                BanAction::Add => Some(until.saturating_sub(now).max(1)),
                BanAction::Remove => Some(DAY),
            },
            Self::Maintenance(MaintenanceCommand { maintenance: MaintenanceState::Off, .. })
            | Self::Server(ServerCommand { action: Action::Up, .. })
            | Self::Config { text: None, .. } => Some(MAX_ABSENCE),
            Self::Maintenance(_) | Self::Server(_) | Self::Config { .. } => None,
        }
    }

    /// The command for the master, and whether later processes get it as well; `None` for settings, which are a
    /// [`change`](Self::change), and for what is over at this time, in seconds since 1970.
    #[must_use]
    pub fn for_master(&self, now: u64) -> Option<(Value, bool)> {
        match self {
            Self::Maintenance(command) => Some((json!(command), true)),
            Self::Server(command) => Some((json!(ServerCommand { persist: true, ..command.clone() }), true)),
            Self::Purge(command) => Some((json!(command), false)),
            Self::Ban { command, until } => {
                let left = until.saturating_sub(now);
                let is_over = command.ban == BanAction::Add && left == 0;
                let seconds = command.seconds.map(|_| left).or((command.ban == BanAction::Add).then_some(left));
                let fleet_ban = BanCommand { seconds, ..command.clone() };
                (!is_over).then(|| (json!(FleetBan { fleet_ban }), false))
            }
            Self::Config { .. } => None,
        }
    }

    /// The change of the settings, if it is one.
    #[must_use]
    pub fn change(&self, precondition: Precondition) -> Option<SettingsChange> {
        match self {
            Self::Config { name, text } => {
                Some(SettingsChange { name: name.clone(), text: text.clone(), precondition })
            }
            _ => None,
        }
    }

    /// Whether a server that starts has to execute it again: its effect ends with the master.
    #[must_use]
    pub fn ends_with_master(&self) -> bool {
        matches!(self, Self::Maintenance(_) | Self::Server(_) | Self::Ban { .. })
    }
}

impl FleetBan {
    /// Applies it; returns what was done, in a line.
    ///
    /// # Errors
    ///
    /// The client is not one, or is a trusted proxy; one line.
    pub fn apply(&self, bans: &Bans) -> Result<String, String> {
        if self.fleet_ban.ban == BanAction::Add {
            // It may be shorter than the ban that there is.
            let client = self.fleet_ban.client.parse().map_err(|error| format!("{error}"))?;
            bans.remove(client, BanOrigin::Fleet, monotonic());
        }
        self.fleet_ban.apply_as(bans, BanOrigin::Fleet)
    }

    /// Applies those among the overrides of a server that starts.
    pub fn apply_overrides(overrides: &[Value], bans: &Bans) {
        for ban in overrides.iter().filter_map(|command| Self::deserialize(command).ok()) {
            if let Err(reason) = ban.apply(bans) {
                tracing::info!("the ban of {:?} is skipped: {reason}", ban.fleet_ban.client);
            }
        }
    }
}

/// As in the audit log.
impl fmt::Display for FleetCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Maintenance(command) => command.fmt(f),
            Self::Server(command) => command.fmt(f),
            Self::Purge(command) => command.fmt(f),
            Self::Ban { command, .. } => command.fmt(f),
            Self::Config { name, text: Some(_) } => write!(f, "put the settings file {name}"),
            Self::Config { name, text: None } => write!(f, "remove the settings file {name}"),
        }
    }
}

/// How long a removal is kept, in seconds: a server that was away for longer would bring back the removed thing.
const MAX_ABSENCE: u64 = 90 * DAY;

/// In seconds.
const DAY: u64 = Duration::from_secs(86_400).as_secs();

#[cfg(test)]
mod tests {
    use super::*;

    fn command(json: &str) -> FleetCommand {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn commands_about_the_same_have_one_subject() {
        let long = format!(r#"{{"purge":{{"purge":{{"url":"https://a/{}"}}}}}}"#, "x".repeat(300));
        for (json, expected, life) in [
            (r#"{"maintenance":{"maintenance":"on"}}"#, "maintenance", None),
            (r#"{"maintenance":{"maintenance":"off"}}"#, "maintenance", Some(90)),
            (
                r#"{"server":{"upstream":"app","server":"a:1,weight=2","action":"add"}}"#,
                "server/membership/app/a:1",
                None,
            ),
            (r#"{"server":{"upstream":"app","server":"a:1","action":"remove"}}"#, "server/membership/app/a:1", None),
            (r#"{"server":{"upstream":"app","server":"a:1","action":"drain"}}"#, "server/rotation/app/a:1", None),
            (r#"{"server":{"upstream":"app","server":"a:1","action":"up"}}"#, "server/rotation/app/a:1", Some(90)),
            (r#"{"purge":{"purge":"all"}}"#, "purge/hard/all/", Some(1)),
            (r#"{"purge":{"purge":{"tag":"a"},"soft":true}}"#, "purge/soft/tag/a", Some(1)),
            (&long, "purge/sha256:", Some(1)),
            (r#"{"config":{"name":"shop.example","text":"a"}}"#, "config/shop.example", None),
            (r#"{"config":{"name":"shop.example","text":null}}"#, "config/shop.example", Some(90)),
            (r#"{"ban":{"command":{"ban":"add","client":"192.0.2.1"},"until":172800}}"#, "ban/192.0.2.1", Some(2)),
            (r#"{"ban":{"command":{"ban":"remove","client":"192.0.2.1"},"until":0}}"#, "ban/192.0.2.1", Some(1)),
        ] {
            let command = command(json);
            let subject = command.subject();
            assert!(
                subject == expected || expected.ends_with(':') && subject.starts_with(expected),
                "{json}: {subject}"
            );
            assert_eq!(command.life(0), life.map(|days| days * DAY), "{json}");
            assert_eq!(
                serde_json::from_str::<FleetCommand>(&serde_json::to_string(&command).unwrap()).unwrap(),
                command
            );
        }
    }

    #[test]
    fn a_ban_lasts_until_its_end_and_is_not_published() {
        let bans = Bans::default();
        let published = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let sink = std::sync::Arc::clone(&published);
        bans.subscribe(move |change| {
            let origin = match change {
                serow_limits::BanChange::Added(ban) => ban.origin,
                serow_limits::BanChange::Removed(_, origin) => *origin,
            };
            sink.lock().unwrap().push(origin);
        });
        let ban = |seconds| {
            let client = "192.0.2.1".to_owned();
            FleetCommand::ban(BanCommand { ban: BanAction::Add, client, seconds: Some(seconds), reason: None }, 1000)
        };
        let apply = |command: &FleetCommand, now| {
            let (value, persists) = command.for_master(now)?;
            assert!(!persists);
            Some(serde_json::from_value::<FleetBan>(value).unwrap().apply(&bans).unwrap())
        };
        assert_eq!(apply(&ban(600), 1000).as_deref(), Some("192.0.2.1 is banned for 10 min 0 s"));
        assert_eq!(apply(&ban(60), 1000).as_deref(), Some("192.0.2.1 is banned for 1 min 0 s"));
        assert_eq!(apply(&ban(60), 1050).as_deref(), Some("192.0.2.1 is banned for 10 s"));
        assert_eq!(apply(&ban(60), 1060), None);
        assert!(published.lock().unwrap().iter().all(|origin| *origin == BanOrigin::Fleet));
    }
}

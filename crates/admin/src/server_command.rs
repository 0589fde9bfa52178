//! Commands for the servers of an upstream.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serow_config::values::ServerRule;
use serow_proxy::{Administration, ControlError, ServerSettings, Upstream};

/// A command for a server of an upstream: as JSON, the body of a POST to `/upstreams`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServerCommand {
    /// The name of its upstream.
    pub upstream: String,
    /// Its address, or its id; of one that is to be added, all that a settings file says of it.
    pub server: String,
    /// The action.
    pub action: Action,
    /// Its new weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u16>,
    /// Whether it applies to later generations of `serow run`, too: then it is an override of the settings file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persist: bool,
}

/// An action on a server.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Put it back into rotation.
    Up,
    /// Take it out of rotation.
    Down,
    /// Send it no new sessions, and keep those it has.
    Drain,
    /// Change its weight.
    Weight,
    /// Add it to the upstream.
    Add,
    /// Remove it from the upstream.
    Remove,
}

/// Commands of one aspect replace one another.
#[derive(PartialEq, Eq)]
pub(super) enum Aspect {
    Administration,
    Weight,
    Membership,
}

impl ServerCommand {
    /// Reads a command from JSON, or returns what is wrong with the text.
    pub(crate) fn read(json: &[u8]) -> Result<Self, String> {
        let command: Self = serde_json::from_slice(json).map_err(|error| {
            format!(
                "invalid command ({error}); write it as in {}",
                r#"{"upstream":"app","server":"127.0.0.1:9000","action":"drain"}"#
            )
        })?;
        match (command.action, command.weight) {
            (Action::Weight, None | Some(0)) => Err("the weight is missing: write it as in \"weight\":3".to_owned()),
            (Action::Weight, Some(_)) | (_, None) => Ok(command),
            (_, Some(_)) => Err("a weight is for the action \"weight\" only: leave it out".to_owned()),
        }
    }

    /// Applies it to one of these upstreams; returns what was done, in a line.
    ///
    /// # Errors
    ///
    /// There is no such upstream or server, or the command is not possible for it; one line.
    pub fn apply(&self, upstreams: &[Upstream]) -> Result<String, String> {
        let Some(upstream) = upstreams.iter().find(|upstream| upstream.settings().name == self.upstream) else {
            let names: Vec<_> = upstreams.iter().map(|upstream| upstream.settings().name.as_str()).collect();
            return Err(match names.is_empty() {
                true => format!("there is no upstream {}, nor any other", self.upstream),
                false => format!("there is no upstream {}; available: {}", self.upstream, names.join(", ")),
            });
        };
        let Self { server, upstream: name, .. } = self;
        let of_upstream = |error: ControlError| format!("upstream {name}: {error}");
        let administrate = |wanted| upstream.administrate(server, wanted).map_err(of_upstream);
        let (changed, done) = match self.action {
            Action::Up => (administrate(Administration::Up)?, "up".to_owned()),
            Action::Down => (administrate(Administration::Down)?, "down".to_owned()),
            Action::Drain => (administrate(Administration::Draining)?, "draining".to_owned()),
            Action::Weight => {
                let weight = self.weight.unwrap_or(1);
                (upstream.change_weight(server, weight).map_err(of_upstream)?, format!("of weight {weight}"))
            }
            Action::Add => {
                let rule = server.parse::<ServerRule>().map_err(|error| error.to_string())?;
                let ServerRule { address, weight, backup, max_requests, id } = rule;
                let settings = ServerSettings { address, weight, backup, max_requests, id };
                let added = settings.address.to_string();
                upstream.add_server(settings).map_err(of_upstream)?;
                (vec![added], "added".to_owned())
            }
            Action::Remove => (upstream.remove_server(server).map_err(of_upstream)?, "removed".to_owned()),
        };
        let is = if changed.len() == 1 { "is" } else { "are" };
        Ok(format!("{} of {name} {is} {done}", changed.join(", ")))
    }

    /// Applies the overrides of earlier generations. One whose server the settings no longer have is logged and
    /// skipped.
    pub fn apply_overrides(overrides: &[Value], upstreams: &[Upstream]) {
        for command in overrides.iter().filter_map(|command| Self::deserialize(command).ok()) {
            if let Err(reason) = command.apply(upstreams) {
                tracing::info!("the override for {} is skipped: {reason}", command.server);
            }
        }
    }

    /// Adds it to the overrides, in place of those that it replaces.
    pub fn remember(self, remembered: &mut Vec<Value>) {
        let is_replaced = |other: &Self| {
            (&other.upstream, other.address(), other.aspect()) == (&self.upstream, self.address(), self.aspect())
        };
        // Those of other kinds remain.
        remembered.retain(|other| Self::deserialize(other).map_or(true, |other| !is_replaced(&other)));
        remembered.extend(serde_json::to_value(self));
    }

    /// The server's address without its parameters.
    pub(super) fn address(&self) -> &str {
        self.server.split(',').next().unwrap_or_default()
    }

    pub(super) fn aspect(&self) -> Aspect {
        match self.action {
            Action::Up | Action::Down | Action::Drain => Aspect::Administration,
            Action::Weight => Aspect::Weight,
            Action::Add | Action::Remove => Aspect::Membership,
        }
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Administration => "rotation",
            Self::Weight => "weight",
            Self::Membership => "membership",
        })
    }
}

/// As in the audit log. In quotes, since it is text of the caller's: a line break in it must not begin a line of the log.
impl fmt::Display for ServerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { upstream, server, action, weight, persist } = self;
        let name = match action {
            Action::Up => "up",
            Action::Down => "down",
            Action::Drain => "drain",
            Action::Weight => "weight",
            Action::Add => "add",
            Action::Remove => "remove",
        };
        write!(f, "{name} upstream={upstream:?} server={server:?}")?;
        weight.map_or(Ok(()), |weight| write!(f, " weight={weight}"))?;
        if *persist { f.write_str(" persist") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use serow_proxy::{ServerSettings, UpstreamSettings};

    use super::*;

    fn upstreams() -> Vec<Upstream> {
        let server = |text: &str| ServerSettings::new(text.parse().unwrap());
        vec![Upstream::new(UpstreamSettings::new("app", vec![server("127.0.0.1:1"), server("127.0.0.1:2")]))]
    }

    #[test]
    fn commands_change_servers_or_say_why_not() {
        let upstreams = upstreams();
        for (json, expected) in [
            (r#"{"upstream":"app","server":"127.0.0.1:1","action":"drain"}"#, Ok("127.0.0.1:1 of app is draining")),
            (
                r#"{"upstream":"app","server":"127.0.0.1:1","action":"up","persist":true}"#,
                Ok("127.0.0.1:1 of app is up"),
            ),
            (
                r#"{"upstream":"app","server":"127.0.0.1:2","action":"weight","weight":5}"#,
                Ok("127.0.0.1:2 of app is of weight 5"),
            ),
            (r#"{"upstream":"app","server":"127.0.0.1:3,max=5","action":"add"}"#, Ok("127.0.0.1:3 of app is added")),
            (r#"{"upstream":"app","server":"127.0.0.1:2","action":"remove"}"#, Ok("127.0.0.1:2 of app is removed")),
            (
                r#"{"upstream":"app","server":"127.0.0.1:2","action":"down"}"#,
                Err("upstream app: there is no server 127.0.0.1:2; available: 127.0.0.1:1, 127.0.0.1:3"),
            ),
            (
                r#"{"upstream":"ap","server":"127.0.0.1:1","action":"down"}"#,
                Err("there is no upstream ap; available: app"),
            ),
            (r#"{"upstream":"app","server":"a b","action":"add"}"#, Err(r#""a b" is not a server"#)),
            (r#"{"upstream":"app","server":"127.0.0.1:1","action":"weight"}"#, Err("the weight is missing")),
            (r#"{"upstream":"app","server":"127.0.0.1:1","action":"weight","weight":0}"#, Err("the weight is missing")),
            (
                r#"{"upstream":"app","server":"127.0.0.1:1","action":"up","weight":1}"#,
                Err("a weight is for the action"),
            ),
            (r#"{"upstream":"app","server":"127.0.0.1:1","action":"halt"}"#, Err("invalid command (unknown variant")),
            (r#"{"upstream":"app","server":"127.0.0.1:1"}"#, Err("invalid command (missing field")),
            ("", Err("invalid command (EOF")),
        ] {
            let outcome = ServerCommand::read(json.as_bytes()).and_then(|command| command.apply(&upstreams));
            match (&outcome, expected) {
                (Ok(done), Ok(expected)) => assert_eq!(done, expected),
                (Err(reason), Err(expected)) => assert!(reason.starts_with(expected), "{reason}"),
                _ => panic!("{json}: {outcome:?}"),
            }
        }
    }

    #[test]
    fn the_last_of_each_kind_is_remembered() {
        let command = |server: &str, action, weight| ServerCommand {
            upstream: "app".to_owned(),
            server: server.to_owned(),
            action,
            weight,
            persist: true,
        };
        let of_another_kind = Value::from("maintenance");
        let mut remembered = vec![of_another_kind.clone()];
        for command in [
            command("a:1", Action::Down, None),
            command("b:1", Action::Add, None),
            command("a:1", Action::Weight, Some(2)),
            command("b:1,weight=2", Action::Add, None),
            command("a:1", Action::Weight, Some(3)),
            command("a:1", Action::Drain, None),
        ] {
            command.remember(&mut remembered);
        }
        assert_eq!(remembered.remove(0), of_another_kind);
        let kept: Vec<ServerCommand> =
            remembered.iter().map(|command| ServerCommand::deserialize(command).unwrap()).collect();
        let expected = [
            command("b:1,weight=2", Action::Add, None),
            command("a:1", Action::Weight, Some(3)),
            command("a:1", Action::Drain, None),
        ];
        assert_eq!(kept, expected);
    }
}

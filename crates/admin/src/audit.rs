//! The audit log of the admin endpoint: a line of the error log for each change, and for those that were
//! refused.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use serow::{Connection, Peer, PeerCredentials, Request, StatusCode};
use serow_acme::{CertificateAction, CertificateCommand};
use serow_net::monotonic;
use serow_supervisor::master::WantedProcess;

use super::{
    added_settings::SettingsChange, ban_command::BanCommand, fleet_command::FleetCommand,
    maintenance_command::MaintenanceCommand, purge_command::PurgeCommand, server_command::ServerCommand,
};

/// A command that changes something.
#[derive(Clone, Debug)]
pub(super) enum Command {
    /// Read the settings file again.
    Reload(WantedProcess),
    /// Stop the server.
    Stop,
    /// Change a server of an upstream.
    Server(ServerCommand),
    /// Order or revoke a certificate.
    Certificate(CertificateCommand),
    /// Ban a client, or lift a ban.
    Ban(BanCommand),
    /// Begin or end maintenance.
    Maintenance(MaintenanceCommand),
    /// Purge the cache.
    Purge(PurgeCommand),
    /// Add, change or remove a settings file.
    Config(SettingsChange),
    /// One of these, for all servers of the fleet.
    Fleet(FleetCommand),
}

/// The sender of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    peer: Peer,
    credentials: Option<PeerCredentials>,
}

impl Caller {
    pub(super) fn of(connection: &Connection) -> Self {
        Self { peer: connection.peer(), credentials: connection.credentials() }
    }

    /// Logs a command that succeeded, or failed with this status. A warning, so that it is logged by default.
    pub(super) fn log(self, command: &Command, status: StatusCode) {
        match status.is_success() {
            true => tracing::warn!("admin: {command}, by {self}"),
            false => tracing::warn!("admin: {command}, by {self}: failed with {status}"),
        }
    }

    /// Logs that a caller was not allowed to send a command. At most one line a second: every user of the machine may
    /// try.
    pub(super) fn log_refusal(self, request: &Request, status: StatusCode) {
        static LAST: AtomicU64 = AtomicU64::new(u64::MAX);
        let second = monotonic().as_secs();
        if LAST.swap(second, Ordering::Relaxed) != second {
            // A path of HTTP has no control characters.
            let (method, path) = (&request.method, request.target.path());
            tracing::warn!("admin: {method} {path}, by {self}: refused with {status}");
        }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.peer, self.credentials) {
            (Peer::Tcp(address), _) => write!(f, "{address}"),
            (Peer::Unix, Some(PeerCredentials { process: Some(process), user })) => {
                write!(f, "uid {user} (pid {process})")
            }
            (Peer::Unix, Some(PeerCredentials { process: None, user })) => write!(f, "uid {user}"),
            (Peer::Unix, None) => f.write_str("an unknown process"),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reload(WantedProcess::IfNeeded) => f.write_str("reload"),
            Self::Reload(WantedProcess::New) => f.write_str("reload with a new process"),
            Self::Stop => f.write_str("stop the server"),
            Self::Ban(command) => command.fmt(f),
            Self::Maintenance(command) => command.fmt(f),
            Self::Purge(command) => command.fmt(f),
            Self::Config(SettingsChange { name, text: Some(_), .. }) => write!(f, "put the settings file {name}"),
            Self::Config(SettingsChange { name, text: None, .. }) => write!(f, "remove the settings file {name}"),
            Self::Certificate(CertificateCommand { certificate, action }) => match action {
                CertificateAction::Renew => write!(f, "renew the certificate of {certificate:?}"),
                CertificateAction::Revoke => write!(f, "revoke the certificate of {certificate:?}"),
            },
            Self::Server(command) => command.fmt(f),
            Self::Fleet(command) => write!(f, "{command}, for the fleet"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use serow::Scheme;

    use super::*;
    use crate::server_command::Action;

    #[test]
    fn callers_are_named_by_address_or_by_uid_and_pid() {
        let unix = |process| {
            let credentials = PeerCredentials { process: NonZeroU32::new(process), user: 1000 };
            Connection::new(Peer::Unix, None, Scheme::Http).with_credentials(Some(credentials))
        };
        let tcp = Connection::new(Peer::Tcp("127.0.0.1:5000".parse().unwrap()), None, Scheme::Http);
        for (connection, expected) in [
            (unix(7), "uid 1000 (pid 7)"),
            (unix(0), "uid 1000"),
            (tcp, "127.0.0.1:5000"),
            (Connection::default(), "an unknown process"),
        ] {
            assert_eq!(Caller::of(&connection).to_string(), expected);
        }
    }

    #[test]
    fn text_of_the_caller_stays_on_its_line() {
        let command = |server: &str, weight| ServerCommand {
            upstream: "app".to_owned(),
            server: server.to_owned(),
            action: Action::Weight,
            weight,
            persist: true,
        };
        let command = Command::Server(command("127.0.0.1:1\nINFO forged", Some(3)));
        let expected = r#"weight upstream="app" server="127.0.0.1:1\nINFO forged" weight=3 persist"#;
        assert_eq!(command.to_string(), expected);
    }
}

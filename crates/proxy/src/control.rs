//! Changes to an upstream at run time.

use std::{error::Error, fmt, sync::Arc};

use serow_message::{Scheme, ServerAddress};
use serow_net::Clock;

use crate::{
    server::{Administration, Server},
    settings::ServerSettings,
    upstream::{Upstream, known_destination},
};

/// Why nothing was changed. The message names the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlError {
    /// There is no such server.
    Unknown {
        /// The server that was given.
        server: String,
        /// Those that there are.
        servers: Vec<String>,
    },
    /// The server is there already.
    Known(String),
    /// It is the only one.
    Last(String),
    /// It needs TLS, but no server of this upstream does, so the TLS settings are unknown.
    Encryption(String),
}

impl Upstream {
    /// Sets the administrative state of a server, given by its address, its configured name or its id; a name stands
    /// for all its servers. Returns their addresses.
    ///
    /// # Errors
    ///
    /// There is no such server.
    pub fn administrate(&self, server: &str, wanted: Administration) -> Result<Vec<String>, ControlError> {
        let now = Clock::new().now();
        let found = self.find(server)?;
        found.iter().for_each(|server| server.set_administration(wanted, now));
        Ok(self.changed_servers(&found))
    }

    /// Changes a server's share among the others, as [`Self::administrate`] finds it.
    ///
    /// # Errors
    ///
    /// There is no such server.
    pub fn change_weight(&self, server: &str, weight: u16) -> Result<Vec<String>, ControlError> {
        let found = self.find(server)?;
        found.iter().for_each(|server| server.set_weight(weight));
        Ok(self.changed_servers(&found))
    }

    /// Adds a server. A name is looked up soon.
    ///
    /// # Errors
    ///
    /// It exists already; or it needs TLS, which is configured only if a server needed it from the start.
    pub fn add_server(&self, settings: ServerSettings) -> Result<(), ControlError> {
        let name = settings.address.to_string();
        if self.find(&name).is_ok() || self.named().iter().any(|named| named.address == settings.address) {
            return Err(ControlError::Known(name));
        }
        if settings.address.scheme == Scheme::Https && self.settings().encryption.is_none() {
            return Err(ControlError::Encryption(name));
        }
        match known_destination(&settings) {
            Some(destination) => {
                let server = self.new_server(settings, destination);
                self.change_servers(|servers| servers.iter().cloned().chain([server]).collect());
            }
            None => self.change_named(|named| named.push(Arc::new(settings))),
        }
        Ok(())
    }

    /// Removes a server, found as in [`Self::administrate`]: it finishes its requests. Returns the addresses.
    ///
    /// # Errors
    ///
    /// There is no such server, or no other.
    pub fn remove_server(&self, server: &str) -> Result<Vec<String>, ControlError> {
        let found = self.find(server)?;
        let is_found = |server: &Arc<Server>| found.iter().any(|found| found.number() == server.number());
        if self.servers().iter().all(is_found) {
            return Err(ControlError::Last(server.to_owned()));
        }
        let names = found.iter().map(|server| server.name().to_owned()).collect();
        self.change_named(|named| named.retain(|named| !is_called(&named.address, server)));
        self.change_servers(|servers| servers.iter().filter(|server| !is_found(server)).cloned().collect());
        Ok(names)
    }

    /// Replaces the servers by these, in this order. Servers that are kept keep their state; removed ones finish their
    /// requests.
    pub fn replace_servers(&self, servers: Vec<ServerSettings>) {
        let (known, named): (Vec<_>, Vec<_>) =
            servers.into_iter().partition(|server| known_destination(server).is_some());
        self.change_named(|before| *before = named.into_iter().map(Arc::new).collect());
        self.change_servers(|before| {
            let mut servers: Vec<_> = known
                .into_iter()
                .filter_map(|settings| {
                    let there = before.iter().find(|server| *server.settings() == settings).cloned();
                    there.or_else(|| known_destination(&settings).map(|place| self.new_server(settings, place)))
                })
                .collect();
            let is_named = |server: &&Arc<Server>| known_destination(server.settings()).is_none();
            servers.extend(before.iter().filter(is_named).cloned());
            servers
        });
    }

    /// The servers that are called so.
    fn find(&self, text: &str) -> Result<Vec<Arc<Server>>, ControlError> {
        let is_meant = |server: &&Arc<Server>| {
            let settings = server.settings();
            server.name() == text || settings.id.as_deref() == Some(text) || is_called(&settings.address, text)
        };
        let servers = self.servers();
        let found: Vec<_> = servers.iter().filter(is_meant).cloned().collect();
        if found.is_empty() {
            let servers = servers.iter().map(|server| server.name().to_owned()).collect();
            return Err(ControlError::Unknown { server: text.to_owned(), servers });
        }
        Ok(found)
    }

    /// Has all threads look at the servers again.
    fn changed_servers(&self, changed: &[Arc<Server>]) -> Vec<String> {
        self.change_servers(<[_]>::to_vec);
        changed.iter().map(|server| server.name().to_owned()).collect()
    }
}

/// Whether a text is one of the forms of an address.
fn is_called(address: &ServerAddress, text: &str) -> bool {
    text.parse::<ServerAddress>().is_ok_and(|parsed| parsed == *address)
}

impl fmt::Display for ControlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { server, servers } if servers.is_empty() => {
                write!(formatter, "there is no server {server}; this upstream has no servers")
            }
            Self::Unknown { server, servers } => {
                write!(formatter, "there is no server {server}; available: {}", servers.join(", "))
            }
            Self::Known(server) => write!(formatter, "{server} is already a server of this upstream"),
            Self::Last(server) => {
                write!(
                    formatter,
                    "{server} is the last server: add another one first, or take it out of rotation with down"
                )
            }
            Self::Encryption(server) => write!(
                formatter,
                "{server} needs TLS, and no server of this upstream had it at the start: add it to the settings and reload"
            ),
        }
    }
}

impl Error for ControlError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::UpstreamSettings;

    fn server(text: &str) -> ServerSettings {
        ServerSettings::new(text.parse().unwrap())
    }

    fn upstream() -> Upstream {
        let mut second = server("unix:/run/a.sock");
        second.id = Some("b".to_owned());
        Upstream::new(UpstreamSettings::new("app", vec![server("127.0.0.1:80"), second]))
    }

    #[test]
    fn servers_are_found_by_all_their_names() {
        for (text, expected) in [
            ("127.0.0.1:80", Some("127.0.0.1:80")),
            ("http://127.0.0.1", Some("127.0.0.1:80")),
            ("unix:/run/a.sock", Some("unix:/run/a.sock")),
            ("b", Some("unix:/run/a.sock")),
            ("127.0.0.1:81", None),
            ("", None),
        ] {
            let changed = upstream().administrate(text, Administration::Down).ok();
            assert_eq!(changed, expected.map(|name| vec![name.to_owned()]), "{text}");
        }
        let error = upstream().change_weight("c", 2).unwrap_err().to_string();
        assert_eq!(error, "there is no server c; available: 127.0.0.1:80, unix:/run/a.sock");
    }

    #[test]
    fn administrative_state_and_weight_are_set() {
        let upstream = upstream();
        let version = upstream.version();
        upstream.administrate("b", Administration::Draining).unwrap();
        upstream.change_weight("127.0.0.1:80", 7).unwrap();
        let servers = upstream.servers();
        assert_eq!((servers[0].weight(), servers[1].administration()), (7, Administration::Draining));
        assert!(upstream.version() > version);
    }

    #[test]
    fn servers_are_added_and_removed() {
        let upstream = upstream();
        let names = || upstream.servers().iter().map(|server| server.name().to_owned()).collect::<Vec<_>>();
        assert!(matches!(upstream.add_server(server("http://127.0.0.1:80")), Err(ControlError::Known(_))));
        assert!(matches!(upstream.add_server(server("https://127.0.0.1")), Err(ControlError::Encryption(_))));
        upstream.add_server(server("127.0.0.1:81")).unwrap();
        upstream.remove_server("127.0.0.1:80").unwrap();
        assert_eq!(names(), ["unix:/run/a.sock", "127.0.0.1:81"]);
        upstream.remove_server("b").unwrap();
        assert_eq!(upstream.remove_server("127.0.0.1:81"), Err(ControlError::Last("127.0.0.1:81".to_owned())));
        // One that is not looked up yet has no servers, and is there nevertheless.
        upstream.add_server(server("app.example:80")).unwrap();
        assert!(matches!(upstream.add_server(server("app.example:80")), Err(ControlError::Known(_))));
        assert_eq!(names(), ["127.0.0.1:81"]);
    }

    #[test]
    fn servers_are_replaced() {
        let upstream = upstream();
        let names = || upstream.servers().iter().map(|server| server.name().to_owned()).collect::<Vec<_>>();
        let first = upstream.servers()[0].number();
        upstream.replace_servers(vec![server("127.0.0.1:81"), server("127.0.0.1:80"), server("app.example:80")]);
        assert_eq!(names(), ["127.0.0.1:81", "127.0.0.1:80"]);
        assert_eq!((upstream.servers()[1].number(), upstream.named().len()), (first, 1));
        upstream.replace_servers(Vec::new());
        assert_eq!((names().len(), upstream.named().len()), (0, 0));
    }
}

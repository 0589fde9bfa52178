//! The API of Docker and Podman: what its answers say. Fields that are not named here do not matter, and any field may be
//! missing or null.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use serde::Deserialize;

use crate::{
    container::{Container, Health},
    timestamp,
};

/// The path of the list of containers, with those that do not run.
pub(crate) const LIST: &str = "/containers/json?all=true";

/// The path of events. They are not filtered: what a filter means differs between Docker and Podman.
pub(crate) const EVENTS: &str = "/events";

/// The path of one container.
pub(crate) fn inspection(id: &str) -> String {
    format!("/containers/{id}/json")
}

/// A container in the list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Listed {
    #[serde(default)]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    state: Option<String>,
}

/// An event; of interest is only which container it is about, and whether it is about to end.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    #[serde(rename = "Type", default)]
    kind: String,
    #[serde(rename = "Action", default)]
    action: String,
    #[serde(rename = "Actor", default)]
    actor: Option<Actor>,
    #[serde(rename = "timeNano", default)]
    nanoseconds: u64,
}

#[derive(Debug, Deserialize)]
struct Actor {
    #[serde(rename = "ID", default)]
    id: String,
    #[serde(rename = "Attributes", default)]
    attributes: Option<BTreeMap<String, String>>,
}

/// The meaning of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// This container ends, or has ended, or is paused, at this time in nanoseconds since 1970.
    Leaves(String, u64),
    /// This container runs from now on.
    Begins(String),
    /// Something about this container has changed.
    Container(String),
    /// Something has changed that may affect any container.
    Any,
    /// Nothing that matters.
    None,
}

impl Listed {
    /// Whether its state is that of a container that serves.
    pub(crate) fn is_running(&self) -> bool {
        self.state.as_deref() == Some(RUNNING)
    }
}

impl Event {
    /// Its meaning.
    pub(crate) fn meaning(self) -> Change {
        let actor = self.actor.unwrap_or(Actor { id: String::new(), attributes: None });
        match &*self.kind {
            "container" if is_id(&actor.id) => {
                let signal = actor.attributes.as_ref().and_then(|attributes| attributes.get("signal"));
                // Docker names the number of the signal; Podman does not name it.
                let is_fatal = signal.is_some_and(|signal| FATAL.contains(&signal.as_str()));
                match self.action.split(':').next().unwrap_or_default() {
                    "die" | "stop" | "pause" | "destroy" | "remove" => Change::Leaves(actor.id, self.nanoseconds),
                    "start" | "unpause" => Change::Begins(actor.id),
                    "kill" if is_fatal => Change::Leaves(actor.id, self.nanoseconds),
                    // Programs that run in it, such as those of health checks, whose result is an event of its own.
                    "exec_create" | "exec_start" | "exec_die" | "exec" | "exec_died" | "top" | "cleanup" => {
                        Change::None
                    }
                    _ => Change::Container(actor.id),
                }
            }
            // The names of networks in labels, and which containers are in them.
            "network" | "container" => Change::Any,
            _ => Change::None,
        }
    }
}

/// An inspected container.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Inspected {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    state: Option<State>,
    #[serde(default)]
    config: Option<Config>,
    #[serde(default)]
    host_config: Option<HostConfig>,
    #[serde(default)]
    network_settings: Option<NetworkSettings>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct State {
    #[serde(default)]
    status: String,
    #[serde(default)]
    started_at: String,
    #[serde(default)]
    health: Option<HealthState>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HealthState {
    #[serde(default)]
    status: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Config {
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    exposed_ports: Option<BTreeMap<String, serde_json::Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HostConfig {
    #[serde(default)]
    network_mode: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NetworkSettings {
    #[serde(default)]
    networks: Option<BTreeMap<String, Option<Network>>>,
    #[serde(default)]
    ports: Option<BTreeMap<String, Option<Vec<Binding>>>>,
}

#[derive(Debug, Deserialize)]
struct Network {
    #[serde(rename = "IPAddress", default)]
    address: Option<String>,
    #[serde(rename = "GlobalIPv6Address", default)]
    address6: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Binding {
    #[serde(default)]
    host_ip: String,
    #[serde(default)]
    host_port: String,
}

impl From<Inspected> for Container {
    fn from(inspected: Inspected) -> Self {
        let Inspected { id, name, state, config, host_config, network_settings } = inspected;
        let (labels, exposed) = config.map(|config| (config.labels, config.exposed_ports)).unwrap_or_default();
        let networks = network_settings.map(|settings| (settings.networks, settings.ports)).unwrap_or_default();
        let addresses = networks.0.unwrap_or_default().into_iter();
        let addresses = addresses.filter_map(|(name, network)| Some((name, network?.ip()?))).collect();
        let bindings = networks.1.unwrap_or_default().into_iter();
        let published = bindings
            .filter_map(|(port, bindings)| Some((tcp_port(&port)?, bindings?.iter().find_map(Binding::address)?)));
        Self {
            id,
            name: name.trim_start_matches('/').to_owned(),
            labels: labels.unwrap_or_default(),
            started: state.as_ref().and_then(|state| timestamp::nanoseconds(&state.started_at)).unwrap_or(0),
            is_running: state.as_ref().is_some_and(|state| state.status == RUNNING),
            health: state.and_then(|state| state.health).map(|health| health.meaning()).unwrap_or_default(),
            addresses,
            exposed: exposed.unwrap_or_default().keys().filter_map(|port| tcp_port(port)).collect::<BTreeSet<_>>(),
            published: published.collect(),
            is_on_host: host_config.is_some_and(|config| config.network_mode == "host"),
        }
    }
}

impl HealthState {
    fn meaning(&self) -> Health {
        match &*self.status {
            "starting" => Health::Starting,
            "healthy" => Health::Healthy,
            "unhealthy" => Health::Unhealthy,
            // Podman has an empty one without a check, Docker "none".
            _ => Health::Unchecked,
        }
    }
}

impl Network {
    fn ip(&self) -> Option<IpAddr> {
        [&self.address, &self.address6].into_iter().flatten().find_map(|text| text.parse().ok())
    }
}

impl Binding {
    /// Where this host reaches it.
    fn address(&self) -> Option<SocketAddr> {
        let address = match self.host_ip.parse() {
            Ok(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) | Err(_) => Ipv4Addr::LOCALHOST.into(),
            Ok(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => Ipv6Addr::LOCALHOST.into(),
            Ok(address) => address,
        };
        let port: u16 = self.host_port.parse().ok()?;
        (port > 0).then(|| (address, port).into())
    }
}

/// The number of a port such as `8080/tcp`.
fn tcp_port(text: &str) -> Option<u16> {
    let number = text.strip_suffix("/tcp").unwrap_or(text);
    number.parse().ok().filter(|port| *port > 0)
}

/// Whether a text is the id of a container: it becomes a part of a path.
fn is_id(text: &str) -> bool {
    (12..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The state of containers that serve: not those that are paused, restarting, or, of Podman only, stopped.
const RUNNING: &str = "running";

/// HUP leads most servers to read their settings again, and USR1 and USR2 to others; INT, QUIT, KILL and TERM end them, as
/// numbers and as Podman's later versions may name them.
const FATAL: [&str; 8] = ["2", "3", "9", "15", "SIGINT", "SIGQUIT", "SIGKILL", "SIGTERM"];

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(text: &str) -> Change {
        serde_json::from_str::<Event>(text).unwrap().meaning()
    }

    #[test]
    fn events_are_about_a_container_or_all() {
        let id = "a2580056b29b9d760ece977926a928b7592ccc33cbf69e8b54ebccbe1a7c94a0";
        let event = |action: &str, attributes: &str| {
            meaning(&format!(
                r#"{{"Type":"container","Action":"{action}","timeNano":7,"Actor":{{"ID":"{id}","Attributes":{{{attributes}}}}}}}"#
            ))
        };
        for action in ["rename", "health_status: healthy", "kill", "restart", "new one"] {
            assert_eq!(event(action, ""), Change::Container(id.to_owned()), "{action}");
        }
        for action in ["start", "unpause"] {
            assert_eq!(event(action, ""), Change::Begins(id.to_owned()), "{action}");
        }
        for action in ["die", "stop", "pause", "destroy", "remove"] {
            assert_eq!(event(action, ""), Change::Leaves(id.to_owned(), 7), "{action}");
        }
        assert_eq!(event("kill", r#""signal":"15""#), Change::Leaves(id.to_owned(), 7));
        assert_eq!(event("kill", r#""signal":"1""#), Change::Container(id.to_owned()));
        for action in ["exec_create: /bin/sh -c true", "exec_died", "cleanup"] {
            assert_eq!(event(action, ""), Change::None, "{action}");
        }
        // Podman's have no container in them.
        let network = r#"{"Type":"network","Action":"disconnect","Actor":{"ID":"","Attributes":{"name":"podman"}}}"#;
        assert_eq!(meaning(network), Change::Any);
        assert_eq!(meaning(r#"{"Type":"container","Action":"start","Actor":{"ID":"../../a"}}"#), Change::Any);
        assert_eq!(meaning(r#"{"Type":"image","Action":"pull","Actor":{"ID":"","Attributes":null}}"#), Change::None);
        assert_eq!(meaning("{}"), Change::None);
    }

    /// Of Podman 4.3.1; some fields that do not matter are left out.
    const INSPECTED: &str = include_str!("../tests/podman/inspected.json");

    #[test]
    fn a_container_of_podman_is_understood() {
        let container = Container::from(serde_json::from_str::<Inspected>(INSPECTED).unwrap());
        assert_eq!(container.name, "p1");
        assert!(container.is_running && !container.is_on_host);
        assert_eq!(container.started / 1_000_000_000, 1_795_989_437);
        assert_eq!(container.health, Health::Unchecked);
        assert_eq!(container.addresses, [("podman".to_owned(), IpAddr::from([10, 88, 0, 3]))].into());
        assert_eq!(container.labels["serow.host"], "a.example");
        // udp is in there too.
        assert_eq!(container.exposed, [7000, 8080].into());
        assert_eq!(container.published, [(8080, SocketAddr::from(([127, 0, 0, 1], 25510)))].into());
    }

    #[test]
    fn fields_may_be_missing_or_null() {
        for text in [
            r#"{"Id":"a"}"#,
            r#"{"Id":"a","State":null,"Config":null,"HostConfig":null,"NetworkSettings":null}"#,
            r#"{"Id":"a","State":{},"Config":{},"HostConfig":{},"NetworkSettings":{}}"#,
            r#"{"Id":"a","Config":{"Labels":null,"ExposedPorts":null},"NetworkSettings":{"Networks":null,"Ports":{"1/tcp":null}}}"#,
            r#"{"Id":"a","NetworkSettings":{"Networks":{"a":null,"b":{"IPAddress":""}},"Ports":{"x":[{}],"1/udp":[{}]}}}"#,
        ] {
            let container = Container::from(serde_json::from_str::<Inspected>(text).unwrap());
            assert_eq!(container, Container { id: "a".to_owned(), ..Container::default() }, "{text}");
        }
    }

    #[test]
    fn a_list_of_podman_is_understood() {
        let listed: Vec<Listed> = serde_json::from_str(include_str!("../tests/podman/list.json")).unwrap();
        let states: Vec<_> = listed.iter().map(|listed| (listed.is_running(), listed.labels.is_some())).collect();
        assert_eq!(states, [(false, true), (false, true), (true, true)]);
    }
}

//! The containers of Docker and Podman that become routes, as it is written.

use std::time::Duration;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow_document::Place;

use crate::{
    tables::{FromTable, TableReading},
    values::{Count, Span, choice},
};

/// The containers that become routes.
#[derive(Debug)]
pub struct DockerTable {
    /// Its own keys.
    pub settings: DockerSettings,
    /// Where it is in the file.
    pub place: Place,
}

/// Where the API of containers is, and what their labels may set.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct DockerSettings {
    /// Socket of Docker or Podman, or http://host:port of a proxy that lets only reading requests through.
    ///
    /// A program that may write to the socket is root on this machine: such a proxy is safer. With `user`, that user needs to be in the
    /// group of the socket.
    pub socket: String,

    /// Network whose addresses of containers are used [default: the only one that a container has]
    ///
    /// The label serow.network names another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,

    /// Whether containers with labels of Traefik are routed without traefik.enable=true.
    ///
    /// The label serow.host alone is enough in any case.
    pub exposed_by_default: bool,

    /// Whose labels count: serow for serow.host and the like, traefik for the common ones of Traefik.
    pub labels: Vec<LabelChoice>,

    /// Keys of `[[site.route]]` and `[[upstream]]` that labels may set, as in serow.max-body=10M.
    ///
    /// A label with another key is refused, and the error log names the container.
    pub allowed_keys: Vec<String>,

    /// Hosts that labels may claim, such as ["*.apps.example.com"] [default: all that no site has]
    ///
    /// A container never gets the host of a site of the settings, and a host below one of a site, such as *.example.com, only
    /// if it is named here.
    pub hosts: Vec<String>,

    /// For how many hosts of containers certificates are ordered by ACME, if their labels ask for it: serow.tls=acme, or
    /// tls.certresolver of Traefik.
    pub certificates: Count<0, 10000>,

    /// How long a host or a path whose containers are gone answers 503, before its route is removed.
    pub keep: Span,
}

/// Whose labels count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LabelChoice {
    /// Serow's own.
    #[value(help = None)]
    Serow,
    /// Those of Traefik.
    #[value(help = None)]
    Traefik,
}

choice!(LabelChoice, "Label");

impl Default for DockerSettings {
    fn default() -> Self {
        Self {
            socket: "/run/docker.sock".to_owned(),
            network: None,
            exposed_by_default: false,
            labels: vec![LabelChoice::Serow, LabelChoice::Traefik],
            allowed_keys: Vec::new(),
            hosts: Vec::new(),
            certificates: Count::of(0),
            keep: Span(Duration::from_secs(60)),
        }
    }
}

impl FromTable for DockerTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        Some(Self { settings: table.settings()?, place: table.place().clone() })
    }
}

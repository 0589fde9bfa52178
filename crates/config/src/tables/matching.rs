//! Conditions of a request besides its path and method, as they are written.

use std::collections::BTreeMap;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    tables::{FromTable, TableReading},
    values::{Patterns, choice},
};

/// Conditions that a request must meet besides its path and method.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct WhenTable {
    /// Request header fields, with patterns of their values: { Accept-Language = "de*" }.
    ///
    /// Case does not matter. If a field is sent several times, one must match.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub header: BTreeMap<String, Patterns>,

    /// Cookies, with patterns of their values: { beta = "1" }. Case matters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cookie: BTreeMap<String, Patterns>,

    /// Arguments of the query, with patterns of their decoded values: { v = "2" }. Case matters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, Patterns>,

    /// Variables, with patterns of their values: { backend = "cli" } for the variable that a `[[map]]` makes.
    ///
    /// Case does not matter.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variable: BTreeMap<String, Patterns>,

    /// Networks of clients, with or without ! before: ["10.0.0.0/8", "!10.1.0.0/16"]; unix is a client at a unix socket.
    #[serde(skip_serializing_if = "Patterns::is_empty")]
    pub client: Patterns,

    /// Scheme of the client's connection: http or https [default: both]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<SchemeChoice>,

    /// Hosts, with or without ! before, as in `hosts` of the site: "*.example.com".
    #[serde(skip_serializing_if = "Patterns::is_empty")]
    pub host: Patterns,

    /// File that must exist, or with ! before, must not: "/srv/app/maintenance.html"; of several, one must exist.
    ///
    /// With a slash at the end, it is a folder. Paths are relative to the folder of the settings file, and can have variables:
    /// "/srv/cache$uri.html". Each request looks it up. A file that Serow may not look at does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Patterns>,
}

/// The scheme of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemeChoice {
    /// Without TLS.
    #[value(help = None)]
    Http,
    /// With TLS.
    #[value(help = None)]
    Https,
}

choice!(SchemeChoice, "Scheme");

impl FromTable for WhenTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        table.settings()
    }
}

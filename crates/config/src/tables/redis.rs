//! Redis, through which several servers share limits, as it is written.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow_document::Place;

use crate::{
    tables::{FromTable, TableReading},
    values::{Count, FleetUrl, Span},
};

/// Redis.
#[derive(Debug)]
pub struct RedisTable {
    /// Its own keys.
    pub settings: RedisSettings,
    /// Where it is in the file.
    pub place: Place,
}

/// Where Redis is, and what belongs to this fleet in it.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RedisSettings {
    /// URL of Redis or Valkey: redis://10.0.0.1:6379/0, rediss:// with TLS, unix:///run/redis/redis.sock, or
    /// redis+sentinel://10.0.0.1,10.0.0.2/NAME for the primary that sentinels name
    ///
    /// Of a cluster, a list of two and more of its nodes; it stores all keys in one slot.
    pub url: Vec<FleetUrl>,

    /// User of Redis [default: that in the URL, or the default user]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,

    /// File with the password of Redis; a password in the URL is possible, too [default: none]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,

    /// File with the certificates of the authorities that sign those of Redis, in PEM, for rediss:// [default: those of
    /// the system]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,

    /// Prefix of the names of all keys in Redis: another one for each fleet [default: serow:]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,

    /// How long Redis may take to answer, before it counts as unavailable [default: 500ms]
    ///
    /// No request waits for it, but those whose scripts call serow.redis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,

    /// Name of this server among the servers of the fleet in 'serow status --fleet' [default: the name of the machine]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,

    /// How many servers share the limits, for the time before Redis has been reached [default: 1]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<Count<1, 1000>>,
}

impl FromTable for RedisTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        Some(Self { settings: table.settings()?, place: table.place().clone() })
    }
}

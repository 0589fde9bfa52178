//! The cache, and what routes say about it, as they are written.

use std::{borrow::Cow, collections::BTreeMap, fmt, path::PathBuf};

use clap::ValueEnum;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{
        Error, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::json;

use crate::{
    Shape,
    tables::{FromTable, TableReading},
    values::{NetworkRule, Size, Span, choice},
};

/// Where responses are stored.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CacheTable {
    /// Memory in which responses are cached, such as "256M".
    ///
    /// All routes with `cache` share it. The most requested responses stay. Without `dir`, a reload begins with an empty
    /// cache.
    pub memory: Size,

    /// Folder in which responses are kept as well, so that they outlive reloads, restarts and crashes.
    ///
    /// The server creates it. It is for one server only, and nobody else may write to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,

    /// Disk space that `dir` may take [default: 10G]
    ///
    /// Responses that were used least recently are removed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir_size: Option<Size>,

    /// Largest response that is stored in memory [default: 256k with `dir`, otherwise 8M, or a quarter of `memory` if that is
    /// less]
    ///
    /// With `dir`, each larger response is stored in a file of its own, up to half of `dir-size`; without, it is not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_object: Option<Size>,

    /// Clients whose requests with the method PURGE purge, such as ["127.0.0.1", "10.0.0.0/8"] [default: PURGE is for the
    /// application or server]
    ///
    /// PURGE removes what its route has stored for the URL, or, with Surrogate-Key, xkey or Cache-Tag, what has one of these
    /// tags; with Serow-Soft-Purge: 1, that becomes stale. Other clients get 403.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge_from: Option<Vec<NetworkRule>>,
}

/// Whether and how the responses of a site or a route are cached.
#[derive(Clone, Debug)]
pub enum CacheSetting {
    /// They are not.
    Off,
    /// As they say themselves, and as this says.
    On(Box<RouteCacheTable>),
}

/// How responses are cached.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct RouteCacheTable {
    /// Parameters of the query that are ignored: ["utm_*", "fbclid"], or true for all [default: none]
    ///
    /// They are not part of the key, and are removed from requests to the application or server: a client must not choose
    /// what others get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_query: Option<IgnoredNames>,

    /// Header fields and cookies that are a part of the key, beside scheme, host, path and query: ["header:X-Country",
    /// "cookie:currency"].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<String>,

    /// How long responses that do not say it themselves are fresh, by status: { "200" = "10m", "404" = "1m" }.
    ///
    /// Cache-Control and Expires of a response take precedence.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub default_ttl: BTreeMap<String, Span>,

    /// How long a stale response may be sent while it is validated, unless it says so itself [default: 0]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_while_revalidate: Option<Span>,

    /// How long a stale response may be sent when the application or server fails, unless it says so itself [default: 0]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_if_error: Option<Span>,

    /// Methods that are answered from the cache: GET, or GET and HEAD [default: both]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,

    /// Requests that pass the cache by, if they have one of these: ["cookie:session", "header:X-Preview", "query:preview"].
    ///
    /// A * at the end of a name stands for any text, as in cookie:wordpress_logged_in_*.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bypass: Vec<String>,

    /// Fields of responses that decide nothing about storing, as if they were not there: Set-Cookie, Cache-Control, Expires, Vary,
    /// X-Accel-Expires.
    ///
    /// With Set-Cookie, a response that sets cookies is stored, without them: only the client gets them whose request it
    /// answered. Write it only for pages that are the same for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore_fields: Vec<String>,

    /// Whether responses have the field Cache-Status: on, off, or debug for the key as well [default: on]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_status: Option<StatusFieldChoice>,
}

/// The content of the field Cache-Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatusFieldChoice {
    /// How the cache handled the request.
    #[value(help = None)]
    On,
    /// Nothing.
    #[value(help = None)]
    Off,
    /// The key as well.
    #[value(help = None)]
    Debug,
}

choice!(StatusFieldChoice, "CacheStatus");

/// Names of parameters, or all.
#[derive(Clone, Debug)]
pub enum IgnoredNames {
    /// All, or none.
    All(bool),
    /// These.
    Names(Vec<String>),
}

impl FromTable for CacheTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        table.settings()
    }
}

impl<'de> Deserialize<'de> for CacheSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SettingVisitor)
    }
}

struct SettingVisitor;

impl<'de> Visitor<'de> for SettingVisitor {
    type Value = CacheSetting;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(SETTING)
    }

    fn visit_bool<E: Error>(self, is_on: bool) -> Result<CacheSetting, E> {
        Ok(if is_on { CacheSetting::On(Box::default()) } else { CacheSetting::Off })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CacheSetting, A::Error> {
        RouteCacheTable::deserialize(MapAccessDeserializer::new(map)).map(|table| CacheSetting::On(Box::new(table)))
    }
}

impl Serialize for CacheSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::On(table) if table.is_default() => serializer.serialize_bool(true),
            Self::On(table) => table.serialize(serializer),
        }
    }
}

impl RouteCacheTable {
    fn is_default(&self) -> bool {
        let Self {
            ignore_query,
            key,
            default_ttl,
            stale_while_revalidate,
            stale_if_error,
            methods,
            bypass,
            ignore_fields,
            cache_status,
        } = self;
        let has_times = !default_ttl.is_empty() || stale_while_revalidate.is_some() || stale_if_error.is_some();
        let has_key = ignore_query.is_some() || !key.is_empty();
        !has_times
            && !has_key
            && methods.is_none()
            && bypass.is_empty()
            && ignore_fields.is_empty()
            && cache_status.is_none()
    }
}

impl JsonSchema for CacheSetting {
    fn schema_name() -> Cow<'static, str> {
        "Cache".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choices = json!([{ "type": "boolean" }, Shape::of::<RouteCacheTable>().schema()]);
        json!({ "title": SETTING, "anyOf": choices }).try_into().unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for IgnoredNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = IgnoredNames;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(NAMES)
    }

    fn visit_bool<E: Error>(self, is_all: bool) -> Result<IgnoredNames, E> {
        Ok(IgnoredNames::All(is_all))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<IgnoredNames, E> {
        Ok(IgnoredNames::Names(vec![name.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<IgnoredNames, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(names)).map(IgnoredNames::Names)
    }
}

impl Serialize for IgnoredNames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All(is_all) => serializer.serialize_bool(*is_all),
            Self::Names(names) => names.serialize(serializer),
        }
    }
}

impl JsonSchema for IgnoredNames {
    fn schema_name() -> Cow<'static, str> {
        "IgnoredNames".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choices = json!([{ "type": ["boolean", "string"] }, { "type": "array", "items": { "type": "string" } }]);
        json!({ "title": NAMES, "anyOf": choices }).try_into().unwrap_or_default()
    }
}

const SETTING: &str = r#"true, false, or a table, as in { default-ttl = { "200" = "10m" } }"#;

const NAMES: &str = r#"true, or names, as in ["utm_*", "fbclid"]"#;

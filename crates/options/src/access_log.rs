//! Access logs as they are written: a destination, or a table with a format, conditions and sampling.

use std::{borrow::Cow, ffi::OsString, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Value, json};
use serow_access_log::{Destination, DestinationError, Format, FormatError, OtherNames};
use serow_variables::Scope;

use serow_document::{
    Shape,
    values::{Count, SettingValue, StatusRange, Statuses, ValueError, in_settings_file, setting_value},
};

/// The access logs of the root, a site or a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLogChoice(pub Vec<LogTable>);

/// An access log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct LogTable {
    /// Destination: "-", a file, "| command" or "syslog:..." [default: that of the site or root around]
    ///
    /// Logs with the same destination share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<LogDestination>,

    /// Format, as in `access-log-format` [default: that of the site or root around]
    ///
    /// In a site, it can have $server_name; in a route, what its path matches: $1, or $ and the name of a group. Where a
    /// variable of other routes has no value, a dash is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<LogFormat>,

    /// Condition, a text with variables: requests for which it is empty or 0 have no line, as in nginx [default: none]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#if: Option<String>,

    /// Statuses of the requests with a line, as in "4xx,5xx" [default: all]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Statuses>,

    /// Of so many requests, one has a line: each at random out of a group [default: 1]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Count<1, 1_000_000>>,

    /// Statuses whose requests have a line in spite of `sample`, or none [default: 5xx]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<KeptStatuses>,
}

impl LogTable {
    /// A line for each request.
    fn to(destination: Destination) -> Self {
        Self { file: Some(LogDestination(destination)), ..Self::default() }
    }
}

impl AccessLogChoice {
    /// No log.
    pub const OFF: Self = Self(Vec::new());
}

impl TryFrom<OsString> for AccessLogChoice {
    type Error = DestinationError;

    fn try_from(text: OsString) -> Result<Self, DestinationError> {
        match text == OFF {
            true => Ok(Self::OFF),
            false => Destination::try_from(text).map(|destination| Self(vec![LogTable::to(destination)])),
        }
    }
}

impl FromStr for AccessLogChoice {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, DestinationError> {
        Self::try_from(OsString::from(text))
    }
}

/// As it is written, where it is a destination: for the help.
impl fmt::Display for AccessLogChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [] => f.write_str(OFF),
            tables => tables.iter().filter_map(|table| table.file.as_ref()).try_for_each(|file| file.fmt(f)),
        }
    }
}

impl<'de> Deserialize<'de> for AccessLogChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoiceVisitor)
    }
}

struct ChoiceVisitor;

impl<'de> Visitor<'de> for ChoiceVisitor {
    type Value = AccessLogChoice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_bool<E: Error>(self, is_on: bool) -> Result<AccessLogChoice, E> {
        match is_on {
            false => Err(E::custom(format!("write {OFF:?}, in quotes"))),
            true => Err(E::custom(format!("expected {EXPECTED}, not true"))),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AccessLogChoice, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<AccessLogChoice, A::Error> {
        LogTable::deserialize(MapAccessDeserializer::new(map)).map(|table| AccessLogChoice(vec![table]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<AccessLogChoice, A::Error> {
        let mut tables = Vec::new();
        while let Some(LogElement(table)) = elements.next_element()? {
            tables.push(table);
        }
        match tables.is_empty() {
            true => Err(A::Error::custom(format!("there is no log in it: write {OFF:?}"))),
            false => Ok(AccessLogChoice(tables)),
        }
    }
}

/// One of several logs.
struct LogElement(LogTable);

impl<'de> Deserialize<'de> for LogElement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ElementVisitor).map(Self)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = LogTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"a destination, or a table, as in { file = "access.log", format = "json" }"#)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<LogTable, E> {
        match text {
            OFF => Err(E::custom(format!("{OFF:?} is not one of several logs: leave it out"))),
            text => text.parse().map(LogTable::to).map_err(E::custom),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LogTable, A::Error> {
        LogTable::deserialize(MapAccessDeserializer::new(map))
    }
}

impl Serialize for AccessLogChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [] => serializer.serialize_str(OFF),
            [table] => match &table.file {
                Some(file) if *table == LogTable::to(file.0.clone()) => file.serialize(serializer),
                _ => table.serialize(serializer),
            },
            tables => serializer.collect_seq(tables),
        }
    }
}

impl JsonSchema for AccessLogChoice {
    fn schema_name() -> Cow<'static, str> {
        "AccessLog".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let destination = setting_value::schema::<LogDestination>();
        let one = [json!(destination), Shape::of::<LogTable>().schema()];
        let several = json!({ "type": "array", "minItems": 1, "items": { "anyOf": one } });
        let choices: Vec<_> = one.into_iter().chain([several]).collect();
        json!({ "title": EXPECTED, "anyOf": choices }).try_into().unwrap_or_default()
    }
}

/// Where an access log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDestination(pub Destination);

impl FromStr for LogDestination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, DestinationError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for LogDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl SettingValue for LogDestination {
    fn expected() -> String {
        r#""-", a file, "| command" or "syslog:...", in quotes"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }
}

in_settings_file!(LogDestination, "LogDestination");

/// The format of a line, in which names of any site or route may stand: what they mean depends on the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat(pub Format);

impl FromStr for LogFormat {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        Format::read(text, &Scope::default(), OtherNames::Any).map(Self)
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl SettingValue for LogFormat {
    fn expected() -> String {
        r#""combined", "json" or a text with variables, in quotes"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "anyOf": [{ "enum": ["combined", "json"] }, { "type": "string", "pattern": r"\$" }] })
    }
}

in_settings_file!(LogFormat, "AccessLogFormat");

/// Statuses of requests that sampling keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptStatuses(pub Vec<StatusRange>);

impl FromStr for KeptStatuses {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            NONE => Ok(Self(Vec::new())),
            text => text.parse().map(|Statuses(ranges)| Self(ranges)),
        }
    }
}

impl fmt::Display for KeptStatuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [] => f.write_str(NONE),
            ranges => Statuses(ranges.to_vec()).fmt(f),
        }
    }
}

impl SettingValue for KeptStatuses {
    fn expected() -> String {
        r#""none", or statuses in quotes, as in "5xx" or "404,5xx""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "anyOf": [{ "enum": [NONE] }, Statuses::schema()] })
    }
}

in_settings_file!(KeptStatuses, "KeptStatuses");

const OFF: &str = "off";
const NONE: &str = "none";
const EXPECTED: &str =
    r#""off", "-", a file, "| command", "syslog:...", or a table, as in { file = "access.log", format = "json" }"#;

//! Where to listen: `:443`; in a settings file also `{ address = ":80", tls = false }`.

use std::{
    fmt::{self, Display},
    str::FromStr,
};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Value, json};
use serow_message::{Address, AddressError};

use crate::{in_settings_file, values::SettingValue};

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress(pub Address);

/// An address to listen on, and whether connections are encrypted there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenRule {
    /// Its address.
    pub address: Address,
    /// Whether with TLS; where that is not said, as soon as there is a certificate.
    pub tls: Option<bool>,
}

/// A listener with more than an address.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ListenTable {
    /// Where to listen.
    address: ListenAddress,
    /// Whether connections are encrypted there; by default, they are if there is a certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tls: Option<bool>,
}

impl FromStr for ListenAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        text.parse().map(Self)
    }
}

impl Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl SettingValue for ListenAddress {
    fn expected() -> String {
        r#"an address in quotes, as in "8080", ":443", "127.0.0.1:8080" or "unix:/path""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^((.*:)?[0-9]+|unix:.+)$" })
    }
}

in_settings_file!(ListenAddress, "Address");

impl FromStr for ListenRule {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        text.parse().map(|address| Self { address, tls: None })
    }
}

impl<'de> Deserialize<'de> for ListenRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListenVisitor)
    }
}

struct ListenVisitor;

impl<'de> Visitor<'de> for ListenVisitor {
    type Value = ListenRule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or a table, as in {{ address = \":80\", tls = false }}", ListenAddress::expected())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ListenRule, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, port: i64) -> Result<ListenRule, E> {
        match ListenAddress::suggestion(&port.to_string()) {
            Some(suggestion) => Err(E::custom(format!("write {suggestion}, in quotes"))),
            None => Err(E::invalid_type(serde::de::Unexpected::Signed(port), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<ListenRule, A::Error> {
        let table = ListenTable::deserialize(MapAccessDeserializer::new(entries))?;
        Ok(ListenRule { address: table.address.0, tls: table.tls })
    }
}

impl Serialize for ListenRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.tls {
            None => serializer.collect_str(&self.address),
            tls => ListenTable { address: ListenAddress(self.address.clone()), tls }.serialize(serializer),
        }
    }
}

impl JsonSchema for ListenRule {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Listener".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let choices = [generator.subschema_for::<ListenAddress>(), generator.subschema_for::<ListenTable>()];
        let title = "an address in quotes, or a table with `address` and `tls`";
        json!({ "anyOf": choices, "title": title }).try_into().unwrap_or_default()
    }
}

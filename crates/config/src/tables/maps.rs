//! Maps from values to values, as they are written.

use std::{borrow::Cow, fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serow_document::{Place, Problem};
use serow_variables::MapEntries;

use crate::tables::{FromTable, TableReading};

/// A map.
#[derive(Clone, Debug)]
pub struct MapTable {
    /// Its own keys.
    pub settings: MapSettings,
    /// Where it is in the file.
    pub place: Place,
}

/// A map, as nginx has them.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct MapSettings {
    /// Text to look up, with variables such as $http_user_agent.
    pub from: String,

    /// Name of the variable that the map makes: backend for $backend.
    pub to: String,

    /// Values of `from`, and the variable's value for each: { "*curl*" = "cli", "~^Mozilla/5" = "web" }.
    ///
    /// Exact values come first, then patterns with * and regular expressions after ~ (with ~* without regard to case), in
    /// the order of the file. Case matters only in regular expressions. The variable's values may have variables, too, and
    /// behind a regular expression its groups: { "~^([a-z]+)[.]" = "$1" }.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Pairs>,

    /// In place of `values`, shares of all texts, and the variable's value for each: { blue = "10%", green = "0.5%" }.
    ///
    /// A hash of the text decides, that of nginx's split_clients: the same text always has the same value, and a site that
    /// moves from nginx keeps the values of its clients. The shares have two decimal places at most; other texts have the
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Pairs>,

    /// In place of `values`, networks, and the variable's value for each: { "10.0.0.0/8" = "office", "2001:db8::/32" = "lab" }.
    ///
    /// The text is an address, as in $remote_addr. Of networks that have it, the smallest counts; texts without an address
    /// have the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub networks: Option<Pairs>,

    /// The variable's value for all other values of `from` [default: nothing]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub default: String,
}

impl FromTable for MapTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        let settings: MapSettings = table.settings()?;
        let MapSettings { values, shares, networks, .. } = &settings;
        let keys = [("values", values), ("shares", shares), ("networks", networks)];
        let written: Vec<&'static str> =
            keys.into_iter().filter(|(_, pairs)| pairs.is_some()).map(|(key, _)| key).collect();
        match written[..] {
            [] => {
                table.misses("values", "`map`: `values` is missing; `shares` or `networks` can stand in its place");
                return None;
            }
            [_] => {}
            [first, second, ..] => {
                let problem =
                    format!("a map has `{first}` or `{second}`, not both: leave one of them out, or write another map");
                table.problem(Problem::of_key(table.place().key(second), problem));
                return None;
            }
        }
        Some(Self { settings, place: table.place().clone() })
    }
}

impl MapSettings {
    /// The key of the variable's values, and these.
    pub fn entries(&self) -> (&'static str, MapEntries) {
        match (&self.values, &self.shares, &self.networks) {
            (_, Some(Pairs(shares)), _) => ("shares", MapEntries::Shares(shares.clone())),
            (_, _, Some(Pairs(networks))) => ("networks", MapEntries::Networks(networks.clone())),
            (values, None, None) => {
                ("values", MapEntries::Values(values.as_ref().map(|values| values.0.clone()).unwrap_or_default()))
            }
        }
    }
}

/// Texts, or other values, for texts, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs<T = String>(pub Vec<(String, T)>);

impl<T> Pairs<T> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

struct PairsVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PairsVisitor<T> {
    type Value = Pairs<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(r#"a table, as in { "*curl*" = "cli" }"#)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

impl<T: Serialize> Serialize for Pairs<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<T: JsonSchema> JsonSchema for Pairs<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("PairsOf{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}

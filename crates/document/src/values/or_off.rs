//! Something that a route may turn off: a table, or false.

use std::{borrow::Cow, fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::json;

use crate::Shape;

/// A table, or false.
#[derive(Clone, Debug)]
pub enum OrOff<T> {
    /// False.
    Off,
    /// The table.
    On(T),
}

/// A table that false may stand in place of.
pub trait Switchable: DeserializeOwned + Serialize + JsonSchema {
    /// The expected form with an example, for error messages and the schema.
    const EXPECTED: &'static str;
}

impl<'de, T: Switchable> Deserialize<'de> for OrOff<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TableVisitor(PhantomData))
    }
}

struct TableVisitor<T>(PhantomData<T>);

impl<'de, T: Switchable> Visitor<'de> for TableVisitor<T> {
    type Value = OrOff<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_bool<E: Error>(self, is_on: bool) -> Result<OrOff<T>, E> {
        if is_on { Err(E::custom(format!("expected {}", T::EXPECTED))) } else { Ok(OrOff::Off) }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OrOff<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(OrOff::On)
    }
}

impl<T: Switchable> Serialize for OrOff<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::On(table) => table.serialize(serializer),
        }
    }
}

impl<T: Switchable> JsonSchema for OrOff<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("OrOff{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choices = json!([Shape::of::<T>().schema(), { "const": false }]);
        json!({ "title": T::EXPECTED, "anyOf": choices }).try_into().unwrap_or_default()
    }
}

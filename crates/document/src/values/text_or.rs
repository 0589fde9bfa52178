//! A text, or a table that says more.

use std::{borrow::Cow, fmt, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::json;

use crate::Shape;

/// A text, or a table that says more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextOr<T> {
    /// The text.
    Text(String),
    /// The table.
    Table(T),
}

/// A table that a text may stand in place of.
pub trait Expandable: DeserializeOwned + Serialize + JsonSchema {
    /// The expected forms with examples, for error messages and the schema.
    const EXPECTED: &'static str;
}

impl<'de, T: Expandable> Deserialize<'de> for TextOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor(PhantomData))
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<'de, T: Expandable> Visitor<'de> for TextVisitor<T> {
    type Value = TextOr<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TextOr<T>, E> {
        Ok(TextOr::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TextOr<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(TextOr::Table)
    }
}

impl<T: Expandable> Serialize for TextOr<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Table(table) => table.serialize(serializer),
        }
    }
}

impl<T: Expandable> JsonSchema for TextOr<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("TextOr{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choices = json!([{ "type": "string" }, Shape::of::<T>().schema()]);
        json!({ "title": T::EXPECTED, "anyOf": choices }).try_into().unwrap_or_default()
    }
}

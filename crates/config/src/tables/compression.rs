//! Whether and how responses are compressed, as it is written: `true`, `"br,gzip"` or a table.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::json;

use crate::{
    Shape,
    values::{Codings, Size},
};

/// Whether and how responses are compressed.
#[derive(Clone, Debug)]
pub enum CompressionSetting {
    /// Whether, or in which codings.
    Codings(Codings),
    /// How.
    Table(CompressionTable),
}

/// How responses are compressed.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct CompressionTable {
    /// Media types to compress, such as text/* or application/json [default: text, JSON, XML, SVG, JavaScript, WebAssembly
    /// and fonts that are not packed]
    ///
    /// gRPC is never compressed here, since it compresses its messages itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,

    /// Minimum size of responses to compress, where it is known [default: 1k]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_size: Option<Size>,

    /// Level of gzip; 0 or false: not with gzip [default: 6]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gzip: Option<CompressionLevel<9>>,

    /// Level of brotli; 0 or false: not with brotli [default: 4]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brotli: Option<CompressionLevel<9>>,

    /// Level of Zstandard; 0 or false: not with Zstandard [default: 3]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zstd: Option<CompressionLevel<12>>,
}

/// The level of a coding, up to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionLevel<const MAX: u32> {
    /// The coding is not used.
    Off,
    /// Its default.
    Usual,
    /// This one, from 1 to `MAX`.
    Level(u32),
}

impl<const MAX: u32> CompressionLevel<MAX> {
    /// The level, where this is the default; nothing if the coding is not used.
    pub fn or(level: Option<Self>, usual: u32) -> Option<u32> {
        match level {
            Some(Self::Off) => None,
            Some(Self::Usual) | None => Some(usual),
            Some(Self::Level(level)) => Some(level),
        }
    }

    fn of<E: Error>(number: u64) -> Result<Self, E> {
        match u32::try_from(number) {
            Ok(0) => Ok(Self::Off),
            Ok(level) if level <= MAX => Ok(Self::Level(level)),
            _ => Err(E::custom(format!(
                "{number} is not a level from 1 to {MAX}, or 0 for off: higher levels take too long for responses that \
                 are made while a client waits"
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for CompressionSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SettingVisitor)
    }
}

struct SettingVisitor;

impl<'de> Visitor<'de> for SettingVisitor {
    type Value = CompressionSetting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#"true, false, codings as in "br,gzip", or a table, as in { gzip = 5, min-size = "1k" }"#)
    }

    fn visit_bool<E: Error>(self, is_on: bool) -> Result<CompressionSetting, E> {
        Ok(CompressionSetting::Codings(if is_on { Codings::On } else { Codings::Off }))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<CompressionSetting, E> {
        text.parse().map(CompressionSetting::Codings).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CompressionSetting, A::Error> {
        CompressionTable::deserialize(MapAccessDeserializer::new(map)).map(CompressionSetting::Table)
    }
}

impl Serialize for CompressionSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Codings(Codings::On) => serializer.serialize_bool(true),
            Self::Codings(Codings::Off) => serializer.serialize_bool(false),
            Self::Codings(codings) => codings.serialize(serializer),
            Self::Table(table) => table.serialize(serializer),
        }
    }
}

impl JsonSchema for CompressionSetting {
    fn schema_name() -> Cow<'static, str> {
        "Compression".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let codings = crate::values::setting_value::schema::<Codings>();
        let choices = json!([codings, Shape::of::<CompressionTable>().schema()]);
        let title = r#"true, false, codings as in "br,gzip", or a table, as in { gzip = 5, min-size = "1k" }"#;
        json!({ "title": title, "anyOf": choices }).try_into().unwrap_or_default()
    }
}

impl<'de, const MAX: u32> Deserialize<'de> for CompressionLevel<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LevelVisitor)
    }
}

struct LevelVisitor<const MAX: u32>;

impl<const MAX: u32> Visitor<'_> for LevelVisitor<MAX> {
    type Value = CompressionLevel<MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a level from 1 to {MAX}, or false")
    }

    fn visit_bool<E: Error>(self, is_on: bool) -> Result<CompressionLevel<MAX>, E> {
        Ok(if is_on { CompressionLevel::Usual } else { CompressionLevel::Off })
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<CompressionLevel<MAX>, E> {
        match u64::try_from(number) {
            Ok(number) => CompressionLevel::of(number),
            Err(_) => Err(E::custom(format!("{number} is not a level from 1 to {MAX}, or 0 for off"))),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<CompressionLevel<MAX>, E> {
        CompressionLevel::of(number)
    }
}

impl<const MAX: u32> Serialize for CompressionLevel<MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Usual => serializer.serialize_bool(true),
            Self::Level(level) => serializer.serialize_u32(*level),
        }
    }
}

impl<const MAX: u32> JsonSchema for CompressionLevel<MAX> {
    fn schema_name() -> Cow<'static, str> {
        "CompressionLevel".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = json!({ "type": "integer", "minimum": 0, "maximum": MAX });
        let title = format!("a level from 1 to {MAX}, or false");
        json!({ "title": title, "anyOf": [number, { "type": "boolean" }] }).try_into().unwrap_or_default()
    }
}

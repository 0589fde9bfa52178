//! A text, or a list of texts.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, SeqAccess, Visitor},
};
use serde_json::json;

/// A text, or a list of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Texts(pub Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Texts, E> {
        Ok(Texts(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Texts, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = elements.next_element()? {
            texts.push(text);
        }
        Ok(Texts(texts))
    }
}

impl JsonSchema for Texts {
    fn schema_name() -> Cow<'static, str> {
        "Texts".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = json!({ "type": "string" });
        let choices = json!([text, { "type": "array", "items": text }]);
        json!({ "title": EXPECTED, "anyOf": choices }).try_into().unwrap_or_default()
    }
}

const EXPECTED: &str = "a text, or a list of texts";

//! JSON objects without duplicate members: two programs may take different ones of them (RFC 7519 §4).

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// Reads an object; nothing if the text is not one, has a member twice, or is nested too deeply.
pub(crate) fn parse_object(text: &[u8]) -> Option<Map<String, Value>> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Strict { depth: MAX_DEPTH }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// A value that may contain so many levels.
#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn inner<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom("nested too deeply"))?;
        Ok(Self { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut values = Vec::new();
        while let Some(value) = elements.next_element_seed(inner)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(inner)?;
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("duplicate member"));
            }
        }
        Ok(Value::Object(object))
    }
}

/// Claims of identity providers have three levels. More would be an attack on our stack, and on what reads claims.
const MAX_DEPTH: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_without_duplicates_are_read_and_others_are_not() {
        let nested = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        for (text, expected) in [
            ("{}", true),
            (r#" {"a": 1, "b": [null, true, -1, 1.5, "x", {"a": 2}]} "#, true),
            (r#"{"a": 1, "a": 1}"#, false),
            (r#"{"a": 1, "\u0061": 2}"#, false),
            (r#"{"a": {"b": 1, "b": 2}}"#, false),
            (r#"{"a": [{"b": 1, "b": 2}]}"#, false),
            (r#"{"a": 1} {}"#, false),
            (r#"{"a": 1"#, false),
            ("[]", false),
            ("1", false),
            ("", false),
            ("{\"a\": \"\u{7f}\\ud800\"}", false),
            (&nested(16), true),
            (&nested(17), false),
            (&nested(5_000), false),
        ] {
            assert_eq!(parse_object(text.as_bytes()).is_some(), expected, "{text:.60}");
        }
        assert!(parse_object(b"{\"a\": \"\xff\"}").is_none());
    }
}

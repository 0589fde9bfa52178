//! Reads values of the tree into types, by serde. An error of serde gets the place of the value that it is about.

use std::{fmt, iter::Enumerate, slice, vec};

use serde::{
    de::{
        Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
        value::StrDeserializer,
    },
    forward_to_deserialize_any,
};
use toml::de::{DeInteger, DeValue};

use crate::{
    document::{Table, Value},
    place::Place,
    problem::Problem,
};

/// Reads what a type knows of a table, without these keys.
pub fn read_table<'de, T: Deserialize<'de>>(
    table: &'de Table<'de>,
    place: &Place,
    without: &[String],
    known: &mut Vec<&'static str>,
) -> Result<T, Problem> {
    T::deserialize(TableReader { table, place, without, known })
}

struct ValueReader<'de, 'p> {
    value: &'de Value<'de>,
    place: &'p Place,
}

impl<'de> ValueReader<'de, '_> {
    fn visit<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Problem> {
        match self.value.get_ref() {
            DeValue::String(text) => visitor.visit_borrowed_str(text),
            DeValue::Integer(number) => visit_integer(number, visitor),
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => visitor.visit_f64(number),
                Err(_) => Err(Problem::invalid_type(Unexpected::Other("a number like this"), &visitor)),
            },
            DeValue::Boolean(value) => visitor.visit_bool(*value),
            DeValue::Datetime(_) => Err(Problem::invalid_type(Unexpected::Other("a date"), &visitor)),
            DeValue::Array(elements) => {
                visitor.visit_seq(Elements { elements: elements.iter().enumerate(), place: self.place })
            }
            DeValue::Table(table) => visitor.visit_map(Entries::new(table, self.place)),
        }
    }
}

fn visit_integer<'de, V: Visitor<'de>>(number: &DeInteger<'_>, visitor: V) -> Result<V::Value, Problem> {
    let (digits, radix) = (number.as_str(), number.radix());
    match (i64::from_str_radix(digits, radix), u64::from_str_radix(digits, radix)) {
        (Ok(number), _) => visitor.visit_i64(number),
        (_, Ok(number)) => visitor.visit_u64(number),
        _ => Err(Problem::custom(format!("{number} is larger than numbers can be"))),
    }
}

impl<'de> Deserializer<'de> for ValueReader<'de, '_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.visit(visitor).map_err(|problem| problem.or_at(self.place))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.visit_if(|value| value.is_bool(), "true or false", visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.visit_if(|value| value.is_str(), "text in quotes", visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_string(visitor)
    }

    /// One value stands for an array of it, as an option can be given once or several times.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.value.get_ref() {
            DeValue::Array(_) => self.deserialize_any(visitor),
            _ => visitor.visit_seq(OneElement { value: Some(self.value), place: self.place }),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.visit_if(|value| value.is_table(), r#"a table, as in { Name = "value" }"#, visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct struct enum identifier ignored_any
    }
}

impl<'de> ValueReader<'de, '_> {
    /// Visits a value of the kind that is expected.
    fn visit_if<V: Visitor<'de>>(
        self,
        is_expected: impl Fn(&DeValue<'_>) -> bool,
        expected: &str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        if is_expected(self.value.get_ref()) {
            return self.deserialize_any(visitor);
        }
        Err(self.visit(Refusal(expected)).err().unwrap_or_else(|| Problem::custom(expected)).or_at(self.place))
    }
}

/// Expects nothing that comes.
struct Refusal<'e>(&'e str);

impl Visitor<'_> for Refusal<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The elements of an array.
struct Elements<'de, 'p> {
    elements: Enumerate<slice::Iter<'de, Value<'de>>>,
    place: &'p Place,
}

impl<'de> SeqAccess<'de> for Elements<'de, '_> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Problem> {
        let Some((number, value)) = self.elements.next() else { return Ok(None) };
        seed.deserialize(ValueReader { value, place: &self.place.element(number) }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

/// A value in the place of an array.
struct OneElement<'de, 'p> {
    value: Option<&'de Value<'de>>,
    place: &'p Place,
}

impl<'de> SeqAccess<'de> for OneElement<'de, '_> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Problem> {
        let Some(value) = self.value.take() else { return Ok(None) };
        seed.deserialize(ValueReader { value, place: self.place }).map(Some)
    }
}

/// The entries of a table, in the order of the file.
struct Entries<'de, 'p> {
    entries: vec::IntoIter<(&'de str, &'de Value<'de>)>,
    next: Option<(&'de str, &'de Value<'de>)>,
    place: &'p Place,
}

impl<'de, 'p> Entries<'de, 'p> {
    fn new(table: &'de Table<'de>, place: &'p Place) -> Self {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entries: Vec<_> = entries.into_iter().map(|(key, value)| (&**key.get_ref(), value)).collect();
        Self { entries: entries.into_iter(), next: None, place }
    }

    /// Without the keys that are not wanted.
    fn only(mut self, is_wanted: impl Fn(&str) -> bool) -> Self {
        self.entries = self.entries.filter(|(key, _)| is_wanted(key)).collect::<Vec<_>>().into_iter();
        self
    }
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = Problem;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Problem> {
        self.next = self.entries.next();
        let Some((key, _)) = self.next else { return Ok(None) };
        let deserializer: StrDeserializer<'_, Problem> = key.into_deserializer();
        seed.deserialize(deserializer).map(Some).map_err(|problem| problem.or_at_key(&self.place.key(key)))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Problem> {
        let (key, value) = self.next.ok_or_else(|| Problem::custom("a value before its key"))?;
        let place = self.place.key(key);
        seed.deserialize(ValueReader { value, place: &place }).map_err(|problem| problem.or_at(&place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// A table of which a type reads what it knows.
struct TableReader<'de, 'a> {
    table: &'de Table<'de>,
    place: &'a Place,
    without: &'a [String],
    known: &'a mut Vec<&'static str>,
}

impl<'de> Deserializer<'de> for TableReader<'de, '_> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_map(Entries::new(self.table, self.place))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.known.extend(keys.iter().filter(|key| !self.known.contains(key)).collect::<Vec<_>>());
        let is_wanted = |key: &str| keys.contains(&key) && !self.without.iter().any(|other| other == key);
        let entries = Entries::new(self.table, self.place).only(is_wanted);
        visitor.visit_map(entries).map_err(|problem| problem.or_at(self.place))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

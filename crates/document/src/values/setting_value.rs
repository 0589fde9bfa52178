//! Values in a settings file: text in quotes, and for some types numbers or true and false.

use std::{
    fmt::{self, Display},
    marker::PhantomData,
    str::FromStr,
};

use schemars::Schema;
use serde::{
    Serializer,
    de::{Deserializer, Error, Visitor},
};
use serde_json::{Value, json};

/// A value that can stand in a settings file.
pub trait SettingValue: FromStr<Err: Display> + Display {
    /// Which values may be written without quotes.
    const UNQUOTED: Unquoted = Unquoted::Nothing;

    /// The expected value, for error messages, with examples.
    fn expected() -> String;

    /// The JSON schema of the value in quotes (of [`Unquoted::OnlyNumbers`], without).
    fn schema() -> Value;

    /// A suggestion for a number or a bare word that needs quotes.
    fn suggestion(bare: &str) -> Option<String> {
        bare.parse::<Self>().is_ok().then(|| format!("{bare:?}"))
    }
}

/// Which values may be written without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unquoted {
    /// Nothing: it is always text.
    Nothing,
    /// Numbers; text is possible too.
    Numbers,
    /// Nothing but numbers; in quotes, those from the environment.
    OnlyNumbers,
    /// `true` and `false`, which mean `on` and `off`.
    Switches,
}

/// Reads a value from a settings file.
pub fn deserialize<'de, T: SettingValue, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(ValueVisitor(PhantomData))
}

/// Writes a value as [`deserialize`] reads it.
pub fn serialize<T: SettingValue, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    match (T::UNQUOTED, value.to_string().parse::<u64>()) {
        (Unquoted::Numbers | Unquoted::OnlyNumbers, Ok(number)) => serializer.serialize_u64(number),
        _ => serializer.collect_str(value),
    }
}

/// The JSON schema of the values that [`deserialize`] accepts.
pub fn schema<T: SettingValue>() -> Schema {
    let mut schema = match T::UNQUOTED {
        Unquoted::Nothing => T::schema(),
        Unquoted::OnlyNumbers => {
            json!({ "anyOf": [T::schema(), { "type": "string", "pattern": "^(\\$\\{[A-Z].*\\}|[0-9]+)$" }] })
        }
        Unquoted::Numbers => json!({ "anyOf": [{ "type": "integer", "minimum": 0 }, T::schema()] }),
        Unquoted::Switches => json!({ "anyOf": [{ "type": "boolean" }, T::schema()] }),
    };
    schema["title"] = T::expected().into();
    schema.try_into().unwrap_or_default()
}

struct ValueVisitor<T>(PhantomData<T>);

impl<T: SettingValue> ValueVisitor<T> {
    fn read<E: Error>(text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    /// The error for something without quotes that is possible in quotes only, if at all.
    fn refuse<E: Error>(bare: &str) -> E {
        match T::suggestion(bare) {
            Some(suggestion) => E::custom(format!("write {suggestion}, in quotes")),
            None => E::custom(format!("expected {}, not {bare}", T::expected())),
        }
    }

    fn number<E: Error>(number: &str) -> Result<T, E> {
        match T::UNQUOTED {
            Unquoted::Numbers | Unquoted::OnlyNumbers => number.parse().map_err(|error: T::Err| {
                // Messages about texts quote them.
                let told = error.to_string();
                let unquoted = told.strip_prefix(&format!("{number:?}")).map(|rest| format!("{number}{rest}"));
                E::custom(unquoted.unwrap_or(told))
            }),
            Unquoted::Nothing | Unquoted::Switches => Err(Self::refuse(number)),
        }
    }
}

impl<T: SettingValue> Visitor<'_> for ValueVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&T::expected())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        match T::UNQUOTED {
            // A number from the environment, as in "${WEB_CONCURRENCY}", is in quotes.
            Unquoted::OnlyNumbers => {
                text.parse().map_err(|_| E::custom(format!("expected {}, not {text:?}", T::expected())))
            }
            _ => Self::read(text),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        Self::number(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Self::number(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        Err(Self::refuse(&number.to_string()))
    }

    fn visit_bool<E: Error>(self, is_on: bool) -> Result<T, E> {
        match T::UNQUOTED {
            Unquoted::Switches => Self::read(if is_on { "on" } else { "off" }),
            _ => Err(Self::refuse(&is_on.to_string())),
        }
    }
}

/// Lets types that are [`SettingValue`] be read from a settings file, written, and described by a schema. Numbers stay
/// numbers.
#[macro_export]
macro_rules! in_settings_file {
    ($type:ty, $name:literal $(, $($generics:tt)+)?) => {
        impl<'de, $($($generics)+)?> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::values::setting_value::deserialize(deserializer)
            }
        }

        impl<$($($generics)+)?> serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::values::setting_value::serialize(self, serializer)
            }
        }

        impl<$($($generics)+)?> schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::values::setting_value::schema::<Self>()
            }
        }
    };
}

//! Values that are one of a few words, as clap knows them.

use clap::ValueEnum;

use super::Unreadable;

/// Reads one of the words of a type.
pub(crate) fn parse<T: ValueEnum>(text: &str) -> Result<T, Unreadable> {
    T::from_str(text, false).map_err(|_| Unreadable::new(text, format!("none of {}", names::<T>().join(", "))))
}

/// What is expected, as in `"on" or "off"`.
pub(crate) fn expected<T: ValueEnum>() -> String {
    let mut names: Vec<_> = names::<T>().iter().map(|name| format!("{name:?}")).collect();
    match names.pop() {
        Some(last) if names.is_empty() => last,
        last => format!("{} or {}", names.join(", "), last.unwrap_or_default()),
    }
}

/// The words.
pub(crate) fn names<T: ValueEnum>() -> Vec<String> {
    T::value_variants().iter().map(name).collect()
}

/// The word of a value.
pub(crate) fn name<T: ValueEnum>(value: &T) -> String {
    value.to_possible_value().map(|word| word.get_name().to_owned()).unwrap_or_default()
}

/// Lets types whose words clap knows stand in a settings file; of switches, `true` and `false` too.
macro_rules! word {
    ($type:ty, $name:literal $(, $bare:expr)?) => {
        impl std::str::FromStr for $type {
            type Err = $crate::written::Unreadable;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::written::words::parse(text)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::written::words::name(self))
            }
        }

        impl $crate::written::Written for $type {
            $(const BARE: $crate::written::Bare = $bare;)?

            fn expected() -> String {
                $crate::written::words::expected::<Self>()
            }

            fn schema() -> serde_json::Value {
                serde_json::json!({ "enum": $crate::written::words::names::<Self>() })
            }
        }

        $crate::written::in_settings_file!($type, $name);
    };
}
pub(crate) use word;

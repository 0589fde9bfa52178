//! Values that are one of a few names, which clap knows.

use clap::ValueEnum;

use crate::values::ValueError;

/// Reads one of the names of a type.
pub fn parse<T: ValueEnum>(text: &str) -> Result<T, ValueError> {
    T::from_str(text, false).map_err(|_| {
        let names = names::<T>();
        let meant = near(text, &names).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
        ValueError::new(text, format!("not one of {}{meant}", names.join(", ")))
    })
}

/// The most similar name, or the name here of what another server calls so.
pub fn near<'n>(text: &str, names: &'n [String]) -> Option<&'n str> {
    let text = text.to_lowercase().replace('_', "-");
    let other = OF_OTHERS.iter().find(|(word, _)| *word == text).map(|(_, name)| *name);
    let distances = names.iter().map(|name| (strsim::osa_distance(&text, name), name.as_str()));
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    // Every third letter may be wrong; beyond, words only look alike because they are short.
    let nearest = nearest.filter(|(distance, name)| *distance <= name.len() / 3).map(|(_, name)| name);
    names.iter().map(String::as_str).find(|name| Some(*name) == other).or(nearest)
}

/// Names in nginx, HAProxy and Caddy, and the names here.
const OF_OTHERS: [(&str, &str); 11] = [
    ("first", "round-robin"),
    ("ip-hash", "hash"),
    ("least-connections", "least-requests"),
    ("least-conn", "least-requests"),
    ("leastconn", "least-requests"),
    ("least-time", "latency"),
    ("random", "latency"),
    ("roundrobin", "round-robin"),
    ("rr", "round-robin"),
    ("source", "hash"),
    ("uri", "hash"),
];

/// The expected names, as in `"on" or "off"`.
pub fn expected<T: ValueEnum>() -> String {
    let mut names: Vec<_> = names::<T>().iter().map(|name| format!("{name:?}")).collect();
    match names.pop() {
        Some(last) if names.is_empty() => last,
        last => format!("{} or {}", names.join(", "), last.unwrap_or_default()),
    }
}

/// The names.
pub fn names<T: ValueEnum>() -> Vec<String> {
    T::value_variants().iter().map(name).collect()
}

/// The name of a value.
pub fn name<T: ValueEnum>(value: &T) -> String {
    value.to_possible_value().map(|word| word.get_name().to_owned()).unwrap_or_default()
}

/// Implements [`SettingValue`](crate::values::SettingValue) for types whose names clap knows; switches accept `true` and
/// `false` too.
#[macro_export]
macro_rules! choice {
    ($type:ty, $name:literal $(, $bare:expr)?) => {
        impl std::str::FromStr for $type {
            type Err = $crate::values::ValueError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::values::choice::parse(text)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::values::choice::name(self))
            }
        }

        impl $crate::values::SettingValue for $type {
            $(const UNQUOTED: $crate::values::Unquoted = $bare;)?

            fn expected() -> String {
                $crate::values::choice::expected::<Self>()
            }

            fn schema() -> serde_json::Value {
                serde_json::json!({ "enum": $crate::values::choice::names::<Self>() })
            }
        }

        $crate::in_settings_file!($type, $name);
    };
}

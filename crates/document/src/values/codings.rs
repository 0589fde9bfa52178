//! Which codings files are compressed in: `on`, `off`, `br,gzip`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::Coding;

use crate::{
    in_settings_file,
    values::{SettingValue, Unquoted, ValueError},
};

/// Codings in the order of preference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codings {
    /// Those that are best without a word.
    On,
    /// None.
    Off,
    /// These, each once.
    Only(Vec<Coding>),
}

impl Codings {
    /// The codings, where `on` means these.
    pub fn or(self, on: Vec<Coding>) -> Vec<Coding> {
        match self {
            Self::On => on,
            Self::Off => Vec::new(),
            Self::Only(codings) => codings,
        }
    }
}

impl FromStr for Codings {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "on" => return Ok(Self::On),
            "off" => return Ok(Self::Off),
            _ => {}
        }
        let mut codings = Vec::new();
        for name in text.split(',').map(str::trim) {
            match Coding::ALL.into_iter().find(|coding| coding.name() == name) {
                Some(coding) if !codings.contains(&coding) => codings.push(coding),
                _ => {
                    let problem = "not on, off or a list of codings: write one or several of br,zstd,gzip";
                    return Err(ValueError::new(text, problem));
                }
            }
        }
        Ok(Self::Only(codings))
    }
}

impl fmt::Display for Codings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => f.write_str("on"),
            Self::Off => f.write_str("off"),
            Self::Only(codings) => {
                f.write_str(&codings.iter().map(|coding| coding.name()).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl SettingValue for Codings {
    const UNQUOTED: Unquoted = Unquoted::Switches;

    fn expected() -> String {
        r#""on", "off" or a list of codings, as in "br,zstd,gzip""#.to_owned()
    }

    fn schema() -> Value {
        let name = Coding::ALL.map(Coding::name).join("|");
        json!({ "type": "string", "pattern": format!("^(on|off|({name})(, *({name}))*)$") })
    }
}

in_settings_file!(Codings, "Codings");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_are_parsed_or_refused() {
        use Coding::{Brotli, Gzip, Zstd};
        let cases: [(&str, Option<Codings>); 9] = [
            ("on", Some(Codings::On)),
            ("off", Some(Codings::Off)),
            ("gzip", Some(Codings::Only(vec![Gzip]))),
            ("zstd, br,gzip", Some(Codings::Only(vec![Zstd, Brotli, Gzip]))),
            ("", None),
            ("br,", None),
            ("br,br", None),
            ("deflate", None),
            ("on,br", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }

    #[test]
    fn on_leaves_the_codings_to_the_default() {
        let on = || vec![Coding::Gzip];
        assert_eq!(Codings::On.or(on()), on());
        assert_eq!(Codings::Off.or(on()), []);
        assert_eq!(Codings::Only(vec![Coding::Zstd]).or(on()), [Coding::Zstd]);
    }
}

//! How much may be held unsent: `adaptive`, `off`, `64k`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_pacing::Pacing;

use crate::{
    in_settings_file,
    values::{SettingValue, Size, Unquoted, ValueError},
};

/// How much may be held unsent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paced(pub Pacing);

impl FromStr for Paced {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let size = || text.parse().ok().and_then(|size: Size| u32::try_from(size.0).ok()).filter(|size| *size > 0);
        let pacing = match text {
            "adaptive" => Some(Pacing::Adaptive),
            "off" => Some(Pacing::Off),
            _ => size().map(Pacing::Fixed),
        };
        let problem = "not adaptive, off or a size: as a size, write a number of bytes below 4G, as in 16k";
        pacing.map(Self).ok_or_else(|| ValueError::new(text, problem))
    }
}

impl fmt::Display for Paced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Pacing::Adaptive => f.write_str("adaptive"),
            Pacing::Off => f.write_str("off"),
            Pacing::Fixed(size) => Size(size.into()).fmt(f),
        }
    }
}

impl SettingValue for Paced {
    const UNQUOTED: Unquoted = Unquoted::Numbers;

    fn expected() -> String {
        r#""adaptive", "off" or a size, as in "16k""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "anyOf": [{ "enum": ["adaptive", "off"] }, Size::schema()] })
    }
}

in_settings_file!(Paced, "Pacing");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pacings_are_parsed_or_refused() {
        let cases = [
            ("adaptive", Some(Pacing::Adaptive)),
            ("off", Some(Pacing::Off)),
            ("16k", Some(Pacing::Fixed(16_384))),
            ("1", Some(Pacing::Fixed(1))),
            ("4294967295", Some(Pacing::Fixed(u32::MAX))),
            ("4G", None),
            ("0", None),
            ("on", None),
            ("", None),
            ("-1", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse().ok(), expected.map(Paced), "{text}");
        }
    }
}

//! Limits in bytes: `500`, `64k`, `1M`, `2G`, and `unlimited`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, Size, Unquoted, ValueError, size},
};

/// At most so many bytes. 0 allows none; `unlimited` is [`u64::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeLimit(pub u64);

impl FromStr for SizeLimit {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            UNLIMITED => Ok(Self(u64::MAX)),
            text => text.parse().map(|Size(bytes)| Self(bytes)),
        }
    }
}

impl fmt::Display for SizeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            u64::MAX => f.write_str(UNLIMITED),
            bytes => Size(bytes).fmt(f),
        }
    }
}

impl SettingValue for SizeLimit {
    const UNQUOTED: Unquoted = Unquoted::Numbers;

    fn expected() -> String {
        format!("{} or {UNLIMITED:?}", Size::expected())
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^({}|{UNLIMITED})$", size::PATTERN) })
    }
}

in_settings_file!(SizeLimit, "SizeLimit");

const UNLIMITED: &str = "unlimited";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_the_word_unlimited() {
        let cases = [
            ("0", Some(0)),
            ("10M", Some(10 << 20)),
            ("unlimited", Some(u64::MAX)),
            ("Unlimited", None),
            ("none", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let parsed: Option<SizeLimit> = text.parse().ok();
            assert_eq!(parsed, expected.map(SizeLimit), "{text}");
            assert!(parsed.is_none_or(|limit| limit.to_string() == text), "{text}");
        }
    }
}

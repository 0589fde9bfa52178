//! Sizes in bytes: `500`, `64k`, `1M`, `2G`; also `64kB`, `1MB`, `1MiB`.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};

use crate::{
    in_settings_file,
    values::{SettingValue, Unquoted, ValueError, leading_number},
};

/// A number of bytes; `k`, `M` and `G` are powers of 1,024, as in nginx, whether `B` or `iB` stands behind them or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl Size {
    /// As the number of bytes of something in memory, which holds no more than that.
    pub fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for Size {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let error = || ValueError::new(text, NOT_A_SIZE);
        let (number, unit) = leading_number(text).ok_or_else(error)?;
        let unit: u64 = match unit.to_ascii_lowercase().as_str() {
            "" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            _ => return Err(error()),
        };
        number.checked_mul(unit).map(Self).ok_or_else(error)
    }
}

const NOT_A_SIZE: &str = "not a size: write a number of bytes, as in 500 64k 1M 2G (k, M and G are powers of 1,024)";

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "G"), (20, "M"), (10, "k")];
        match units.into_iter().find(|(bits, _)| self.0 > 0 && self.0.trailing_zeros() >= *bits) {
            Some((bits, unit)) => write!(f, "{}{unit}", self.0 >> bits),
            None => self.0.fmt(f),
        }
    }
}

/// The regular expression that a size matches, for the schema.
pub(crate) const PATTERN: &str = "[0-9]+([kKmMgG]([iI]?[bB])?)?";

impl SettingValue for Size {
    const UNQUOTED: Unquoted = Unquoted::Numbers;

    fn expected() -> String {
        r#"a size, as in 500, "64k", "1M" or "2G""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": format!("^{PATTERN}$") })
    }
}

in_settings_file!(Size, "Size");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_or_refused() {
        let cases = [
            ("0", Some(0)),
            ("500", Some(500)),
            ("64k", Some(65_536)),
            ("64K", Some(65_536)),
            ("1M", Some(1_048_576)),
            ("2G", Some(2_147_483_648)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551615k", None),
            ("", None),
            ("k", None),
            ("64kB", Some(65_536)),
            ("64KB", Some(65_536)),
            ("64KiB", Some(65_536)),
            ("10m", Some(10_485_760)),
            ("10MB", Some(10_485_760)),
            ("10MiB", Some(10_485_760)),
            ("2gb", Some(2_147_483_648)),
            ("1TB", None),
            ("1B", None),
            ("1iB", None),
            ("1Mi", None),
            ("1 k", None),
            ("-1", None),
            ("1.5M", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse().ok(), expected.map(Size), "{text}");
        }
        for (size, expected) in
            [(0, "0"), (500, "500"), (65_536, "64k"), (1 << 20, "1M"), (3 << 30, "3G"), (1025, "1025")]
        {
            assert_eq!(Size(size).to_string(), expected);
        }
        let error = "1TB".parse::<Size>().unwrap_err().to_string();
        assert_eq!(
            error,
            r#""1TB" is not a size: write a number of bytes, as in 500 64k 1M 2G (k, M and G are powers of 1,024)"#
        );
    }
}

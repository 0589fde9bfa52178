//! Whole numbers between two bounds.

use std::str::FromStr;

use super::{Unreadable, leading_number};

/// A whole number from `LEAST` to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count<const LEAST: u32, const MOST: u32>(u32);

impl<const LEAST: u32, const MOST: u32> Count<LEAST, MOST> {
    /// The number.
    pub(crate) fn get(self) -> u32 {
        self.0
    }

    /// The number, for what is counted in memory.
    pub(crate) fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<const LEAST: u32, const MOST: u32> FromStr for Count<LEAST, MOST> {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let number = leading_number(text).filter(|(_, rest)| rest.is_empty());
        let number = number.and_then(|(number, _)| u32::try_from(number).ok());
        number
            .filter(|number| (LEAST..=MOST).contains(number))
            .map(Self)
            .ok_or_else(|| Unreadable::new(text, format!("not a whole number from {LEAST} to {MOST}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        for (text, expected) in
            [("1", Some(1)), ("128", Some(128)), ("0", None), ("129", None), ("", None), ("1k", None)]
        {
            assert_eq!(text.parse::<Count<1, 128>>().ok().map(Count::get), expected, "{text}");
        }
        let error = "-1".parse::<Count<1, 128>>().unwrap_err().to_string();
        assert_eq!(error, r#""-1" is not a whole number from 1 to 128"#);
    }
}

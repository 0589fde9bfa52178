//! Permissions of a file: `660`.

use std::str::FromStr;

use super::Unreadable;

/// Permissions of a file, written in octal digits, as chmod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode(pub(crate) u32);

impl FromStr for Mode {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let is_octal = (1..=4).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
        u32::from_str_radix(text, 8)
            .ok()
            .filter(|&bits| is_octal && bits <= 0o777)
            .map(Self)
            .ok_or_else(|| Unreadable::new(text, "not a file mode: write three octal digits, as in 660"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes() {
        let cases = [("660", Some(0o660)), ("0660", Some(0o660)), ("7", Some(7)), ("777", Some(0o777)), ("1777", None)];
        let wrong = ["", "8", "+66", "0o660", "rw-rw----", "00660"].map(|text| (text, None));
        for (text, expected) in cases.into_iter().chain(wrong) {
            assert_eq!(text.parse().ok(), expected.map(Mode), "{text}");
        }
    }
}

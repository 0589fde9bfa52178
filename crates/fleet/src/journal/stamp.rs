//! When a command was given, and by which server: of two commands about the same subject, the later one counts.

use std::{fmt, str::FromStr};

/// When a command was given: a time that is later than that of all commands that its server knew of, even where its clock is
/// behind (a hybrid logical clock); and the server, which decides between two at the same microsecond.
///
/// As text, it has 36 characters, which compare as the stamps do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Microseconds since 1970.
    pub micros: u64,
    /// The server.
    pub server: ServerId,
}

/// A server of the fleet: a random number, which it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u64);

/// A text that is not a stamp, or not a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampError;

impl ServerId {
    /// A number that no other server has.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 8];
        // Without random numbers, the system cannot do TLS either.
        let _ = aws_lc_rs::rand::fill(&mut bytes);
        Self(u64::from_be_bytes(bytes))
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for ServerId {
    type Err = StampError;

    fn from_str(text: &str) -> Result<Self, StampError> {
        let is_hexadecimal = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match u64::from_str_radix(text, 16) {
            Ok(number) if is_hexadecimal && text.len() == 16 => Ok(Self(number)),
            _ => Err(StampError),
        }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:020}{}", self.micros, self.server)
    }
}

impl FromStr for Stamp {
    type Err = StampError;

    fn from_str(text: &str) -> Result<Self, StampError> {
        let (micros, server) = text.split_at_checked(20).ok_or(StampError)?;
        if !micros.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(StampError);
        }
        Ok(Self { micros: micros.parse().map_err(|_| StampError)?, server: server.parse()? })
    }
}

impl fmt::Display for StampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the stamp of a command")
    }
}

impl std::error::Error for StampError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_stamps_compare_as_the_stamps() {
        let stamp = |micros, server| Stamp { micros, server: ServerId(server) };
        let stamps =
            [stamp(0, 0), stamp(0, 1), stamp(9, 0), stamp(10, 0xf), stamp(10, 0x10), stamp(u64::MAX, u64::MAX)];
        for pair in stamps.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].to_string() < pair[1].to_string(), "{pair:?}");
            assert_eq!(pair[0].to_string().parse(), Ok(pair[0]));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let right = stamp_text();
        assert!(right.parse::<Stamp>().is_ok());
        for wrong in ["", "1", &right[1..], &right.to_uppercase(), &format!("+{}", &right[1..]), &format!("{right}0")] {
            assert_eq!(wrong.parse::<Stamp>(), Err(StampError), "{wrong}");
        }
        assert_eq!(format!("{}é", "0".repeat(19)).parse::<Stamp>(), Err(StampError));
    }

    fn stamp_text() -> String {
        Stamp { micros: 7, server: ServerId(0xabc) }.to_string()
    }
}

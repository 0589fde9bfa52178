//! The field `Depth` (RFC 4918 §10.2).

/// How far below a folder a request reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The resource itself.
    Zero,
    /// The resource, and what is directly in it.
    One,
    /// All that is below it.
    Infinity,
}

impl Depth {
    /// Reads the value of the field.
    ///
    /// # Errors
    ///
    /// A value that is none of the three.
    pub fn parse(value: &[u8]) -> Result<Self, InvalidDepth> {
        match value {
            b"0" => Ok(Self::Zero),
            b"1" => Ok(Self::One),
            _ if value.eq_ignore_ascii_case(b"infinity") => Ok(Self::Infinity),
            _ => Err(InvalidDepth),
        }
    }
}

/// The error for a value of `Depth` that is not `0`, `1` or `infinity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidDepth;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_values_are_valid() {
        for (value, expected) in [
            ("0", Ok(Depth::Zero)),
            ("1", Ok(Depth::One)),
            ("infinity", Ok(Depth::Infinity)),
            ("Infinity", Ok(Depth::Infinity)),
            ("", Err(InvalidDepth)),
            ("2", Err(InvalidDepth)),
            ("01", Err(InvalidDepth)),
            ("1, 0", Err(InvalidDepth)),
        ] {
            assert_eq!(Depth::parse(value.as_bytes()), expected, "{value}");
        }
    }
}

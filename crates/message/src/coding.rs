//! The content codings (RFC 9110 §8.4.1).

/// A content coding that responses are sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// Brotli (RFC 7932), `br`.
    Brotli,
    /// Zstandard (RFC 8878), `zstd`.
    Zstd,
    /// Gzip (RFC 1952), `gzip`.
    Gzip,
}

impl Coding {
    /// All of them, the smallest results first: the order for files compressed beforehand.
    pub const ALL: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// The name in Accept-Encoding and Content-Encoding.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// The suffix of the name of a file that was compressed beforehand.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
        }
    }
}

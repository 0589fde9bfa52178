//! The codings that a client accepts (RFC 9110 §12.5.3).

use serow_message::{Headers, KnownHeader, weight::weighted};

use crate::Coding;

/// The codings that a client accepts: a quality from 0 to 1000 for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    qualities: [u16; Coding::ALL.len()],
    identity: u16,
}

impl Accepted {
    /// Reads Accept-Encoding among the header fields of a request.
    #[must_use]
    pub fn of(request: &Headers) -> Self {
        Self::parse(request.list(KnownHeader::AcceptEncoding))
    }

    /// Parses the members of Accept-Encoding. Without the field, only identity is sent, since such a client may not
    /// decode anything (allowed by §12.5.3: any coding is acceptable, so identity is).
    #[must_use]
    pub fn parse<'value>(members: impl Iterator<Item = &'value [u8]>) -> Self {
        let mut named = [None; Coding::ALL.len()];
        let (mut identity, mut any) = (None, None);
        for member in members {
            let (name, quality) = weighted(member);
            if name == b"*" {
                any = Some(quality);
            } else if name.eq_ignore_ascii_case(b"identity") {
                identity = Some(quality);
            } else if let Some(index) = Coding::ALL.iter().position(|coding| is_named(*coding, name)) {
                named[index] = Some(quality);
            }
        }
        Self {
            qualities: named.map(|quality| quality.or(any).unwrap_or(0)),
            // §12.5.3: identity is acceptable unless excluded by name or by `*;q=0`; without a word it is the last
            // choice.
            identity: identity.or(any.filter(|&quality| quality == 0)).unwrap_or(1),
        }
    }

    /// The best of the codings at hand, which stand in the server's order of preference; nothing if identity is better.
    #[must_use]
    pub fn best(&self, at_hand: impl IntoIterator<Item = Coding>) -> Option<Coding> {
        let mut best: Option<(Coding, u16)> = None;
        for coding in at_hand {
            let quality = self.quality(coding);
            if quality > 0 && best.is_none_or(|(_, found)| quality > found) {
                best = Some((coding, quality));
            }
        }
        best.filter(|&(_, quality)| quality >= self.identity).map(|(coding, _)| coding)
    }

    fn quality(&self, coding: Coding) -> u16 {
        match coding {
            Coding::Brotli => self.qualities[0],
            Coding::Zstd => self.qualities[1],
            Coding::Gzip => self.qualities[2],
        }
    }
}

fn is_named(coding: Coding, name: &[u8]) -> bool {
    // RFC 9110 §8.4.1.3: x-gzip means gzip.
    name.eq_ignore_ascii_case(coding.name().as_bytes())
        || coding == Coding::Gzip && name.eq_ignore_ascii_case(b"x-gzip")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences() {
        use Coding::{Brotli, Gzip, Zstd};
        let cases = [
            ("", None),
            ("gzip", Some(Gzip)),
            ("GZIP", Some(Gzip)),
            ("x-gzip", Some(Gzip)),
            ("gzip, deflate, br, zstd", Some(Brotli)),
            ("gzip;q=1.0, br;q=0.5", Some(Gzip)),
            ("gzip;q=0.3,zstd;q=0.301", Some(Zstd)),
            ("*", Some(Brotli)),
            ("br;q=0, *", Some(Zstd)),
            ("br;q=0, gzip;q=0", None),
            ("identity", None),
            ("identity;q=0.5, gzip;q=0.4", None),
            ("identity;q=0.5, gzip;q=0.5", Some(Gzip)),
            ("gzip;q=0.001", Some(Gzip)),
            ("gzip;q=2", None),
            ("gzip;q=nonsense", None),
            ("gzip ; q=0.8 , br;Q=0.9", Some(Brotli)),
            ("identity;q=1, *;q=0", None),
            ("deflate", None),
        ];
        for (value, expected) in cases {
            let accepted = Accepted::parse(value.as_bytes().split(|&byte| byte == b',').map(<[u8]>::trim_ascii));
            assert_eq!(accepted.best(Coding::ALL), expected, "{value}");
        }
    }

    #[test]
    fn only_codings_at_hand_are_chosen() {
        let accepted = Accepted::parse([&b"br"[..], b"gzip;q=0.5"].into_iter());
        assert_eq!(accepted.best([Coding::Gzip]), Some(Coding::Gzip));
        assert_eq!(accepted.best([]), None);
    }
}

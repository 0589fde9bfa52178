//! Cache directives of a request (RFC 9111 §5.2.1, §5.4).

use serow_message::{Headers, KnownHeader};

use crate::{
    delta::Delta,
    directives::{Argument, directives},
};

/// The directives of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestControl {
    /// `no-store` (§5.2.1.5).
    pub no_store: bool,
    /// `no-cache` (§5.2.1.4), or `Pragma: no-cache` without Cache-Control (§5.4).
    pub no_cache: bool,
    /// `max-age` (§5.2.1.1).
    pub max_age: Delta,
    /// `min-fresh` (§5.2.1.3).
    pub min_fresh: Delta,
    /// `max-stale` (§5.2.1.2); without a number, `Seconds(u32::MAX)`.
    pub max_stale: Delta,
    /// `only-if-cached` (§5.2.1.7).
    pub only_if_cached: bool,
}

impl RequestControl {
    /// Reads the directives from these headers of a request.
    #[must_use]
    pub fn of(headers: &Headers) -> Self {
        let mut control = Self::default();
        if !headers.contains_any(&[KnownHeader::CacheControl, KnownHeader::Pragma]) {
            return control;
        }
        if !headers.contains(KnownHeader::CacheControl) {
            control.no_cache = directives(headers, KnownHeader::Pragma).any(|directive| directive.is("no-cache"));
            return control;
        }
        for directive in directives(headers, KnownHeader::CacheControl) {
            let argument = &directive.argument;
            match &*directive.name.to_ascii_lowercase() {
                b"no-store" => control.no_store = true,
                b"no-cache" => control.no_cache = true,
                b"only-if-cached" => control.only_if_cached = true,
                b"max-age" => control.max_age.add(argument),
                b"min-fresh" => control.min_fresh.add(argument),
                b"max-stale" => match argument {
                    Argument::None => control.max_stale = Delta::Seconds(u32::MAX),
                    argument => control.max_stale.add(argument),
                },
                _ => {}
            }
        }
        control
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_of_requests() {
        let none = RequestControl::default();
        let cases = [
            ("cache-control", "no-store, no-cache", RequestControl { no_store: true, no_cache: true, ..none }),
            ("cache-control", "max-age=0", RequestControl { max_age: Delta::Seconds(0), ..none }),
            ("cache-control", "max-age=x", RequestControl { max_age: Delta::Invalid, ..none }),
            ("cache-control", "max-stale", RequestControl { max_stale: Delta::Seconds(u32::MAX), ..none }),
            ("cache-control", "max-stale=7", RequestControl { max_stale: Delta::Seconds(7), ..none }),
            ("cache-control", "min-fresh=7", RequestControl { min_fresh: Delta::Seconds(7), ..none }),
            ("cache-control", "Only-If-Cached", RequestControl { only_if_cached: true, ..none }),
            ("pragma", "no-cache", RequestControl { no_cache: true, ..none }),
            ("pragma", "x", none),
        ];
        for (name, value, expected) in cases {
            let mut headers = Headers::new();
            headers.append(name, value).unwrap();
            assert_eq!(RequestControl::of(&headers), expected, "{name}: {value}");
        }
    }

    #[test]
    fn pragma_does_not_count_beside_cache_control() {
        // RFC 9111 §5.4.
        let mut headers = Headers::new();
        headers.append("pragma", "no-cache").unwrap();
        headers.append("cache-control", "max-age=5").unwrap();
        assert!(!RequestControl::of(&headers).no_cache);
    }
}

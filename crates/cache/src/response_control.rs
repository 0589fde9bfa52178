//! Cache directives of a response: Cache-Control (RFC 9111 §5.2.2), or a field for this cache (RFC 9213).

use serow_message::{Headers, KnownHeader};

use crate::{
    delta::Delta,
    directives::{Argument, Directive, directives},
    targeted,
};

/// The directives of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseControl {
    /// `no-store` (§5.2.2.5).
    pub no_store: bool,
    /// `no-cache` (§5.2.2.4).
    pub no_cache: Restriction,
    /// `private` (§5.2.2.7).
    pub private: Restriction,
    /// `public` (§5.2.2.9).
    pub public: bool,
    /// `max-age` (§5.2.2.1).
    pub max_age: Delta,
    /// `s-maxage` (§5.2.2.10).
    pub s_maxage: Delta,
    /// `must-revalidate` (§5.2.2.2).
    pub must_revalidate: bool,
    /// `proxy-revalidate` (§5.2.2.8).
    pub proxy_revalidate: bool,
    /// `must-understand` (§5.2.2.3).
    pub must_understand: bool,
    /// `immutable` (RFC 8246).
    pub immutable: bool,
    /// `stale-while-revalidate` (RFC 5861 §3).
    pub stale_while_revalidate: Delta,
    /// `stale-if-error` (RFC 5861 §4).
    pub stale_if_error: Delta,
    /// Whether a field for this cache says it; then Expires and Pragma do not count (RFC 9213 §2.1).
    pub is_targeted: bool,
}

/// To what a directive with an optional list of fields applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Restriction {
    /// There is no such directive.
    #[default]
    None,
    /// To these fields, in lower case.
    Fields(Vec<Box<[u8]>>),
    /// To the whole response.
    All,
}

impl ResponseControl {
    /// Reads the directives from these headers of a response: from a field for this cache that is valid and not empty,
    /// else from Cache-Control.
    #[must_use]
    pub fn of(headers: &Headers) -> Self {
        let mut control = Self::default();
        for field in TARGETED {
            if !headers.contains(*field) {
                continue;
            }
            if let Some(members) = targeted::members(headers, field).filter(|members| !members.is_empty()) {
                control.is_targeted = true;
                members.iter().for_each(|directive| control.add(directive));
                return control;
            }
        }
        directives(headers, KnownHeader::CacheControl).for_each(|directive| control.add(&directive));
        control
    }

    fn add(&mut self, directive: &Directive<'_>) {
        let argument = &directive.argument;
        let name = directive.name.to_ascii_lowercase();
        match &*name {
            b"no-store" => self.no_store = true,
            b"no-cache" => self.no_cache.add(argument),
            b"private" => self.private.add(argument),
            b"public" => self.public = true,
            b"max-age" => self.max_age.add(argument),
            b"s-maxage" => self.s_maxage.add(argument),
            b"must-revalidate" => self.must_revalidate = true,
            b"proxy-revalidate" => self.proxy_revalidate = true,
            b"must-understand" => self.must_understand = true,
            b"immutable" => self.immutable = true,
            b"stale-while-revalidate" => self.stale_while_revalidate.add(argument),
            b"stale-if-error" => self.stale_if_error.add(argument),
            _ => {}
        }
    }

    /// Whether a stale response must not be reused without validation, whatever a request or the settings allow
    /// (RFC 9111 §4.2.4, §5.2.2.10).
    #[must_use]
    pub fn forbids_stale(&self) -> bool {
        self.must_revalidate
            || self.proxy_revalidate
            || self.no_cache == Restriction::All
            || self.s_maxage != Delta::Absent
    }
}

impl Restriction {
    /// Adds what an argument says; one that cannot be read restricts the whole response.
    fn add(&mut self, argument: &Argument<'_>) {
        let Argument::Text(text) = argument else {
            *self = Self::All;
            return;
        };
        let names = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|name| !name.is_empty());
        let names = names.map(|name| name.to_ascii_lowercase().into_boxed_slice());
        match self {
            Self::None => *self = Self::Fields(names.collect()),
            Self::Fields(fields) => fields.extend(names),
            Self::All => {}
        }
    }

    /// Whether a field of this name is among those that it applies to.
    #[must_use]
    pub fn covers(&self, name: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::Fields(fields) => fields.iter().any(|field| field.eq_ignore_ascii_case(name)),
            Self::All => true,
        }
    }
}

/// The fields for this cache, the most specific first (RFC 9213 §2.2).
const TARGETED: &[&str] = &["serow-cache-control", "cdn-cache-control"];

#[cfg(test)]
mod tests {
    use super::*;

    fn control(fields: &[(&str, &str)]) -> ResponseControl {
        let mut headers = Headers::new();
        fields.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
        ResponseControl::of(&headers)
    }

    #[test]
    fn directives_of_cache_control() {
        let value = "Public, MAX-AGE=60, s-maxage=\"120\", must-revalidate, immutable, stale-if-error=5";
        assert_eq!(
            control(&[("cache-control", value)]),
            ResponseControl {
                public: true,
                max_age: Delta::Seconds(60),
                s_maxage: Delta::Seconds(120),
                must_revalidate: true,
                immutable: true,
                stale_if_error: Delta::Seconds(5),
                ..ResponseControl::default()
            }
        );
    }

    #[test]
    fn repeated_ages_must_agree() {
        // RFC 9111 §4.2.1.
        for (value, expected) in [
            ("max-age=1, max-age=1", Delta::Seconds(1)),
            ("max-age=1, max-age=2", Delta::Invalid),
            ("max-age=1, max-age=x", Delta::Invalid),
            ("max-age", Delta::Invalid),
            ("max-age=-1", Delta::Invalid),
        ] {
            assert_eq!(control(&[("cache-control", value)]).max_age, expected, "{value}");
        }
        let lines = [("cache-control", "max-age=1"), ("cache-control", "max-age=2")];
        assert_eq!(control(&lines).max_age, Delta::Invalid);
    }

    #[test]
    fn restrictions_of_fields_and_of_the_whole_response() {
        // RFC 9111 §5.2.2.4, §5.2.2.7.
        let control = control(&[("cache-control", "private=\"Set-Cookie, X-User\", no-cache")]);
        assert!(control.private.covers(b"set-cookie") && control.private.covers(b"x-user"));
        assert!(!control.private.covers(b"x-other"));
        assert_eq!(control.no_cache, Restriction::All);
        let both = super::tests::control(&[("cache-control", "no-cache=\"a\", no-cache")]);
        assert_eq!(both.no_cache, Restriction::All);
    }

    #[test]
    fn fields_for_this_cache_take_precedence() {
        // RFC 9213 §2.2: the first that is valid and not empty counts, and nothing else does.
        let fields = [("cache-control", "no-store"), ("cdn-cache-control", "max-age=60")];
        let found = control(&fields);
        assert!(found.is_targeted && !found.no_store && found.max_age == Delta::Seconds(60));
        let fields = [("cdn-cache-control", "max-age=60"), ("serow-cache-control", "max-age=5;x=1, no-cache")];
        let found = control(&fields);
        assert_eq!((found.max_age, found.no_cache), (Delta::Seconds(5), Restriction::All));
        for invalid in ["max-age=", "&", "max-age=60,", ""] {
            let found = control(&[("cache-control", "no-store"), ("cdn-cache-control", invalid)]);
            assert!(found.no_store && !found.is_targeted, "{invalid}");
        }
        // §2.1: a value of the wrong type.
        assert_eq!(control(&[("cdn-cache-control", "max-age=\"60\"")]).max_age, Delta::Invalid);
    }
}

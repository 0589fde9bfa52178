//! The default encoding of files in Ruby.
//!
//! Services and containers mostly have no locale, and without one Ruby reads every file as ASCII: a `config.ru` with an
//! umlaut, a template, the result of a database query. Python falls back to UTF-8 in this case (PEP 538), and we do the
//! same for Ruby.

use std::{
    env,
    ffi::{OsStr, OsString},
};

use crate::program::Interface;

/// A variable that is added to the environment of an interpreter, which has these variables besides those of this
/// process.
pub(crate) fn variable(interface: Interface, set: &[(OsString, OsString)]) -> Option<(&'static str, &'static str)> {
    let look_up = |name: &str| {
        let own = set.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.clone());
        own.or_else(|| env::var_os(name)).filter(|value| !value.is_empty())
    };
    (interface == Interface::Rack && says_nothing(look_up)).then_some((CATEGORY, UTF_8))
}

/// Whether the locale is the default; locale(7) says which variable counts. LC_ALL would override our setting, and it
/// is set on purpose.
fn says_nothing(look_up: impl Fn(&str) -> Option<OsString>) -> bool {
    if look_up("LC_ALL").is_some() {
        return false;
    }
    let value = [CATEGORY, "LANG"].into_iter().find_map(look_up);
    value.as_deref().is_none_or(|value| ["C", "POSIX"].map(OsStr::new).contains(&value))
}

/// The category for the character encoding alone.
const CATEGORY: &str = "LC_CTYPE";
/// Part of glibc since 2.35, and of Debian's and musl's before.
const UTF_8: &str = "C.UTF-8";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_locales_are_detected() {
        let cases: [(&[(&str, &str)], bool); 7] = [
            (&[], true),
            (&[("LANG", "C")], true),
            (&[("LANG", "de_DE.ISO-8859-1")], false),
            (&[("LANG", "POSIX"), ("LC_CTYPE", "C.UTF-8")], false),
            (&[("LC_CTYPE", "C"), ("LANG", "de_DE.UTF-8")], true),
            (&[("LC_ALL", "C"), ("LC_CTYPE", "C")], false),
            (&[("LC_MESSAGES", "de_DE.UTF-8")], true),
        ];
        for (variables, expected) in cases {
            let look_up = |name: &str| {
                variables.iter().find(|(other, _)| *other == name).map(|(_, value)| OsString::from(*value))
            };
            assert_eq!(says_nothing(look_up), expected, "{variables:?}");
        }
        let own = [(OsString::from("LC_ALL"), OsString::from("C"))];
        assert_eq!(variable(Interface::Rack, &own), None);
        assert_eq!(variable(Interface::Psgi, &[]), None);
    }
}

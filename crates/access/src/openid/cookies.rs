//! Cookies: reading those of this server from requests, and writing them. A long value is spread over several, since
//! browsers keep no cookie of more than 4 KB (RFC 6265 §6.1).

/// The cookies of a login. With TLS, their names begin with `__Host-`: browsers accept such a cookie from this host only,
/// over TLS (RFC 6265bis §4.1.3.2), so no other site of the domain can set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cookies {
    pub(crate) is_secure: bool,
}

/// Which cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CookieKind {
    /// That of a session.
    Session,
    /// The secret of a browser that logs in.
    Browser,
}

impl Cookies {
    fn name(self, kind: CookieKind) -> String {
        let prefix = if self.is_secure { SECURE_PREFIX } else { "" };
        let suffix = match kind {
            CookieKind::Session => "session",
            CookieKind::Browser => "browser",
        };
        format!("{prefix}{NAME}{suffix}")
    }

    /// The value in these Cookie fields. A duplicate name has no value: one of them may be from somebody else.
    pub(crate) fn find<'c>(self, fields: impl Iterator<Item = &'c [u8]> + Clone, kind: CookieKind) -> Option<String> {
        let name = self.name(kind);
        let first = single(fields.clone(), &name)?;
        // The first names how many there are.
        let (count, rest) = first.split_once('.')?;
        let count: usize = count.parse().ok().filter(|count| (1..=MAX_COOKIES).contains(count))?;
        let mut value = rest.to_owned();
        for number in 1..count {
            value.push_str(single(fields.clone(), &format!("{name}-{number}"))?);
        }
        Some(value)
    }

    /// The Set-Cookie fields for this value, which lives so many seconds; `None` if it is too long.
    pub(crate) fn set(self, kind: CookieKind, value: &str, lifetime: u64) -> Option<Vec<String>> {
        let pieces: Vec<&str> =
            value.as_bytes().chunks(MAX_PIECE).filter_map(|piece| std::str::from_utf8(piece).ok()).collect();
        if pieces.is_empty() || pieces.len() > MAX_COOKIES {
            return None;
        }
        let (name, count) = (self.name(kind), pieces.len());
        let write = |(number, piece): (usize, &&str)| match number {
            0 => self.field(&name, &format!("{count}.{piece}"), lifetime),
            number => self.field(&format!("{name}-{number}"), piece, lifetime),
        };
        Some(pieces.iter().enumerate().map(write).collect())
    }

    /// The Set-Cookie fields that remove those of this kind that these Cookie fields have.
    pub(crate) fn remove<'c>(self, fields: impl Iterator<Item = &'c [u8]>, kind: CookieKind) -> Vec<String> {
        let name = self.name(kind);
        let is_own = |other: &&str| is_piece(other, &name);
        let mut names: Vec<&str> = pairs(fields).map(|(name, _)| name).filter(is_own).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().take(MAX_COOKIES).map(|name| self.field(name, "", 0)).collect()
    }

    fn field(self, name: &str, value: &str, lifetime: u64) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{name}={value}; Path=/; Max-Age={lifetime}; HttpOnly; SameSite=Lax{secure}")
    }
}

/// A Cookie field without the cookies of logins, which are meant for this server only; `None` if nothing is left.
#[must_use]
pub fn without_own_cookies(field: &[u8]) -> Option<Vec<u8>> {
    let is_other = |pair: &&[u8]| {
        let name = pair.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
        !pair.trim_ascii().is_empty() && !name.starts_with(NAME.as_bytes()) && !name.starts_with(FULL_NAME.as_bytes())
    };
    let kept: Vec<&[u8]> = field.split(|byte| *byte == b';').filter(is_other).map(<[u8]>::trim_ascii).collect();
    (!kept.is_empty()).then(|| kept.join(&b"; "[..]))
}

/// Whether a Cookie field may have cookies of logins.
#[must_use]
pub fn has_own_cookies(field: &[u8]) -> bool {
    field.windows(NAME.len()).any(|window| window == NAME.as_bytes())
}

fn is_piece(name: &str, whole: &str) -> bool {
    let number = name.strip_prefix(whole).map(|rest| rest.strip_prefix('-').unwrap_or(rest));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn pairs<'c>(fields: impl Iterator<Item = &'c [u8]>) -> impl Iterator<Item = (&'c str, &'c str)> {
    let pair = |pair: &'c [u8]| std::str::from_utf8(pair).ok()?.trim().split_once('=');
    fields.flat_map(|field| field.split(|byte| *byte == b';')).filter_map(pair)
}

fn single<'c>(fields: impl Iterator<Item = &'c [u8]>, name: &str) -> Option<&'c str> {
    let mut values = pairs(fields).filter(|(other, _)| *other == name).map(|(_, value)| value);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

const NAME: &str = "serow-login-";
const SECURE_PREFIX: &str = "__Host-";
const FULL_NAME: &str = "__Host-serow-login-";

/// With name and attributes, less than 4096 bytes.
const MAX_PIECE: usize = 3800;

/// More would leave no room in the head of a request, which has 32 KB at most.
const MAX_COOKIES: usize = 3;

/// The longest value that they have room for.
pub(crate) const MAX_SEALED: usize = MAX_COOKIES * MAX_PIECE;

#[cfg(test)]
mod tests {
    use super::*;

    const SECURE: Cookies = Cookies { is_secure: true };

    /// The Cookie field that a browser sends after these Set-Cookie fields.
    fn sent(fields: &[String]) -> String {
        let pairs: Vec<_> = fields.iter().map(|field| field.split(';').next().unwrap()).collect();
        pairs.join("; ")
    }

    fn find(field: &str, kind: CookieKind) -> Option<String> {
        SECURE.find([field.as_bytes()].into_iter(), kind)
    }

    #[test]
    fn cookies_belong_to_the_host_and_scripts_cannot_read_them() {
        let fields = SECURE.set(CookieKind::Session, "abc", 60).unwrap();
        let expected = "__Host-serow-login-session=1.abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure";
        assert_eq!(fields, [expected]);
        let fields = Cookies { is_secure: false }.set(CookieKind::Browser, "abc", 60).unwrap();
        assert_eq!(fields, ["serow-login-browser=1.abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"]);
    }

    #[test]
    fn long_values_are_spread_over_cookies_that_browsers_keep() {
        for (length, count) in [(1, 1), (3800, 1), (3801, 2), (11_400, 3)] {
            let value: String = (0..length).map(|number| (b'a' + (number % 26) as u8) as char).collect();
            let fields = SECURE.set(CookieKind::Session, &value, 60).unwrap();
            assert_eq!(fields.len(), count, "{length}");
            assert!(fields.iter().all(|field| field.len() <= 4096));
            let field = format!("a=1; {}; b=2", sent(&fields));
            assert_eq!(find(&field, CookieKind::Session), Some(value));
            assert_eq!(find(&field, CookieKind::Browser), None);
            assert_eq!(SECURE.remove([field.as_bytes()].into_iter(), CookieKind::Session).len(), count);
            assert_eq!(without_own_cookies(field.as_bytes()).as_deref(), Some(&b"a=1; b=2"[..]));
        }
        assert_eq!(SECURE.set(CookieKind::Session, &"a".repeat(11_401), 60), None);
    }

    #[test]
    fn incomplete_duplicate_and_invalid_cookies_have_no_value() {
        let name = "__Host-serow-login-session";
        for field in [
            String::new(),
            format!("{name}=abc"),
            format!("{name}=.abc"),
            format!("{name}=0.abc"),
            format!("{name}=2.abc"),
            format!("{name}=4.abc; {name}-1=a; {name}-2=a; {name}-3=a"),
            format!("{name}=1.abc; {name}=1.abd"),
            format!("{name}=2.abc; {name}-1=a; {name}-1=b"),
            "serow-login-session=1.abc".to_owned(),
        ] {
            assert_eq!(find(&field, CookieKind::Session), None, "{field}");
        }
        let both = [&b"__Host-serow-login-session=1.a"[..], b"__Host-serow-login-session=1.b"];
        assert_eq!(SECURE.find(both.into_iter(), CookieKind::Session), None);
    }

    #[test]
    fn only_cookies_of_logins_are_hidden_from_handlers() {
        for (field, expected) in [
            ("a=1; b=2", Some("a=1; b=2")),
            ("__Host-serow-login-session=1.a", None),
            ("__Host-serow-login-session=1.a;__Host-serow-login-session-1=b;c=3", Some("c=3")),
            ("serow-login-browser=1.a; a=serow-login-session", Some("a=serow-login-session")),
            ("serow-login=1; flag", Some("serow-login=1; flag")),
        ] {
            let kept = without_own_cookies(field.as_bytes());
            assert_eq!(kept.as_deref(), expected.map(str::as_bytes), "{field}");
        }
        assert!(has_own_cookies(b"a=1; serow-login-browser=1.a") && !has_own_cookies(b"a=1"));
    }
}

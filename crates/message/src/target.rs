//! The request target (RFC 9112 §3.2).

use core::fmt;

use bytes::Bytes;

/// A request target, as it was received; its parts are slices of it.
///
/// ```
/// use serow_message::Target;
///
/// let target = Target::parse("/search?q=antelope".into(), false).unwrap();
/// assert_eq!(target.path(), "/search");
/// assert_eq!(target.query(), Some("q=antelope"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Valid UTF-8: checked by the constructor.
    text: Bytes,
    form: TargetForm,
    /// Where the authority ends and the path begins; 0 in origin form.
    path_start: u32,
    /// Where the path ends: at the question mark or the end.
    path_end: u32,
    /// Where the authority begins: behind `http://` in absolute form.
    authority_start: u32,
}

/// The four forms of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetForm {
    /// `/path?query`: the usual one (RFC 9112 §3.2.1).
    Origin,
    /// `http://host/path?query`: to a proxy, and to be understood by every server (§3.2.2).
    Absolute,
    /// `host:port`: CONNECT only (§3.2.3).
    Authority,
    /// `*`: OPTIONS only (§3.2.4).
    Asterisk,
}

impl Target {
    /// Parses a target; `connect` says that the method is CONNECT, whose target is an authority.
    ///
    /// # Errors
    ///
    /// Text that has none of the four forms, contains white space, a control character or a fragment, or is not UTF-8.
    /// Bytes from 0x80 on are accepted in UTF-8, as nginx and h2o do: users type such addresses.
    pub fn parse(text: Bytes, connect: bool) -> Result<Self, InvalidTarget> {
        let kinds = text.iter().fold(0, |kinds, &byte| kinds | KINDS[usize::from(byte)]);
        let only_ascii = kinds & NOT_ASCII == 0;
        if kinds & FORBIDDEN != 0 || u32::try_from(text.len()).is_err() {
            return Err(InvalidTarget);
        }
        if !only_ascii && core::str::from_utf8(&text).is_err() {
            return Err(InvalidTarget);
        }
        let query = if kinds & QUERY == 0 { None } else { text.iter().position(|&byte| byte == b'?') };
        let end = text.len() as u32;
        let path_end = query.map_or(end, |place| place as u32);
        let origin = Self { form: TargetForm::Origin, path_start: 0, path_end, authority_start: 0, text };
        match origin.text.first() {
            _ if connect => origin.into_authority(),
            Some(b'/') => Ok(origin),
            Some(b'*') if origin.text.len() == 1 => Ok(Self { form: TargetForm::Asterisk, ..origin }),
            Some(_) => origin.into_absolute(),
            None => Err(InvalidTarget),
        }
    }

    /// Which of the four forms it has.
    #[must_use]
    pub fn form(&self) -> TargetForm {
        self.form
    }

    /// The whole target, as received.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.slice(0, self.text.len() as u32)
    }

    /// The path, still percent-encoded; `/` if an absolute form has none, `*` in asterisk form, empty in authority
    /// form.
    #[must_use]
    pub fn path(&self) -> &str {
        match self.form {
            TargetForm::Authority => "",
            _ if self.path_start == self.path_end => "/",
            _ => self.slice(self.path_start, self.path_end),
        }
    }

    /// [`Self::path`] as bytes.
    #[must_use]
    #[inline]
    pub fn path_bytes(&self) -> &[u8] {
        match self.form {
            TargetForm::Authority => b"",
            _ if self.path_start == self.path_end => b"/",
            _ => &self.text[self.path_start as usize..self.path_end as usize],
        }
    }

    /// The query: the text behind the first question mark.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        let behind = self.path_end + 1;
        let end = self.text.len() as u32;
        (behind <= end && self.form != TargetForm::Authority).then(|| self.slice(behind, end))
    }

    /// Host and port, in absolute and authority form.
    #[must_use]
    pub fn authority(&self) -> Option<&str> {
        match self.form {
            TargetForm::Absolute | TargetForm::Authority => Some(self.slice(self.authority_start, self.path_start)),
            TargetForm::Origin | TargetForm::Asterisk => None,
        }
    }

    /// The target with another path, which is already encoded; host and query are kept.
    ///
    /// # Errors
    ///
    /// A path that does not begin with a slash, or is not valid in a target.
    ///
    /// ```
    /// use serow_message::Target;
    ///
    /// let target = Target::parse("http://h/old?q".into(), false).unwrap();
    /// assert_eq!(target.with_path(b"/new").unwrap().as_str(), "http://h/new?q");
    /// ```
    pub fn with_path(&self, path: &[u8]) -> Result<Self, InvalidTarget> {
        if path.first() != Some(&b'/') || path.contains(&b'?') || self.form == TargetForm::Authority {
            return Err(InvalidTarget);
        }
        let query = &self.text[self.path_end as usize..];
        let before = &self.text[..self.path_start as usize];
        Self::parse([before, path, query].concat().into(), false)
    }

    /// The target with another query, which is already encoded; with an empty one, without a query. Host and path are
    /// kept.
    ///
    /// # Errors
    ///
    /// A query that is not valid in a target, or a target without a path.
    ///
    /// ```
    /// use serow_message::Target;
    ///
    /// let target = Target::parse("/path?old".into(), false).unwrap();
    /// assert_eq!(target.with_query("a=b").unwrap().as_str(), "/path?a=b");
    /// ```
    pub fn with_query(&self, query: &str) -> Result<Self, InvalidTarget> {
        if self.form == TargetForm::Authority {
            return Err(InvalidTarget);
        }
        let before = &self.text[..self.path_end as usize];
        let mark: &[u8] = if query.is_empty() { b"" } else { b"?" };
        Self::parse([before, mark, query.as_bytes()].concat().into(), false)
    }

    /// The target in the form for an origin server: without scheme and host (RFC 9112 §3.2.1). `options`: the method is
    /// OPTIONS, for which an absolute form without a path becomes `*` (§3.2.4). The target of CONNECT is unchanged.
    ///
    /// ```
    /// use serow_message::Target;
    ///
    /// let target = Target::parse("http://h:80/a?b".into(), false).unwrap();
    /// assert_eq!(target.into_origin_form(false).as_str(), "/a?b");
    /// ```
    #[must_use]
    pub fn into_origin_form(self, options: bool) -> Self {
        if self.form != TargetForm::Absolute {
            return self;
        }
        let (start, end) = (self.path_start, self.path_end);
        let origin =
            |text, path_end| Self { text, form: TargetForm::Origin, path_start: 0, path_end, authority_start: 0 };
        if start < end {
            return origin(self.text.slice(start as usize..), end - start);
        }
        let query = &self.text[end as usize..];
        if options && query.is_empty() {
            return Self { form: TargetForm::Asterisk, ..origin(Bytes::from_static(b"*"), 1) };
        }
        origin([b"/", query].concat().into(), 1)
    }

    /// The whole target as shared bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.text.clone()
    }

    /// RFC 9112 §3.2.3: host and port; nothing else may follow.
    fn into_authority(self) -> Result<Self, InvalidTarget> {
        let end = self.text.len() as u32;
        let is_authority = self.as_str().rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
        });
        if !is_authority || self.text.iter().any(|byte| matches!(byte, b'/' | b'?' | b'@')) {
            return Err(InvalidTarget);
        }
        Ok(Self { form: TargetForm::Authority, path_start: end, path_end: end, ..self })
    }

    /// RFC 9112 §3.2.2: a whole `http` or `https` address. RFC 9110 §4.2.4: one with user information is refused.
    fn into_absolute(self) -> Result<Self, InvalidTarget> {
        let text = self.as_str();
        let scheme_length = text.find("://").ok_or(InvalidTarget)?;
        let scheme = &text[..scheme_length];
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(InvalidTarget);
        }
        let authority_start = scheme_length + 3;
        let rest = &text[authority_start..];
        let authority_length = rest.find(['/', '?']).unwrap_or(rest.len());
        if authority_length == 0 || rest[..authority_length].contains('@') {
            return Err(InvalidTarget);
        }
        Ok(Self {
            form: TargetForm::Absolute,
            authority_start: authority_start as u32,
            path_start: (authority_start + authority_length) as u32,
            ..self
        })
    }

    fn slice(&self, start: u32, end: u32) -> &str {
        core::str::from_utf8(&self.text[start as usize..end as usize]).unwrap_or_default()
    }
}

impl Default for Target {
    /// The path `/`.
    fn default() -> Self {
        Self {
            text: Bytes::from_static(b"/"),
            form: TargetForm::Origin,
            path_start: 0,
            path_end: 1,
            authority_start: 0,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

/// The classes of a byte in a target, one bit each, so that one look-up per byte is enough.
static KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'?' => QUERY,
            b'#' => FORBIDDEN,
            0x21..=0x7e => 0,
            0x80.. => NOT_ASCII,
            _ => FORBIDDEN,
        };
        byte += 1;
    }
    kinds
};
const FORBIDDEN: u8 = 1;
const NOT_ASCII: u8 = 2;
const QUERY: u8 = 4;

/// The error for a request target that has none of the four forms of RFC 9112 §3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTarget;

impl fmt::Display for InvalidTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the request target is not a path, an http address, host:port or *")
    }
}

impl core::error::Error for InvalidTarget {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_parts() {
        use TargetForm::{Absolute, Asterisk, Authority, Origin};
        let cases = [
            ("/", false, Origin, None, "/", None),
            ("/a?b", false, Origin, None, "/a", Some("b")),
            ("/?", false, Origin, None, "/", Some("")),
            ("/a?b?c=/", false, Origin, None, "/a", Some("b?c=/")),
            ("//x/../y", false, Origin, None, "//x/../y", None),
            ("/ä", false, Origin, None, "/ä", None),
            ("*", false, Asterisk, None, "*", None),
            ("http://h", false, Absolute, Some("h"), "/", None),
            ("HTTP://h:1/p?q", false, Absolute, Some("h:1"), "/p", Some("q")),
            ("https://h?q", false, Absolute, Some("h"), "/", Some("q")),
            ("h:443", true, Authority, Some("h:443"), "", None),
            ("[::1]:443", true, Authority, Some("[::1]:443"), "", None),
        ];
        for (text, connect, form, authority, path, query) in cases {
            let target = Target::parse(text.into(), connect).unwrap();
            assert_eq!(
                (target.form(), target.authority(), target.path(), target.query()),
                (form, authority, path, query),
                "{text}"
            );
            assert_eq!(target.as_str(), text);
            assert_eq!(target.path_bytes(), path.as_bytes());
        }
    }

    #[test]
    fn another_path() {
        let cases: [(&str, bool, &[u8], Option<&str>); 9] = [
            ("/a?b", false, b"/c", Some("/c?b")),
            ("/a", false, b"//c", Some("//c")),
            ("/a?", false, b"/", Some("/?")),
            ("http://h", false, b"/c", Some("http://h/c")),
            ("http://h?q", false, b"/c", Some("http://h/c?q")),
            ("*", false, b"/c", Some("/c")),
            ("/a", false, b"c", None),
            ("/a", false, b"/c d", None),
            ("h:1", true, b"/c", None),
        ];
        for (text, connect, path, expected) in cases {
            let target = Target::parse(text.into(), connect).unwrap().with_path(path);
            assert_eq!(target.ok().as_ref().map(Target::as_str), expected, "{text}");
        }
    }

    #[test]
    fn origin_form() {
        let cases = [
            ("/a?b", false, "/a?b", "/a"),
            ("http://h", false, "/", "/"),
            ("http://h", true, "*", "*"),
            ("http://h?q", true, "/?q", "/"),
            ("http://h/", true, "/", "/"),
            ("https://h:1/a/b?c?d", false, "/a/b?c?d", "/a/b"),
            ("http://h/a", true, "/a", "/a"),
            ("*", true, "*", "*"),
        ];
        for (text, options, whole, path) in cases {
            let target = Target::parse(text.into(), false).unwrap().into_origin_form(options);
            assert_eq!((target.as_str(), target.path()), (whole, path), "{text}");
            assert_eq!(target, Target::parse(whole.into(), false).unwrap());
        }
    }

    #[test]
    fn other_text_is_refused() {
        let cases: [(&[u8], bool); 14] = [
            (b"", false),
            (b"a", false),
            (b"**", false),
            (b"/a b", false),
            (b"/a#b", false),
            (b"/\x7f", false),
            (b"/\xff", false),
            (b"ftp://h/", false),
            (b"http://", false),
            (b"http://u@h/", false),
            (b"h", true),
            (b"h:", true),
            (b"/x:1", true),
            (b"", true),
        ];
        for (text, connect) in cases {
            assert!(Target::parse(Bytes::from_static(text), connect).is_err(), "{}", text.escape_ascii());
        }
    }
}

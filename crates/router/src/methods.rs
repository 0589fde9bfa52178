//! Which methods a route is for.

use std::{error::Error, fmt};

use serow_message::Method;

/// The methods a route is for; all, by default.
///
/// ```
/// use serow_router::Methods;
///
/// let methods = Methods::new(["GET", "POST"])?;
/// assert!(methods.allow(&"HEAD".parse().unwrap()));
/// assert!(!methods.allow(&"DELETE".parse().unwrap()));
/// # Ok::<(), serow_router::InvalidMethod>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Methods {
    /// None: all.
    named: Vec<Method>,
}

impl Methods {
    /// These methods, or all if there are none. GET includes HEAD (RFC 9110 §9.3.2: the same, without the body).
    ///
    /// # Errors
    ///
    /// A name that is no token, a usual one in lower case, or one that was named before.
    pub fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Result<Self, InvalidMethod> {
        let mut methods = Self::default();
        for name in names {
            let method = method(name.as_ref())?;
            if methods.named.contains(&method) {
                return Err(InvalidMethod::Twice(method));
            }
            methods.named.push(method);
        }
        if methods.named.contains(&Method::GET) && !methods.named.contains(&Method::HEAD) {
            methods.named.push(Method::HEAD);
        }
        Ok(methods)
    }

    /// Whether a request with this method may take the route.
    #[inline]
    #[must_use]
    pub fn allow(&self, method: &Method) -> bool {
        self.named.is_empty() || self.named.contains(method)
    }

    /// Those that were named; nothing where all are allowed.
    #[must_use]
    pub fn named(&self) -> &[Method] {
        &self.named
    }

    /// Whether all that the others allow are allowed here.
    pub(crate) fn include(&self, others: &Self) -> bool {
        self.named.is_empty() || !others.named.is_empty() && others.named.iter().all(|method| self.allow(method))
    }
}

fn method(name: &str) -> Result<Method, InvalidMethod> {
    // RFC 9110 §9.1: names are case-sensitive, so `get` would never come.
    if name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        let upper = name.to_ascii_uppercase();
        if USUAL.contains(&upper.as_str()) {
            return Err(InvalidMethod::LowerCase(upper));
        }
    }
    Method::from_bytes(name.as_bytes()).map_err(|_| InvalidMethod::NoToken(name.to_owned()))
}

/// Why a method is none. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidMethod {
    /// It holds what no method may hold.
    NoToken(String),
    /// A usual one in lower case; this is its name.
    LowerCase(String),
    /// It was named before.
    Twice(Method),
}

impl fmt::Display for InvalidMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToken(name) => write!(formatter, "{name:?} is no method: write it as in GET or POST"),
            Self::LowerCase(name) => write!(formatter, "methods are told apart by case: write {name}"),
            Self::Twice(method) => write!(formatter, "{method} is named twice: name it once"),
        }
    }
}

impl Error for InvalidMethod {}

/// RFC 9110 §9.3, and PATCH (RFC 5789).
const USUAL: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let cases: [(&[&str], Result<&str, InvalidMethod>); 8] = [
            (&[], Ok("")),
            (&["GET"], Ok("GET HEAD")),
            (&["HEAD", "GET"], Ok("HEAD GET")),
            (&["POST", "PURGE"], Ok("POST PURGE")),
            (&["purge"], Ok("purge")),
            (&["get"], Err(InvalidMethod::LowerCase("GET".into()))),
            (&["GET", "GET"], Err(InvalidMethod::Twice(Method::GET))),
            (&["A B"], Err(InvalidMethod::NoToken("A B".into()))),
        ];
        for (names, expected) in cases {
            let methods = Methods::new(names)
                .map(|methods| methods.named().iter().map(Method::as_str).collect::<Vec<_>>().join(" "));
            assert_eq!(methods, expected.map(str::to_owned), "{names:?}");
        }
    }

    #[test]
    fn which_include_which() {
        let cases: [(&[&str], &[&str], bool); 7] = [
            (&[], &[], true),
            (&[], &["GET"], true),
            (&["GET"], &[], false),
            (&["GET"], &["HEAD"], true),
            (&["HEAD"], &["GET"], false),
            (&["GET", "POST"], &["POST"], true),
            (&["POST"], &["GET", "POST"], false),
        ];
        for (one, other, expected) in cases {
            let includes = Methods::new(one).unwrap().include(&Methods::new(other).unwrap());
            assert_eq!(includes, expected, "{one:?} and {other:?}");
        }
    }
}

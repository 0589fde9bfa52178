//! The cookies of requests and responses (RFC 6265), as they are written.

use serow_message::{Headers, KnownHeader};

/// The values of the cookies of this name, in the order of the request: more than one where they were set for several
/// paths.
pub fn values<'a>(headers: &'a Headers, name: &str) -> impl Iterator<Item = &'a [u8]> {
    headers
        .get_all(KnownHeader::Cookie)
        .flat_map(pairs)
        .filter_map(move |pair| Cookie::of_pair(pair).filter(|cookie| cookie.name == name.as_bytes()))
        .map(|cookie| cookie.value)
}

/// The value of the first cookie of this name.
pub fn value<'a>(headers: &'a Headers, name: &str) -> Option<&'a [u8]> {
    values(headers, name).next()
}

/// Removes the cookies of this name from a request.
pub fn remove(headers: &mut Headers, name: &str) {
    change(headers, name, |_| None);
}

/// Cuts so many bytes from the beginning of the values of the cookies of this name.
pub fn shorten(headers: &mut Headers, name: &str, length: impl Fn(&[u8]) -> usize) {
    change(headers, name, |value| Some(value.get(length(value)..).unwrap_or(value)));
}

/// Replaces the values of the cookies of this name that a response sets; their attributes stay.
pub fn replace_set(headers: &mut Headers, name: &str, new: impl Fn(&[u8], &mut Vec<u8>)) {
    let is_ours = |line: &[u8]| Cookie::of_set(line).is_some_and(|cookie| cookie.name == name.as_bytes());
    if !headers.get_all(KnownHeader::SetCookie).any(is_ours) {
        return;
    }
    let lines: Vec<Vec<u8>> = headers
        .get_all(KnownHeader::SetCookie)
        .map(|line| match Cookie::of_set(line).filter(|_| is_ours(line)) {
            Some(cookie) => {
                let mut changed = [name.as_bytes(), b"="].concat();
                new(cookie.value, &mut changed);
                changed.extend_from_slice(cookie.attributes);
                changed
            }
            None => line.to_vec(),
        })
        .collect();
    replace_lines(headers, KnownHeader::SetCookie, lines);
}

/// A cookie as it stands in a field.
struct Cookie<'a> {
    name: &'a [u8],
    value: &'a [u8],
    /// From the semicolon behind the value.
    attributes: &'a [u8],
}

impl<'a> Cookie<'a> {
    /// RFC 6265 §4.2.1. A pair without an equals sign has no name and is ignored.
    fn of_pair(pair: &'a [u8]) -> Option<Self> {
        let equals = pair.iter().position(|&byte| byte == b'=')?;
        let (name, value) = pair.split_at_checked(equals)?;
        Some(Self { name: name.trim_ascii(), value: value.get(1..)?.trim_ascii(), attributes: b"" })
    }

    /// RFC 6265 §5.2: the name ends at the first equals sign, the value at the first semicolon.
    fn of_set(line: &'a [u8]) -> Option<Self> {
        let end = line.iter().position(|&byte| byte == b';').unwrap_or(line.len());
        let (pair, attributes) = line.split_at_checked(end)?;
        Some(Self { attributes, ..Self::of_pair(pair)? })
    }
}

/// The pairs of a Cookie field, without the white space around them.
fn pairs(field: &[u8]) -> impl Iterator<Item = &[u8]> {
    field.split(|&byte| byte == b';').map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty())
}

/// Rewrites the cookies of a request if there is one of this name: with the new value, or without the cookie. Separate
/// lines stay separate (RFC 9113 §8.2.3).
fn change(headers: &mut Headers, name: &str, new: impl for<'a> Fn(&'a [u8]) -> Option<&'a [u8]>) {
    if value(headers, name).is_none() {
        return;
    }
    let lines = headers.get_all(KnownHeader::Cookie).map(|line| changed_line(line, name, &new));
    let lines = lines.filter(|line| !line.is_empty()).collect();
    replace_lines(headers, KnownHeader::Cookie, lines);
}

fn changed_line(line: &[u8], name: &str, new: &impl for<'a> Fn(&'a [u8]) -> Option<&'a [u8]>) -> Vec<u8> {
    let mut changed = Vec::with_capacity(line.len());
    let mut push = |parts: &[&[u8]]| {
        changed.extend_from_slice(if changed.is_empty() { b"" } else { b"; " });
        parts.iter().for_each(|part| changed.extend_from_slice(part));
    };
    for pair in pairs(line) {
        match Cookie::of_pair(pair).filter(|cookie| cookie.name == name.as_bytes()) {
            None => push(&[pair]),
            Some(cookie) => {
                if let Some(value) = new(cookie.value) {
                    push(&[cookie.name, b"=", value]);
                }
            }
        }
    }
    changed
}

fn replace_lines(headers: &mut Headers, name: KnownHeader, lines: Vec<Vec<u8>>) {
    headers.remove(name);
    for line in lines {
        // Made of lines of this field, it may be one.
        let _ = headers.append(name, line);
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn request(lines: &[&str]) -> Headers {
        let mut headers = Headers::new();
        headers.append("host", "a").unwrap();
        for line in lines {
            headers.append("cookie", line).unwrap();
        }
        headers
    }

    fn lines(headers: &Headers, name: KnownHeader) -> Vec<String> {
        headers.get_all(name).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    #[test]
    fn cookies_of_a_request() {
        let cases: &[(&[&str], &[&str])] = &[
            (&[], &[]),
            (&[""], &[]),
            (&["route=a"], &["a"]),
            (&["x=1; route=a; y=2"], &["a"]),
            (&["x=1;route=a;y=2"], &["a"]),
            (&["x=1", "route=a"], &["a"]),
            (&["route=a; route=b", "route=c"], &["a", "b", "c"]),
            (&["route"], &[]),
            (&["route="], &[""]),
            (&["=route"], &[]),
            (&["routes=a; aroute=b; Route=c"], &[]),
            (&["route = a ; x"], &["a"]),
            (&["route=a=b"], &["a=b"]),
            (&["route=\"a;b\""], &["\"a"]),
            (&[";;; ;route=a;"], &["a"]),
            (&["x=route=a"], &[]),
            (&["route=\u{e4}"], &["\u{e4}"]),
        ];
        for (lines, expected) in cases {
            let headers = request(lines);
            let found: Vec<_> = values(&headers, "route").map(|value| String::from_utf8_lossy(value)).collect();
            assert_eq!(found, *expected, "{lines:?}");
            assert_eq!(value(&headers, "route"), expected.first().map(|value| value.as_bytes()), "{lines:?}");
        }
    }

    #[test]
    fn cookies_are_removed_and_shortened() {
        let cases: &[(&[&str], &[&str], &[&str])] = &[
            (&["x=1;y"], &["x=1;y"], &["x=1;y"]),
            (&["route=abc"], &[], &["route=c"]),
            (&["x=1; route=abc; y; z=\"3\""], &["x=1; y; z=\"3\""], &["x=1; route=c; y; z=\"3\""]),
            (&["route=abc", "x=1"], &["x=1"], &["route=c", "x=1"]),
            (&["route=abc; route=a; x=1"], &["x=1"], &["route=c; route=a; x=1"]),
            (&["route; x=1"], &["route; x=1"], &["route; x=1"]),
        ];
        for (before, removed, shortened) in cases {
            let mut headers = request(before);
            remove(&mut headers, "route");
            assert_eq!(lines(&headers, KnownHeader::Cookie), *removed, "{before:?}");
            assert!(headers.contains("host"));
            let mut headers = request(before);
            shorten(&mut headers, "route", |_| 2);
            assert_eq!(lines(&headers, KnownHeader::Cookie), *shortened, "{before:?}");
        }
    }

    #[test]
    fn cookies_of_a_response_are_replaced() {
        let cases: &[(&[&str], Option<&[&str]>)] = &[
            (&[], None),
            (&["x=1; Path=/", "route"], None),
            (&["route=a"], Some(&["route=<a>"])),
            (&["x=1", "route=a; Path=/; route=b", "y=2"], Some(&["x=1", "route=<a>; Path=/; route=b", "y=2"])),
            (&[" route = a ;Secure", "route=;"], Some(&["route=<a>;Secure", "route=<>;"])),
            (&["Route=a; route=b"], None),
        ];
        for (before, expected) in cases {
            let mut headers = Headers::new();
            for line in *before {
                headers.append("set-cookie", line).unwrap();
            }
            replace_set(&mut headers, "route", |value, output| {
                output.extend_from_slice(&[b"<", value, b">"].concat());
            });
            assert_eq!(lines(&headers, KnownHeader::SetCookie), expected.unwrap_or(before), "{before:?}");
        }
    }
    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Property: whatever clients and servers send, other cookies stay, in their order.
        #[test]
        fn other_cookies_stay(given in vec("[ax=;~\" \t\u{e4}-]{0,12}", 0..5), cut in 0..5_usize) {
            let given: Vec<_> = given.iter().map(|line| line.trim().to_owned()).collect();
            let given: Vec<_> = given.iter().map(String::as_str).collect();
            let before = request(&given);
            let of = |headers: &Headers, name: &str| values(headers, name).map(<[u8]>::to_vec).collect::<Vec<_>>();
            let mut removed = before.clone();
            remove(&mut removed, "a");
            prop_assert!(of(&removed, "a").is_empty());
            prop_assert_eq!(of(&removed, "x"), of(&before, "x"));
            let mut shorter = before.clone();
            shorten(&mut shorter, "a", |_| cut);
            prop_assert_eq!(of(&shorter, "a").len(), of(&before, "a").len());
            prop_assert_eq!(of(&shorter, "x"), of(&before, "x"));
            let mut set = Headers::new();
            given.iter().for_each(|line| set.append("set-cookie", line).unwrap());
            let count = set.len();
            replace_set(&mut set, "a", |_, output| output.extend_from_slice(b"new"));
            prop_assert_eq!(set.len(), count);
            let ours = set.get_all("set-cookie").filter_map(Cookie::of_set).filter(|cookie| cookie.name == b"a");
            prop_assert!(ours.map(|cookie| cookie.value).all(|value| value == b"new"));
        }
    }
}

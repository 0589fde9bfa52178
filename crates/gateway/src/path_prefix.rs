//! The path in requests to servers: strips a prefix, adds a prefix.

use serow_message::{
    StatusCode, Target, TargetForm,
    percent::{Octet, decode, encode_path},
};

/// The target for servers, made from one in origin or asterisk form.
///
/// Routes match the decoded path, without dot segments and repeated slashes (see `serow-router`), but the server gets
/// the path as received. So that both agree, paths with `..` are refused, as in `serow-files`: servers differ in
/// whether they resolve `..` before or after they match rules, and honest clients resolve it themselves. Encoded
/// slashes are allowed: many APIs use them, and servers that decode them see the same path as the routes.
///
/// # Errors
///
/// A path that no honest client sends (400): with `..`, NUL or a broken percent-encoding.
pub fn with_prefixes(target: Target, strip: Option<&str>, add: Option<&str>) -> Result<Target, StatusCode> {
    if target.form() != TargetForm::Origin {
        return Ok(target);
    }
    let path = target.path_bytes();
    check(path)?;
    let stripped = strip.and_then(|prefix| behind_prefix(path, prefix));
    if stripped.is_none() && add.is_none() {
        return Ok(target);
    }
    let mut changed = Vec::with_capacity(path.len() + 32);
    if let Some(prefix) = add {
        write_prefix(prefix.trim_end_matches('/'), &mut changed);
    }
    match stripped {
        // The whole path was the prefix: as in nginx, another one takes its place, without a slash behind it.
        Some([]) if !changed.is_empty() && !path.ends_with(b"/") => {}
        Some(rest) => {
            changed.push(b'/');
            changed.extend_from_slice(rest);
        }
        None => changed.extend_from_slice(path),
    }
    if changed.first() != Some(&b'/') {
        changed.insert(0, b'/');
    }
    target.with_path(&changed).map_err(|_| StatusCode::BAD_REQUEST)
}

/// Refuses a path that a server may resolve to another one.
fn check(path: &[u8]) -> Result<(), StatusCode> {
    let mut before = b'/';
    let is_unusual = path.iter().any(|&byte| {
        let two_dots = byte == b'.' && before == b'.';
        before = byte;
        two_dots || byte == b'%'
    });
    if is_unusual { check_decoded(path) } else { Ok(()) }
}

#[cold]
fn check_decoded(path: &[u8]) -> Result<(), StatusCode> {
    let decoded: Result<Vec<u8>, _> = decode(path).map(|octet| octet.map(Octet::byte)).collect();
    let decoded = decoded.map_err(|_| StatusCode::BAD_REQUEST)?;
    // Some servers treat a backslash as a slash, and some drop everything after a semicolon.
    let mut names = decoded.split(|byte| matches!(byte, b'/' | b'\\'));
    if decoded.contains(&0) || names.any(|name| name == b".." || name.starts_with(b"..;")) {
        return Err(StatusCode::BAD_REQUEST);
    }
    Ok(())
}

/// Writes a prefix. It may be encoded; other characters that are invalid in a path are encoded here.
fn write_prefix(prefix: &str, output: &mut Vec<u8>) {
    for byte in prefix.bytes() {
        match byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#') {
            true => output.push(byte),
            false => encode_path(&[byte], output),
        }
    }
}

/// The path after this prefix, without the slash in between; `None` if the path does not start with the prefix. As in
/// routes, segments are compared decoded, repeated slashes count as one, and `.` is skipped. The rest stays as
/// received, except for leading slashes: `//host/` would be another address.
fn behind_prefix<'path>(path: &'path [u8], prefix: &str) -> Option<&'path [u8]> {
    let mut rest = path;
    for name in prefix.split('/').filter(|name| !name.is_empty()) {
        rest = behind_name(behind_slashes(rest), name.as_bytes())?;
    }
    Some(behind_slashes(rest))
}

/// Passes over slashes, also encoded ones, and names that are a dot.
fn behind_slashes(mut path: &[u8]) -> &[u8] {
    loop {
        path = match path {
            [b'/', rest @ ..] | [b'%', b'2', b'f' | b'F', rest @ ..] => rest,
            [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] if ends_name(rest) => rest,
            _ => return path,
        };
    }
}

/// The path after this segment, if it starts with it.
fn behind_name<'path>(path: &'path [u8], name: &[u8]) -> Option<&'path [u8]> {
    let mut octets = decode(path);
    let mut length = 0;
    for expected in decode(name) {
        let octet = octets.next()?.ok()?;
        if octet.byte() != expected.ok()?.byte() {
            return None;
        }
        length += if matches!(octet, Octet::Encoded(_)) { 3 } else { 1 };
    }
    path.get(length..).filter(|rest| ends_name(rest))
}

fn ends_name(rest: &[u8]) -> bool {
    matches!(rest, [] | [b'/', ..] | [b'%', b'2', b'f' | b'F', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(target: &'static str, strip: Option<&str>, add: Option<&str>) -> Result<String, StatusCode> {
        let target = Target::parse(target.into(), false).unwrap();
        with_prefixes(target, strip, add).map(|target| target.as_str().to_owned())
    }

    #[test]
    fn prefixes_are_stripped_and_added() {
        let cases = [
            // target, strip, add, target for the server
            ("/", None, None, "/"),
            ("/a/b?c", None, None, "/a/b?c"),
            ("/a//b/./c%2Fd", None, None, "/a//b/./c%2Fd"),
            ("*", Some("/a"), Some("/b"), "*"),
            ("/a/b?c", Some("/a"), None, "/b?c"),
            ("/a/b", Some("/a/"), None, "/b"),
            ("/a", Some("/a"), None, "/"),
            ("/a/", Some("/a"), None, "/"),
            ("/a?b", Some("/a"), None, "/?b"),
            ("/ab", Some("/a"), None, "/ab"),
            ("/ab/c", Some("/a"), None, "/ab/c"),
            ("/A/b", Some("/a"), None, "/A/b"),
            ("/x/a/b", Some("/a"), None, "/x/a/b"),
            ("/a/b/c/d", Some("/a/b"), None, "/c/d"),
            ("/a/c", Some("/a/b"), None, "/a/c"),
            ("/%61/b", Some("/a"), None, "/b"),
            ("/a%2Fb", Some("/a"), None, "/b"),
            ("/a%2fb/c", Some("/a/b"), None, "/c"),
            ("//a///b", Some("/a"), None, "/b"),
            ("/./a/b", Some("/a"), None, "/b"),
            ("/a/.//evil.example/", Some("/a"), None, "/evil.example/"),
            ("/a/%2F/evil.example", Some("/a"), None, "/evil.example"),
            ("/a/.b", Some("/a"), None, "/.b"),
            ("/a/%2e/b", Some("/a"), None, "/b"),
            ("/a/b%2Fc//d", Some("/a"), None, "/b%2Fc//d"),
            ("/a%20b/c", Some("/a b"), None, "/c"),
            ("/a%20b/c", Some("/a%20b"), None, "/c"),
            ("/%61/b", Some("/%61"), None, "/b"),
            ("/a/b", Some("/a%2"), None, "/a/b"),
            ("/%C3%A4/c", Some("/\u{e4}"), None, "/c"),
            ("/\u{e4}/c", Some("/\u{e4}"), None, "/c"),
            ("/a/b", Some("/"), None, "/a/b"),
            ("//a/b", Some("/"), None, "/a/b"),
            ("/a", None, Some("/x"), "/x/a"),
            ("/a?q", None, Some("/x/y/"), "/x/y/a?q"),
            ("/", None, Some("/x"), "/x/"),
            ("/a", None, Some("/"), "/a"),
            ("/a", None, Some("/ x"), "/%20x/a"),
            ("/a", None, Some("/%20x&y"), "/%20x&y/a"),
            ("/a", None, Some("/\u{e4}?"), "/%C3%A4%3F/a"),
            ("/a", None, Some("x"), "/x/a"),
            ("/a/b", Some("/a"), Some("/x"), "/x/b"),
            ("/a", Some("/a"), Some("/x"), "/x"),
            ("/a/", Some("/a"), Some("/x"), "/x/"),
            ("/a?b", Some("/a"), Some("/x/"), "/x?b"),
            ("/a", Some("/a"), Some("/"), "/"),
            ("/b", Some("/a"), Some("/x"), "/x/b"),
        ];
        for (target, strip, add, expected) in cases {
            assert_eq!(changed(target, strip, add).as_deref(), Ok(expected), "{target} {strip:?} {add:?}");
        }
    }

    #[test]
    fn paths_with_dot_dot_are_refused() {
        let refused = [
            "/..",
            "/../a",
            "/a/..",
            "/a/../b",
            "/a/%2e%2e/b",
            "/a/.%2E/b",
            "/a%2f..%2fb",
            "/a/..\\b",
            "/a%5c..%5cb",
            "/a\\../b",
            "/..;/a",
            "/a/%2e.;x=y/b",
            "/a/..%3b/b",
            "/%00",
            "/a%",
            "/a%4",
            "/a%zz",
        ];
        for target in refused {
            for strip in [None, Some("/a")] {
                assert_eq!(changed(target, strip, None), Err(StatusCode::BAD_REQUEST), "{target}");
            }
        }
        for target in ["/...", "/a..b", "/..a", "/a..", "/a?b/../c%", "/%252e%252e/", "/a;b/c", "/.;a", "/a\\b", "/%20"]
        {
            assert_eq!(changed(target, None, None).as_deref(), Ok(target));
        }
    }
}

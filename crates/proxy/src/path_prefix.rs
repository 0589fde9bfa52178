//! The path that servers are asked for: what is cut from its beginning, and put before it.

use serow_message::{
    StatusCode, Target, TargetForm,
    percent::{Octet, decode, encode_path},
};

use crate::settings::ForwardingSettings;

/// The target that servers are asked for, made of one in origin or asterisk form.
///
/// Routes were chosen by the path decoded, without dot segments and with one slash where there are several
/// (`serow-router` says how), and the server gets it as it came. So that both see the same, a path that climbs is refused,
/// as `serow-files` refuses it: servers disagree about whether `..` is followed before or after they look for a rule, and
/// honest clients follow it themselves. Encoded slashes pass: many APIs have them, and who takes them for slashes sees
/// what the routes saw.
///
/// # Errors
///
/// A path that no honest client sends (400): with `..`, NUL or a broken percent-encoding.
pub(crate) fn change(target: Target, settings: &ForwardingSettings) -> Result<Target, StatusCode> {
    if target.form() != TargetForm::Origin {
        return Ok(target);
    }
    let path = target.path_bytes();
    check(path)?;
    let stripped = settings.strip_prefix.as_deref().and_then(|prefix| strip(path, prefix));
    if stripped.is_none() && settings.add_prefix.is_none() {
        return Ok(target);
    }
    let mut changed = Vec::with_capacity(path.len() + 32);
    if let Some(prefix) = &settings.add_prefix {
        add(prefix.trim_end_matches('/'), &mut changed);
    }
    match stripped {
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

/// Refuses a path that may mean another one to whoever follows its dots.
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
    // Some servers take a backslash for a slash, and some leave out what stands behind a semicolon.
    let mut names = decoded.split(|byte| matches!(byte, b'/' | b'\\'));
    if decoded.contains(&0) || names.any(|name| name == b".." || name.starts_with(b"..;")) {
        return Err(StatusCode::BAD_REQUEST);
    }
    Ok(())
}

/// Writes a prefix. It may be encoded; what cannot stand in a path, is.
fn add(prefix: &str, output: &mut Vec<u8>) {
    for byte in prefix.bytes() {
        match byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#') {
            true => output.push(byte),
            false => encode_path(&[byte], output),
        }
    }
}

/// What of a path stands behind this prefix, without the slash between; `None` where it does not begin with it. As routes
/// see it: each name is compared decoded, slashes in a row are one, and `.` is no name. What is left is as it came, but for
/// the slashes at its beginning: `//host/` would be another address.
fn strip<'path>(path: &'path [u8], prefix: &str) -> Option<&'path [u8]> {
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

/// What stands behind this name, if the path begins with it.
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
        let settings = ForwardingSettings {
            strip_prefix: strip.map(str::to_owned),
            add_prefix: add.map(str::to_owned),
            ..ForwardingSettings::default()
        };
        let target = Target::parse(target.into(), false).unwrap();
        change(target, &settings).map(|target| target.as_str().to_owned())
    }

    #[test]
    fn prefixes() {
        let cases = [
            // target, strip, add, asked for
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
            ("/a", Some("/a"), Some("/x"), "/x/"),
            ("/b", Some("/a"), Some("/x"), "/x/b"),
        ];
        for (target, strip, add, expected) in cases {
            assert_eq!(changed(target, strip, add).as_deref(), Ok(expected), "{target} {strip:?} {add:?}");
        }
    }

    #[test]
    fn paths_that_climb() {
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

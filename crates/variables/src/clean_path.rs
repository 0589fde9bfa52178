//! The path of a request as routes see it: decoded, without what only evades rules, as nginx matches its locations.

use serow_message::{
    Target, TargetForm,
    percent::{Octet, decode},
};
use smallvec::SmallVec;

/// Where a path is cleaned: on the stack, if it is not very long.
pub type Room = SmallVec<[u8; ROOM]>;

/// The path of a request, clean: it is decoded once; an encoded slash is a slash; slashes in a row are one; `.` and
/// `..` are followed. `*` (of OPTIONS) is `/`.
///
/// # Errors
///
/// A path that no honest client sends (400): see [`NoPath`].
#[inline]
pub fn of<'path>(target: &'path Target, room: &'path mut Room) -> Result<&'path [u8], NoPath> {
    let path = target.path_bytes();
    if target.form() == TargetForm::Asterisk {
        return Ok(b"/");
    }
    if is_surely_clean(path) {
        return Ok(path);
    }
    clean(decode(path).map(|octet| octet.map(Octet::byte).map_err(|_| NoPath)), room)?;
    Ok(room)
}

/// The path of a request that has passed routes, and so has a clean one; otherwise as it came.
#[inline]
#[must_use]
pub fn of_routed<'path>(target: &'path Target, room: &'path mut Room) -> &'path [u8] {
    of(target, room).unwrap_or_else(|_| target.path_bytes())
}

/// The same of a path that is decoded already: one that a rewrite made.
///
/// # Errors
///
/// As [`of`].
pub fn of_decoded(path: &[u8]) -> Result<Vec<u8>, NoPath> {
    let mut room = Room::new();
    clean(path.iter().map(|&byte| Ok(byte)), &mut room)?;
    Ok(room.into_vec())
}

/// The path of this target as routes see it, for others who decide by it; `None` if it has none that a route could take.
#[must_use]
pub fn clean_path_of(target: &Target) -> Option<Vec<u8>> {
    let mut room = Room::new();
    of(target, &mut room).ok().map(<[u8]>::to_vec)
}

/// The path climbs above the root, holds NUL or a percent sign without two hexadecimal digits, or there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPath;

/// Whether cleaning would change nothing, as far as one look at each byte can tell: true of nearly all.
#[inline]
fn is_surely_clean(path: &[u8]) -> bool {
    let Some((b'/', names)) = path.split_first() else { return false };
    let mut begins_name = true;
    for &byte in names {
        if byte == b'%' || begins_name && matches!(byte, b'/' | b'.') {
            return false;
        }
        begins_name = byte == b'/';
    }
    true
}

fn clean(mut decoded: impl Iterator<Item = Result<u8, NoPath>>, path: &mut Room) -> Result<(), NoPath> {
    if decoded.next() != Some(Ok(b'/')) {
        return Err(NoPath);
    }
    path.push(b'/');
    for byte in decoded {
        match byte? {
            0 => return Err(NoPath),
            b'/' => {
                follow_dots(path)?;
                if path.last() != Some(&b'/') {
                    path.push(b'/');
                }
            }
            byte => path.push(byte),
        }
    }
    follow_dots(path)
}

/// Takes a last name of `.` away, and with `..` the one before it too; what is left ends with a slash then.
fn follow_dots(path: &mut Room) -> Result<(), NoPath> {
    let start_of_last = |path: &[u8]| path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let start = start_of_last(path);
    match &path[start..] {
        b"." => path.truncate(start),
        b".." => {
            path.truncate(start.saturating_sub(1));
            if path.is_empty() {
                return Err(NoPath);
            }
            path.truncate(start_of_last(path));
        }
        _ => {}
    }
    Ok(())
}

/// A hundred and more characters of any script have room.
const ROOM: usize = 512;

#[cfg(test)]
mod tests {
    use serow_message::Target;

    use super::*;

    #[test]
    fn paths() {
        let cases = [
            ("/", Some("/")),
            ("/a", Some("/a")),
            ("/a/", Some("/a/")),
            ("/a/b.c", Some("/a/b.c")),
            ("/.a/..b/c./...", Some("/.a/..b/c./...")),
            ("//", Some("/")),
            ("//a//b//", Some("/a/b/")),
            ("/.", Some("/")),
            ("/./a/./", Some("/a/")),
            ("/a/.", Some("/a/")),
            ("/a/..", Some("/")),
            ("/a/b/..", Some("/a/")),
            ("/a/b/../", Some("/a/")),
            ("/a/b/../../c", Some("/c")),
            ("/a//../b", Some("/b")),
            ("/..", None),
            ("/../", None),
            ("/a/../..", None),
            ("/a/../../b", None),
            ("//..", None),
            ("/./..", None),
            ("/%61", Some("/a")),
            ("/%2e", Some("/")),
            ("/a/%2E%2e/b", Some("/b")),
            ("/%2e%2e/b", None),
            ("/a%2fb", Some("/a/b")),
            ("/a%2F..%2fb", Some("/b")),
            ("/%252e", Some("/%2e")),
            ("/a%20b", Some("/a b")),
            ("/a\\b", Some("/a\\b")),
            ("/%5c", Some("/\\")),
            ("/\u{e4}/%C3%A4", Some("/\u{e4}/\u{e4}")),
            ("/a%00", None),
            ("/a%", None),
            ("/a%4", None),
            ("/a%4x", None),
            ("/a?b/../%", Some("/a")),
            ("http://h", Some("/")),
            ("http://h/a/../b?c", Some("/b")),
            ("*", Some("/")),
        ];
        for (text, expected) in cases {
            let target = Target::parse(text.into(), false).unwrap();
            assert_eq!(of(&target, &mut Room::new()).ok(), expected.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn rewritten_paths_are_not_decoded_again() {
        let cases: [(&[u8], Option<&[u8]>); 5] = [
            (b"/%61", Some(b"/%61")),
            (b"/a/../b", Some(b"/b")),
            (b"//a", Some(b"/a")),
            (b"/../a", None),
            (b"a", None),
        ];
        for (text, expected) in cases {
            assert_eq!(of_decoded(text).ok().as_deref(), expected, "{}", text.escape_ascii());
        }
    }
}

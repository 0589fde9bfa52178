//! The host of a request, in the one form in which hosts are compared.

use std::{io::Write, net::Ipv6Addr};

use crate::host_pattern::MAX_NAME_LENGTH;

/// Where a host is brought into its form: on the stack.
pub(crate) type Room = [u8; MAX_NAME_LENGTH];

/// The host of a request without its port: a name or an IPv4 address, in lower case, without a dot at the end; or an
/// IPv6 address in brackets, in its shortest form. Nothing where no site can have such a host; labels may be empty all
/// the same.
///
/// `authority` is what [`Request::host`](serow_message::Request::host) gives.
#[inline]
pub(crate) fn of<'host>(authority: &'host str, room: &'host mut Room) -> Option<&'host [u8]> {
    let authority = authority.as_bytes();
    // Most stand there in that form.
    let end = authority.iter().position(|&byte| !IS_SIMPLE[usize::from(byte)]).unwrap_or(authority.len());
    match authority.split_at(end) {
        ([.., b'.'] | [], _) => of_unusual(authority, room),
        (host, [] | [b':', ..]) => (host.len() <= MAX_NAME_LENGTH).then_some(host),
        _ => of_unusual(authority, room),
    }
}

#[cold]
fn of_unusual<'host>(authority: &[u8], room: &'host mut Room) -> Option<&'host [u8]> {
    if let Some(inner) = authority.strip_prefix(b"[") {
        let end = inner.iter().position(|&byte| byte == b']')?;
        let address: Ipv6Addr = std::str::from_utf8(&inner[..end]).ok()?.parse().ok()?;
        let mut rest = &mut room[..];
        write!(rest, "[{address}]").ok()?;
        let length = MAX_NAME_LENGTH - rest.len();
        return room.get(..length);
    }
    let host = authority.split(|&byte| byte == b':').next()?;
    let host = host.strip_suffix(b".").unwrap_or(host);
    let room = room.get_mut(..host.len())?;
    room.copy_from_slice(host);
    room.make_ascii_lowercase();
    let is_host = !matches!(room, [] | [.., b'.']) && room.iter().all(|&byte| IS_SIMPLE[usize::from(byte)]);
    is_host.then_some(room)
}

/// The bytes that labels in lower case consist of, and dots.
static IS_SIMPLE: [bool; 256] = {
    let mut simple = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        simple[byte] = matches!(byte as u8, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
        byte += 1;
    }
    simple
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_requests() {
        let longest = "a.".repeat(126) + "a";
        let longer = "a.".repeat(126) + "aa";
        let cases = [
            ("example.com", Some("example.com")),
            ("EXAMPLE.com:8080", Some("example.com")),
            ("example.com.", Some("example.com")),
            ("example.com.:80", Some("example.com")),
            ("127.0.0.1:1", Some("127.0.0.1")),
            ("[::1]", Some("[::1]")),
            ("[0:0::1]:443", Some("[::1]")),
            ("a_b", Some("a_b")),
            (&longest, Some(longest.as_str())),
            ("", None),
            (".", None),
            (".a", Some(".a")),
            ("a..b", Some("a..b")),
            ("a..", None),
            (":80", None),
            ("[::1", None),
            ("[::g]", None),
            ("a%2db", None),
            ("a,b", None),
            ("a/b", None),
            ("u@a", None),
            (&longer, None),
        ];
        for (text, expected) in cases {
            let mut room = [0; MAX_NAME_LENGTH];
            assert_eq!(of(text, &mut room), expected.map(str::as_bytes), "{text}");
        }
    }
}

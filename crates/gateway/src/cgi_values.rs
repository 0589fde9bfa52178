//! Values that applications inherit from CGI (RFC 3875), whichever interface passes them on.

use std::borrow::Cow;

use serow_message::percent;

/// The script that a request runs, in the extensions of requests that a folder of scripts passes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgiScript {
    /// SCRIPT_FILENAME: the path of its file, without symbolic links.
    pub filename: Vec<u8>,
    /// SCRIPT_NAME: the part of the request's path that leads to it, decoded.
    pub name: Vec<u8>,
    /// PATH_INFO: the part behind that, decoded; `None` where nothing follows.
    pub path_info: Option<Vec<u8>>,
    /// DOCUMENT_ROOT: the folder that the first `/` of the path stands for, without symbolic links.
    pub document_root: Vec<u8>,
}

/// Host and port, as the Host field has them; IPv6 addresses keep their brackets, as in CGI (RFC 3875 §4.1.14).
#[must_use]
pub fn host_and_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (name, Some(port)),
        _ => (host, None),
    }
}

/// A path percent-decoded once (RFC 3986 §2.1), as CGI's PATH_INFO has it. Invalid encodings stay as they are.
#[must_use]
pub fn decoded_path(path: &str) -> Cow<'_, [u8]> {
    let mut rest = path.as_bytes();
    let Some(first) = rest.iter().position(|byte| *byte == b'%') else { return Cow::Borrowed(rest) };
    let mut decoded = rest[..first].to_vec();
    rest = &rest[first..];
    while let Some((&byte, behind)) = rest.split_first() {
        let encoded = (byte == b'%').then(|| percent::decode(rest).next().and_then(Result::ok)).flatten();
        let (next, byte) = encoded.map_or((behind, byte), |octet| (&rest[ENCODED..], octet.byte()));
        decoded.push(byte);
        rest = next;
    }
    Cow::Owned(decoded)
}

/// Bytes of `%2F`.
const ENCODED: usize = 3;

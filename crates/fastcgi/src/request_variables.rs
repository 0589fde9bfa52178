//! The variables of a request (RFC 3875 §4.1).

use core::net::IpAddr;

use serow_message::{Headers, KnownHeader, content::decimal};

use crate::{Variables, VariablesError};

/// A request but for its header fields, as scripts see it.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// REQUEST_METHOD; php-fpm needs it.
    pub method: &'a str,
    /// REQUEST_URI: path and query as they were received, not decoded.
    pub target: &'a str,
    /// QUERY_STRING, not decoded.
    pub query: &'a str,
    /// SERVER_PROTOCOL: `HTTP/1.1`.
    pub protocol: &'a str,
    /// REQUEST_SCHEME; `https` makes HTTPS `on`.
    pub scheme: &'a str,
    /// SERVER_SOFTWARE.
    pub server_software: &'a str,
    /// SERVER_NAME: the host of the request without port, which IPv6 addresses have in brackets.
    pub server_name: &'a str,
    /// SERVER_PORT.
    pub server_port: &'a str,
    /// SERVER_ADDR: the server's address of the connection.
    pub server_address: Option<IpAddr>,
    /// REMOTE_ADDR: the client's address; of clients at unix sockets the variable is there and empty (RFC 3875 §4.1.8).
    pub remote_address: Option<IpAddr>,
    /// REMOTE_PORT, where it is known.
    pub remote_port: Option<u16>,
    /// REMOTE_USER: the user whom the server has authenticated.
    pub user: Option<&'a str>,
    /// AUTH_TYPE: how the server has done that, such as `Basic`.
    pub auth_type: Option<&'a str>,
    /// CONTENT_LENGTH: the exact length of the body, if there is one, however the client sent it.
    pub content_length: Option<u64>,
    /// HTTP_HOST, where the target names the host: it takes precedence over `Host` (RFC 9112 §3.2.2, RFC 9113 §8.3.1).
    pub authority: Option<&'a str>,
    /// The script.
    pub script: Script<'a>,
}

/// The script of a request. There is no PATH_TRANSLATED, from which PHP would derive another script.
#[derive(Clone, Copy, Debug, Default)]
pub struct Script<'a> {
    /// SCRIPT_FILENAME: the path of the file, which php-fpm runs. Applications that are one program need none.
    pub filename: Option<&'a [u8]>,
    /// SCRIPT_NAME: the part of the path that leads to the script (RFC 3875 §4.1.13).
    pub name: &'a [u8],
    /// PATH_INFO: the part behind that, decoded (RFC 3875 §4.1.5).
    pub path_info: Option<&'a [u8]>,
    /// DOCUMENT_ROOT: the folder of the site.
    pub document_root: Option<&'a [u8]>,
}

/// The variables of a request. Each name occurs once; those that depend on the request's fields begin with `HTTP_`, but for
/// CONTENT_TYPE, so a client cannot choose settings such as PHP_VALUE.
///
/// `is_shown` says whether the application sees a field that is otherwise safe: a server withholds fields in which untrusted
/// peers describe the client, such as `X-Forwarded-For`.
///
/// # Errors
///
/// [`VariablesError::Nul`]: an encoded NUL in the path, for example. The client receives 400.
pub fn request_variables(
    facts: &RequestFacts<'_>,
    headers: &Headers,
    is_shown: impl Fn(&[u8], Option<KnownHeader>) -> bool,
) -> Result<Variables, VariablesError> {
    let mut variables = Variables::default();
    push_facts(facts, &mut variables)?;
    if headers.contains(KnownHeader::ContentType) {
        let values = joined(headers, b"content-type", Some(KnownHeader::ContentType));
        variables.push_parts(b"", b"CONTENT_TYPE", values)?;
    }
    if let Some(authority) = facts.authority {
        variables.push("HTTP_HOST", authority)?;
    }
    for (place, (name, known, _)) in headers.iter_known().enumerate() {
        let is_separate = match known {
            Some(KnownHeader::ContentType | KnownHeader::ContentLength | KnownHeader::TransferEncoding) => true,
            Some(KnownHeader::Host) => facts.authority.is_some(),
            _ => false,
        };
        if is_separate || !is_safe_field(name, known) || !is_shown(name, known) {
            continue;
        }
        let mut earlier = headers.iter_known().take(place);
        if !earlier.any(|(other, known_other, _)| known == known_other && other.eq_ignore_ascii_case(name)) {
            variables.push_parts(b"HTTP_", name, joined(headers, name, known))?;
        }
    }
    Ok(variables)
}

/// Whether a field can become a variable. Other names than these become the variable of another field, by RFC 3875 §4.1.18
/// or in the application: `X_User` and `X-User` are one variable, and for PHP also `X.User`; a trusted proxy may vouch for one
/// of them. Nor does `Proxy`, since libraries take HTTP_PROXY for a setting of their own (<https://httpoxy.org>).
#[must_use]
pub fn is_safe_field(name: &[u8], known: Option<KnownHeader>) -> bool {
    let is_plain = || name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    known.is_some() || is_plain() && !name.eq_ignore_ascii_case(b"proxy")
}

fn push_facts(facts: &RequestFacts<'_>, variables: &mut Variables) -> Result<(), VariablesError> {
    variables.push("GATEWAY_INTERFACE", "CGI/1.1")?;
    // php-cgi runs a script only if there is one, as after Apache's redirect to it.
    variables.push("REDIRECT_STATUS", "200")?;
    for (name, value) in [
        ("REQUEST_METHOD", facts.method),
        ("REQUEST_URI", facts.target),
        ("QUERY_STRING", facts.query),
        ("SERVER_PROTOCOL", facts.protocol),
        ("SERVER_SOFTWARE", facts.server_software),
        ("REQUEST_SCHEME", facts.scheme),
        ("SERVER_NAME", facts.server_name),
        ("SERVER_PORT", facts.server_port),
    ] {
        variables.push(name, value)?;
    }
    variables.push("SCRIPT_NAME", facts.script.name)?;
    for (name, value) in [
        ("SCRIPT_FILENAME", facts.script.filename),
        ("PATH_INFO", facts.script.path_info),
        ("DOCUMENT_ROOT", facts.script.document_root),
        ("HTTPS", (facts.scheme == "https").then_some(b"on")),
        ("REMOTE_USER", facts.user.map(str::as_bytes)),
        ("AUTH_TYPE", facts.auth_type.map(str::as_bytes)),
    ] {
        if let Some(value) = value {
            variables.push(name, value)?;
        }
    }
    push_address("REMOTE_ADDR", facts.remote_address, variables)?;
    if facts.server_address.is_some() {
        push_address("SERVER_ADDR", facts.server_address, variables)?;
    }
    for (name, number) in [("REMOTE_PORT", facts.remote_port.map(u64::from)), ("CONTENT_LENGTH", facts.content_length)]
    {
        if let Some(number) = number {
            variables.push(name, decimal(number, &mut [0; 20]))?;
        }
    }
    Ok(())
}

/// Pushes an address; IPv4 addresses in IPv6 notation are written as IPv4.
fn push_address(name: &str, address: Option<IpAddr>, variables: &mut Variables) -> Result<(), VariablesError> {
    let text = address.map(|address| alloc::format!("{}", address.to_canonical()));
    variables.push(name, text.unwrap_or_default())
}

/// All values of a field as one (RFC 9110 §5.3; cookies: RFC 6265 §5.4): of variables of one name, PHP sees the last.
fn joined<'a>(headers: &'a Headers, name: &'a [u8], known: Option<KnownHeader>) -> impl Iterator<Item = &'a [u8]> {
    let separator: &[u8] = if known == Some(KnownHeader::Cookie) { b"; " } else { b", " };
    let parts = headers.get_all(name).enumerate();
    parts.flat_map(move |(place, value)| [if place > 0 { separator } else { b"" }, value])
}

#[cfg(test)]
mod tests;

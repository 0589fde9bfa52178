//! Addresses in `Location` and `Refresh`.

use super::{FilledRules, Match, RewritePattern};

/// The address in place of this one, if there is a rule for it.
pub(super) fn rewritten(address: &[u8], rules: FilledRules<'_>) -> Option<Vec<u8>> {
    let (rule, new) =
        rules.rewritten(|pattern| pattern.of_beginning(address).filter(|found| ends_well(pattern, found)))?;
    // A path of the server, as in http://app//evil.example, must not become another host (RFC 3986 §4.2). Browsers skip tabs,
    // and take a backslash for a slash.
    if begins_host(&new) && !begins_host(address) && !begins_host(rule.literal().as_bytes()) {
        return Some([b"/.", &new[..]].concat());
    }
    Some(new)
}

/// The same for `5; url=ADDRESS`, which browsers follow as well.
pub(super) fn rewritten_refresh(refresh: &[u8], rules: FilledRules<'_>) -> Option<Vec<u8>> {
    let start = refresh.windows(URL.len()).position(|text| text.eq_ignore_ascii_case(URL))? + URL.len();
    let (before, address) = refresh.split_at_checked(start)?;
    let (quote, address) = match address {
        [quote @ (b'"' | b'\''), rest @ ..] => (Some(*quote), rest),
        _ => (None, address),
    };
    let end = quote.and_then(|quote| address.iter().position(|byte| *byte == quote)).unwrap_or(address.len());
    let (address, behind) = address.split_at_checked(end)?;
    let address = rewritten(address, rules)?;
    Some([before, quote.as_slice(), &address, behind].concat())
}

/// Whether a text that ends with a host has all of the host of the address: `http://app.example/` and `http://app:8080/` do
/// not begin with `http://app`.
fn ends_well(pattern: &RewritePattern, found: &Match<'_>) -> bool {
    let RewritePattern::Text(start) = pattern else { return true };
    !ends_with_host(start) || matches!(found.rest.first(), None | Some(b'/' | b'?' | b'#'))
}

/// Whether a text is the beginning of an address up to the end of its host.
pub fn ends_with_host(text: &str) -> bool {
    text.split_once("//").is_some_and(|(_, host)| !host.is_empty() && !host.contains(['/', '?', '#']))
}

/// Whether an address begins with two slashes, behind which there is a host.
fn begins_host(address: &[u8]) -> bool {
    let mut bytes = address.iter().filter(|byte| **byte != b'\t');
    let mut is_slash = || matches!(bytes.next(), Some(b'/' | b'\\'));
    is_slash() && is_slash()
}

const URL: &[u8] = b"url=";

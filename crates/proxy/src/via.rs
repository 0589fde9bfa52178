//! `Via`: which proxies a message came through (RFC 9110 §7.6.3).

use serow_message::{Headers, Known, Version};

/// Adds that a message was received in this version of HTTP by this proxy. In requests it is an obligation; in responses it
/// tells people who look for the one that changed something. What was there before stays, so loops can be seen.
pub(crate) fn append(headers: &mut Headers, received: Version) {
    // Constants of this file are valid values.
    let _ = headers.append(Known::Via, text(received));
}

/// The version and our name, which is no host: who runs this may not want to tell that.
fn text(received: Version) -> &'static str {
    match received {
        Version::HTTP_2 => "2.0 serow",
        Version::HTTP_10 => "1.0 serow",
        _ => "1.1 serow",
    }
}

/// More bytes than [`append`] adds.
pub(crate) const LENGTH: usize = 16;

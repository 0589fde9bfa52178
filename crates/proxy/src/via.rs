//! `Via`: which proxies a message came through (RFC 9110 §7.6.3).

use serow_message::{Known, Version};

/// The field that says that a message was received in this version of HTTP by this proxy. In requests it is an obligation; in responses it
/// tells people who look for the one that changed something. What was there before stays, so loops can be seen.
pub(crate) fn field(received: Version) -> (Known, Option<&'static [u8]>) {
    (Known::Via, Some(text(received)))
}

/// The version and our name, which is no host: who runs this may not want to tell that.
fn text(received: Version) -> &'static [u8] {
    match received {
        Version::HTTP_2 => b"2.0 serow",
        Version::HTTP_10 => b"1.0 serow",
        _ => b"1.1 serow",
    }
}

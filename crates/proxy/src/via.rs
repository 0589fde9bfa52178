//! `Via`: which proxies a message came through (RFC 9110 §7.6.3).

use serow_message::{ConstantField, KnownHeader, Version};

/// The field that says that a message was received in this version of HTTP by this proxy. In requests it is an obligation; in responses it
/// tells people who look for the one that changed something. What was there before stays, so loops can be seen.
///
/// Our name is not a host: who runs this may not want to tell that.
pub(crate) fn field(received: Version) -> &'static ConstantField {
    const HTTP_2: ConstantField = ConstantField::new(KnownHeader::Via, "via: 2.0 serow\r\n");
    const HTTP_11: ConstantField = ConstantField::new(KnownHeader::Via, "via: 1.1 serow\r\n");
    const HTTP_10: ConstantField = ConstantField::new(KnownHeader::Via, "via: 1.0 serow\r\n");
    match received {
        Version::HTTP_2 => &HTTP_2,
        Version::HTTP_10 => &HTTP_10,
        _ => &HTTP_11,
    }
}

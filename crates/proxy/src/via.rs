//! `Via`: which proxies a message came through (RFC 9110 §7.6.3).

use serow_message::{ConstantField, KnownHeader, Version};

/// The field for a message that this proxy received in this version of HTTP. It is mandatory in requests; in responses
/// it helps to find the proxy that changed something. Previous values stay, so loops are visible.
///
/// The name is not the host's, which the administrator may want to keep private.
pub(crate) fn field(received: Version) -> &'static ConstantField {
    const HTTP_3: ConstantField = ConstantField::new(KnownHeader::Via, "via: 3.0 serow\r\n");
    const HTTP_2: ConstantField = ConstantField::new(KnownHeader::Via, "via: 2.0 serow\r\n");
    const HTTP_11: ConstantField = ConstantField::new(KnownHeader::Via, "via: 1.1 serow\r\n");
    const HTTP_10: ConstantField = ConstantField::new(KnownHeader::Via, "via: 1.0 serow\r\n");
    match received {
        Version::HTTP_3 => &HTTP_3,
        Version::HTTP_2 => &HTTP_2,
        Version::HTTP_10 => &HTTP_10,
        _ => &HTTP_11,
    }
}

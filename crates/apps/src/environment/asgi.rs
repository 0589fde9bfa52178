//! Requests for Python's ASGI.

use super::Facts;

pub(super) fn write(_facts: &Facts<'_>, _packet: &mut Vec<u8>) {}

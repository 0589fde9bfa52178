//! Handshakes of QUIC in a build without HTTP/3: there are none.

#[derive(Default)]
pub(crate) struct Handshakes {}

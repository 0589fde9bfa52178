//! The version of HTTP on TCP connections in a build without HTTP/2.

use std::ops::ControlFlow;

use crate::status::{Counter, Counters};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Versions;

#[derive(Clone, Copy, Debug)]
pub(crate) enum SpokenVersion {
    Http1,
}

impl Versions {
    pub(crate) fn has_http1(self) -> bool {
        true
    }

    pub(crate) fn has_http2(self) -> bool {
        false
    }

    pub(crate) fn recognize(self, _: &[u8], _: bool) -> ControlFlow<SpokenVersion> {
        ControlFlow::Break(SpokenVersion::Http1)
    }
}

impl SpokenVersion {
    pub(crate) const HTTP2: Option<Self> = None;

    pub(crate) fn counters(self, counters: &Counters) -> (&Counter, &Counter) {
        match self {
            Self::Http1 => (&counters.begun_http1, &counters.open_http1),
        }
    }
}

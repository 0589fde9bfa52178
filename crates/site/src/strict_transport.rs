//! Tells browsers to come with TLS only.

use std::time::Duration;

use serow::{KnownHeader, Response, Scheme};

/// The header that tells browsers to come with TLS only (RFC 6797); by default, there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StrictTransport {
    seconds: Option<u64>,
}

impl StrictTransport {
    /// For so long, in the response to a request of this scheme.
    pub(crate) fn new(time: Duration, scheme: Scheme) -> Self {
        // RFC 6797 §7.2: not over plain connections, where anybody could have put it.
        Self { seconds: (scheme == Scheme::Https).then_some(time.as_secs()) }
    }

    /// Adds the header to a response.
    #[inline]
    pub(crate) fn apply(self, response: &mut Response) {
        if let Some(seconds) = self.seconds {
            // A word and digits: always a valid field.
            let _ = response.headers.insert(KnownHeader::StrictTransportSecurity, format!("max-age={seconds}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_over_tls() {
        for (scheme, seconds, expected) in [
            (Scheme::Https, 365 * 86_400, Some("max-age=31536000")),
            (Scheme::Https, 0, Some("max-age=0")),
            (Scheme::Http, 60, None),
        ] {
            let mut response = Response::from("text");
            StrictTransport::new(Duration::from_secs(seconds), scheme).apply(&mut response);
            assert_eq!(response.headers.get_str(KnownHeader::StrictTransportSecurity), expected);
        }
    }
}

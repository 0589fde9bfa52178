//! Where clients may be.

use serow_message::{Network, NetworkError, NetworkSet, Peer};

/// Where clients may be: in one of some networks, and in none of others; anywhere, by default.
///
/// ```
/// use serow_router::Networks;
///
/// assert!(Networks::parse(&["10.0.0.0/8", "!10.1.0.0/16"]).is_ok());
/// assert!(Networks::parse(&["localhost"]).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    wanted: NetworkSet,
    refused: NetworkSet,
}

impl Networks {
    /// Reads networks; `!` begins one where clients may not be.
    ///
    /// # Errors
    ///
    /// The number of an invalid network, and what is wrong with it.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, (usize, NetworkError)> {
        let (mut wanted, mut refused) = (Vec::<Network>::new(), Vec::<Network>::new());
        for (number, text) in texts.iter().enumerate() {
            let (networks, text) = match text.as_ref().strip_prefix('!') {
                Some(text) => (&mut refused, text),
                None => (&mut wanted, text.as_ref()),
            };
            networks.push(text.parse().map_err(|error| (number, error))?);
        }
        Ok(Self { wanted: wanted.into_iter().collect(), refused: refused.into_iter().collect() })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.refused.is_empty()
    }

    pub(crate) fn contain(&self, peer: Peer) -> bool {
        (self.wanted.is_empty() || self.wanted.contains_peer(peer)) && !self.refused.contains_peer(peer)
    }
}

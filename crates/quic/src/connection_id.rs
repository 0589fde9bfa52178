//! Connection IDs that name the socket of their owner.

use std::time::Duration;

use quinn_proto::{ConnectionId, ConnectionIdGenerator, InvalidCid};
use serow_net::reuse_port::quic_steering::{CONNECTION_ID_CHECK as CHECK, CONNECTION_ID_LENGTH};

/// Generates connection IDs that name the socket of this slot in its group ([layout](CONNECTION_ID_LENGTH)).
///
/// An observer of the network learns from them how many sockets the server has, and no more than the addresses of
/// packets tell about which connection they belong to (RFC 9000 §5.1).
pub(crate) struct SlotIds {
    pub(crate) slot: u8,
}

impl ConnectionIdGenerator for SlotIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [0; CONNECTION_ID_LENGTH];
        // Without the system's randomness no TLS handshake succeeds either.
        let _ = aws_lc_rs::rand::fill(&mut bytes);
        bytes[0] = self.slot ^ bytes[2];
        bytes[1] = self.slot ^ CHECK;
        ConnectionId::new(&bytes)
    }

    /// Those of every slot count: a socket may get the packets of a process that has crashed, and resets its connections.
    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        match **id {
            [first, second, third, ..] if first ^ third == second ^ CHECK => Ok(()),
            _ => Err(InvalidCid),
        }
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID_LENGTH
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_its_slot() {
        for slot in 0..=255 {
            let id = SlotIds { slot }.generate_cid();
            assert_eq!((id[0] ^ id[2], id[1] ^ CHECK, id.len()), (slot, slot, CONNECTION_ID_LENGTH));
            assert!(SlotIds { slot: 0 }.validate(&id).is_ok());
        }
        assert!(SlotIds { slot: 0 }.validate(&ConnectionId::new(&[0; CONNECTION_ID_LENGTH])).is_err());
    }
}

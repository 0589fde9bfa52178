//! Reads the kernel's TCP_INFO (tcp(7), `struct tcp_info` in linux/tcp.h).

use serow_pacing::TcpInfo;

/// Reads what the kernel has filled in, which is less with older kernels.
pub(crate) fn parse(raw: &[u8]) -> TcpInfo {
    let sent_again_ever = long(raw, 208);
    TcpInfo {
        segment: word(raw, 16),
        unacknowledged: word(raw, 24),
        arrived: word(raw, 28),
        lost: word(raw, 32),
        sent_again: word(raw, 36),
        round_trip: word(raw, 68),
        window: word(raw, 80),
        acknowledged: long(raw, 120),
        unsent: word(raw, 144),
        // "None" is the greatest number.
        shortest_round_trip: if word(raw, 148) == u32::MAX { 0 } else { word(raw, 148) },
        rate: long(raw, 160),
        rate_is_ours: raw.get(7).is_some_and(|byte| byte & RATE_IS_OURS != 0),
        sent: long(raw, 200).saturating_sub(sent_again_ever),
        peer_window: word(raw, 228),
    }
}

fn word(raw: &[u8], offset: usize) -> u32 {
    raw.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

fn long(raw: &[u8], offset: usize) -> u64 {
    raw.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// The requested length of the structure; the kernel fills in as much as it knows. The last field read ends at 232.
pub(crate) const LENGTH: usize = 232;

/// The first bit field of its byte.
const RATE_IS_OURS: u8 = if cfg!(target_endian = "big") { 0x80 } else { 0x01 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_is_read_from_its_offset() {
        let raw: Vec<u8> = (0..LENGTH as u32 / 4).flat_map(|index| (index * 4).to_ne_bytes()).collect();
        let info = parse(&raw);
        let words = [info.segment, info.unacknowledged, info.arrived, info.lost, info.sent_again, info.round_trip];
        assert_eq!(words, [16, 24, 28, 32, 36, 68]);
        assert_eq!([info.window, info.unsent, info.shortest_round_trip, info.peer_window], [80, 144, 148, 228]);
        let pair = |low: u64| if cfg!(target_endian = "big") { low << 32 | (low + 4) } else { low | (low + 4) << 32 };
        assert_eq!([info.acknowledged, info.rate], [pair(120), pair(160)]);
        assert_eq!(info.sent, 0, "more sent again than sent is none");
    }

    #[test]
    fn missing_fields_of_old_kernels_are_zero() {
        let raw = [0xff; 104];
        let info = parse(&raw);
        assert_eq!((info.window, info.acknowledged, info.unsent, info.sent, info.rate), (u32::MAX, 0, 0, 0, 0));
        assert_eq!(parse(&[]), TcpInfo::default());
        let info = TcpInfo { unacknowledged: 3, segment: 1000, ..TcpInfo::default() };
        assert_eq!(info.in_flight(), 3000);
    }
}

//! The kernel's knowledge of a TCP connection's path and queues: the fields of TCP_INFO (tcp(7)) that pacing needs.

/// A reading of TCP_INFO.
///
/// Everything but the names is the kernel's (`struct tcp_info` in linux/tcp.h). Fields that an older kernel lacks are
/// 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The payload of a full segment, in bytes: without headers and without TCP's options (`tcpi_snd_mss`).
    pub segment: u32,
    /// The smoothed round-trip time in microseconds (`tcpi_rtt`).
    pub round_trip: u32,
    /// The shortest round trip of the last five minutes in microseconds (`tcpi_min_rtt`, net.ipv4.tcp_min_rtt_wlen); 0
    /// if it is unknown.
    pub shortest_round_trip: u32,
    /// The congestion window, in segments (`tcpi_snd_cwnd`).
    pub window: u32,
    /// The window that the peer advertised, in bytes (`tcpi_snd_wnd`, Linux 5.4); 0 if it is unknown.
    pub peer_window: u32,
    /// Segments that were sent and not yet acknowledged (`tcpi_unacked`).
    pub unacknowledged: u32,
    /// Of these, those that have arrived out of order (`tcpi_sacked`).
    pub arrived: u32,
    /// Of these, those that are considered lost (`tcpi_lost`).
    pub lost: u32,
    /// Of these, those that were retransmitted (`tcpi_retrans`).
    pub sent_again: u32,
    /// Bytes that were written and never sent (`tcpi_notsent_bytes`).
    pub unsent: u32,
    /// Payload bytes sent so far, without retransmissions (`tcpi_bytes_sent` less `tcpi_bytes_retrans`, Linux 4.19).
    pub sent: u64,
    /// Payload bytes that the peer has acknowledged so far (`tcpi_bytes_acked`).
    pub acknowledged: u64,
    /// The latest measured rate at which bytes arrived, in bytes per second; 0 before there is one
    /// (`tcpi_delivery_rate`).
    pub rate: u64,
    /// The rate was limited by the application, so the path may be faster; the kernel then keeps the highest
    /// such rate (`tcpi_delivery_rate_app_limited`).
    pub rate_is_ours: bool,
}

impl TcpInfo {
    /// Bytes that were sent and not yet acknowledged.
    pub fn in_flight(&self) -> u32 {
        if self.sent == 0 {
            return self.unacknowledged.saturating_mul(self.segment);
        }
        // A client's count of acknowledged bytes begins with its SYN, so it can be ahead by one.
        u32::try_from(self.sent.saturating_sub(self.acknowledged)).unwrap_or(u32::MAX)
    }

    /// Bytes that the kernel would send at once if it had them: the room in the windows that nothing waits for.
    pub fn window_room(&self) -> u32 {
        // While losses are repaired, the window is not what limits (RFC 6937).
        if self.lost > 0 || self.sent_again > 0 {
            return 0;
        }
        let under_way = self.unacknowledged.saturating_sub(self.arrived);
        let room = self.window.saturating_sub(under_way).saturating_mul(self.segment);
        let peers_room = match self.peer_window {
            0 => u32::MAX,
            window => window.saturating_sub(self.in_flight()),
        };
        room.min(peers_room).saturating_sub(self.unsent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_room_is_what_both_windows_allow() {
        let info = TcpInfo { segment: 1000, window: 10, unacknowledged: 4, sent: 4000, ..TcpInfo::default() };
        let cases = [
            (info, 6000),
            (TcpInfo { unsent: 1500, ..info }, 4500),
            (TcpInfo { peer_window: 5000, ..info }, 1000),
            (TcpInfo { peer_window: 3000, ..info }, 0),
            (TcpInfo { arrived: 1, ..info }, 7000),
            (TcpInfo { lost: 1, ..info }, 0),
            (TcpInfo { sent_again: 1, ..info }, 0),
            (TcpInfo { window: 2, ..info }, 0),
            (TcpInfo { unsent: 7000, ..info }, 0),
        ];
        for (info, room) in cases {
            assert_eq!(info.window_room(), room, "{info:?}");
        }
    }
}

//! Whether somebody listens in a network: read from the kernel's table, so that no connection disturbs the server.

use std::{fs, io};

/// Whether a process of the network that `process` lives in listens on a TCP port: on this one, or on any.
pub(crate) fn is_listening(process: u32, port: Option<u16>) -> io::Result<bool> {
    for table in ["tcp", "tcp6"] {
        match fs::read_to_string(format!("/proc/{process}/net/{table}")) {
            Ok(table) if ports(&table).any(|found| port.is_none_or(|port| port == found)) => return Ok(true),
            // A kernel without IPv6 has no tcp6.
            Err(error) if table == "tcp" => return Err(error),
            _ => {}
        }
    }
    Ok(false)
}

/// The ports of the sockets that listen, from /proc/net/tcp: `0: 00000000:1F90 00000000:0000 0A …`.
fn ports(table: &str) -> impl Iterator<Item = u16> {
    table.lines().skip(1).filter_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let (_, port) = columns.next()?.rsplit_once(':')?;
        (columns.nth(1)? == LISTEN).then(|| u16::from_str_radix(port, 16).ok()).flatten()
    })
}

/// include/net/tcp_states.h: TCP_LISTEN is 10.
const LISTEN: &str = "0A";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_listen() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 00000000:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n   \
                     1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 2\n   \
                     2: 00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 0A 0 0 0\n";
        assert_eq!(ports(table).collect::<Vec<_>>(), [8_443, 443]);
        assert_eq!(ports("").count(), 0);
    }
}

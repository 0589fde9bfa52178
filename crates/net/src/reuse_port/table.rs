//! Counts listeners in the kernel's table of TCP sockets (proc_net_tcp in its documentation).

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// How many sockets of our network namespace listen on exactly this address, including other processes'.
///
/// # Errors
///
/// When the table cannot be read.
pub(crate) fn count_listeners(address: SocketAddr) -> io::Result<usize> {
    let table = File::open(if address.is_ipv4() { "/proc/self/net/tcp" } else { "/proc/self/net/tcp6" })?;
    count(BufReader::new(table), address)
}

fn count(table: impl BufRead, address: SocketAddr) -> io::Result<usize> {
    let mut count = 0;
    // Without the heading.
    for line in table.lines().skip(1) {
        let line = line?;
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, _remote, state) = (fields.next(), fields.next(), fields.next());
        // Listeners come first, before possibly a hundred thousand connections.
        if state != Some(LISTEN) {
            break;
        }
        let there = local.and_then(parse);
        count += usize::from(there == Some((address.ip(), address.port())));
    }
    Ok(count)
}

/// `0100007F:1F90`, or four such words for IPv6: each is the hexadecimal of a native number with the bytes in network
/// order.
fn parse(text: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |place: usize| u32::from_str_radix(ip.get(8 * place..8 * place + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (place, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(place)?);
            }
            IpAddr::from(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some((ip, port))
}

/// TCP_LISTEN (include/net/tcp_states.h).
const LISTEN: &str = "0A";

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn addresses_are_read_as_the_kernel_prints_them() {
        let cases = [
            ("0100007F:1F90", Some(("127.0.0.1", 8080))),
            ("00000000:0050", Some(("0.0.0.0", 80))),
            ("00000000000000000000000001000000:1F90", Some(("::1", 8080))),
            ("0000000000000000FFFF00000A00000A:FFFF", Some(("::ffff:10.0.0.10", 65535))),
            ("B80D0120000000000000000001FF0000:01BB", Some(("2001:db8::ff01", 443))),
            ("local_address", None),
            ("0100007F", None),
            ("0100007F:", None),
            ("0100007F:10000", None),
            ("0100007G:1F90", None),
            ("01€007F:1F90", None),
            ("0100007F0:1F90", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), expected.map(|(ip, port)| (ip.parse().unwrap(), port)), "{text}");
        }
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn listeners_on_the_address_are_counted() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n   \
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000001 00:00000000 00000000     0\n   \
                     1: 00000000:1F90 00000000:0000 0A 00000000:00000000 01:00000062 00000000     0\n   \
                     2: 0100007F:1F90 00000000:0000 0A 00000000:00000001 00:00000000 00000000     0\n   \
                     3: 0100007F:1F90 0100007F:9EB8 01 00000000:00000000 01:00000062 00000000     0\n";
        let cases = [("127.0.0.1:8080", 2), ("0.0.0.0:8080", 1), ("127.0.0.1:8081", 0), ("[::]:8080", 0)];
        for (address, expected) in cases {
            assert_eq!(count(table.as_bytes(), address.parse().unwrap()).unwrap(), expected, "{address}");
        }
        assert_eq!(count(&b""[..], "[::]:8080".parse().unwrap()).unwrap(), 0);
    }

    #[test]
    fn listeners_are_counted_in_the_kernel_table() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _connected = TcpStream::connect(address).unwrap();
        assert_eq!(count_listeners(address).unwrap(), 1);
        assert_eq!(count_listeners(SocketAddr::new([0, 0, 0, 0].into(), address.port())).unwrap(), 0);
    }
}

//! Every header runs whole, cut at every byte, and with the connection's first bytes behind it.

use alloc::{format, vec, vec::Vec};

use super::*;

fn proxied(source: &str, destination: &str) -> Header {
    Header::Proxied { source: source.parse().unwrap(), destination: destination.parse().unwrap() }
}

/// A header of version 2; its length field is that of `block`.
fn version_2(version_and_command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    let length = u16::try_from(block.len()).unwrap().to_be_bytes();
    [VERSION_2_SIGNATURE, &[version_and_command, family], &length, block].concat()
}

const INET: [u8; 12] = [192, 0, 2, 1, 192, 0, 2, 2, 0xdc, 0x04, 0x01, 0xbb];

fn inet6() -> Vec<u8> {
    let (source, destination): (Ipv6Addr, Ipv6Addr) = ("2001:db8::1".parse().unwrap(), "::2".parse().unwrap());
    [&source.octets()[..], &destination.octets(), &[0xff, 0xff, 0, 0]].concat()
}

fn accepted() -> Vec<(Vec<u8>, Header)> {
    let inet = proxied("192.0.2.1:56324", "192.0.2.2:443");
    let long = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    let text = |line: &str, header| (line.as_bytes().to_vec(), header);
    vec![
        text("PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", inet),
        text("PROXY TCP4 0.0.0.0 255.255.255.255 0 65535\r\n", proxied("0.0.0.0:0", "255.255.255.255:65535")),
        text("PROXY TCP6 2001:db8::1 ::2 65535 0\r\n", proxied("[2001:db8::1]:65535", "[::2]:0")),
        text("PROXY TCP6 2001:DB8::1 ::2 1 2\r\n", proxied("[2001:db8::1]:1", "[::2]:2")),
        text("PROXY TCP6 ::ffff:192.0.2.1 ::ffff:192.0.2.2 56324 443\r\n", inet),
        text(
            &format!("PROXY TCP6 {long} {long} 65535 65535\r\n"),
            proxied(&format!("[{long}]:65535"), &format!("[{long}]:65535")),
        ),
        text("PROXY UNKNOWN\r\n", Header::Unknown),
        text("PROXY UNKNOWN anything at all\r\n", Header::Unknown),
        text(&format!("PROXY UNKNOWN {long} {long} 65535 65535\r\n"), Header::Unknown),
        (version_2(0x21, 0x11, &INET), inet),
        (version_2(0x21, 0x21, &inet6()), proxied("[2001:db8::1]:65535", "[::2]:0")),
        // TLVs behind the addresses: an ALPN of "h2" and an empty no-op.
        (version_2(0x21, 0x11, &[&INET[..], &[1, 0, 2, b'h', b'2', 4, 0, 0]].concat()), inet),
        (version_2(0x21, 0x11, &[&INET[..], &[4, 0x0f, 0xe1], &[0; MAX_HEADER_LENGTH - 31]].concat()), inet),
        (version_2(0x21, 0x31, &[b'/'; 216]), Header::Unknown),
        (version_2(0x21, 0x32, &[b'/'; 216]), Header::Unknown),
        (version_2(0x21, 0x12, &INET), Header::Unknown),
        (version_2(0x21, 0x22, &inet6()), Header::Unknown),
        (version_2(0x21, 0x10, &[]), Header::Unknown),
        (version_2(0x21, 0x00, &[]), Header::Unknown),
        (version_2(0x21, 0x00, b"ignored"), Header::Unknown),
        (version_2(0x20, 0x00, &[]), Header::Local),
        (version_2(0x20, 0x11, &INET), Header::Local),
        (version_2(0x20, 0xff, b"ignored"), Header::Local),
    ]
}

#[test]
fn headers_are_read_whole_cut_anywhere_and_with_a_tail() {
    for (bytes, header) in accepted() {
        let name = bytes.escape_ascii();
        assert_eq!(parse(&bytes), Ok(Some((header, bytes.len()))), "{name}");
        for end in (0..bytes.len()).step_by(STEP) {
            assert_eq!(parse(&bytes[..end]), Ok(None), "{name} cut after {end}");
        }
        for tail in [&b"G"[..], b"\r\n", b"\n", b"GET / HTTP/1.1\r\n\r\n", b"PROXY UNKNOWN\r\n", &bytes] {
            let both = [&bytes, tail].concat();
            assert_eq!(parse(&both), Ok(Some((header, bytes.len()))), "{name} then {}", tail.escape_ascii());
        }
    }
}

fn refused_text() -> Vec<(Vec<u8>, ProxyProtocolError)> {
    use ProxyProtocolError::{Line, NotProxyProtocol};
    let line = |text: &str| (text.as_bytes().to_vec(), Line);
    vec![
        (b"GET / HTTP/1.1\r\n".to_vec(), NotProxyProtocol),
        (b"proxy TCP4".to_vec(), NotProxyProtocol),
        (b"PROXY\tTCP4".to_vec(), NotProxyProtocol),
        (b"\r\nGET".to_vec(), NotProxyProtocol),
        (b"\0".to_vec(), NotProxyProtocol),
        line("PROXY \r\n"),
        line("PROXY TCP4\r\n"),
        line("PROXY UNKNOWNX\r\n"),
        line("PROXY tcp4 192.0.2.1 192.0.2.2 1 2\r\n"),
        line("PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n"),
        line("PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n"),
        line("PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n"),
        line("PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n"),
        line("PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n"),
        line("PROXY TCP4 192.0.2.1  192.0.2.2 1 2\r\n"),
        line("PROXY TCP4 192.0.2.01 192.0.2.2 1 2\r\n"),
        line("PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n"),
        line("PROXY TCP4 ::1 ::2 1 2\r\n"),
        line("PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n"),
        line("PROXY TCP6 fe80::1%lo ::2 1 2\r\n"),
        line("PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n"),
        line("PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n"),
        line("PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n"),
        line("PROXY TCP4 192.0.2.1 192.0.2.2 1 \r\n"),
        line("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n"),
        line("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\rG"),
        line("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\r\n"),
        line("PROXY UNKNOWN\n\r\n"),
        (b"PROXY TCP4 192.0.2.1 192.0.2.2 1 \xb2\r\n".to_vec(), Line),
        (format!("PROXY UNKNOWN {}\r\n", "x".repeat(92)).into_bytes(), Line),
        (format!("PROXY UNKNOWN {}", "x".repeat(93)).into_bytes(), Line),
    ]
}

fn refused_binary() -> Vec<(Vec<u8>, ProxyProtocolError)> {
    use ProxyProtocolError::{AddressesCut, Command, Family, TlvCut, TooLong, Version};
    let mut too_long = version_2(0x21, 0x11, &INET);
    too_long[14..16].copy_from_slice(&[0x0f, 0xf1]);
    vec![
        (version_2(0x11, 0x11, &INET), Version(1)),
        (version_2(0x31, 0x11, &INET), Version(3)),
        (version_2(0x22, 0x11, &INET), Command(2)),
        (version_2(0x21, 0x41, &INET), Family(0x41)),
        (version_2(0x21, 0x13, &INET), Family(0x13)),
        (version_2(0x21, 0x03, &INET), Family(0x03)),
        (version_2(0x21, 0x11, &INET[..11]), AddressesCut),
        (version_2(0x21, 0x21, &inet6()[..35]), AddressesCut),
        (version_2(0x21, 0x31, &[b'/'; 215]), AddressesCut),
        (version_2(0x21, 0x12, &[]), AddressesCut),
        (version_2(0x21, 0x11, &[&INET[..], &[1]].concat()), TlvCut),
        (version_2(0x21, 0x11, &[&INET[..], &[1, 0]].concat()), TlvCut),
        (version_2(0x21, 0x11, &[&INET[..], &[1, 0, 1]].concat()), TlvCut),
        (version_2(0x21, 0x11, &[&INET[..], &[1, 0, 1, 0, 0]].concat()), TlvCut),
        (too_long, TooLong(MAX_HEADER_LENGTH + 1)),
    ]
}

#[test]
fn invalid_headers_are_refused_whole_and_at_every_prefix() {
    for (bytes, error) in refused_text().into_iter().chain(refused_binary()) {
        let name = bytes.escape_ascii();
        assert_eq!(parse(&bytes), Err(error), "{name}");
        for end in (0..bytes.len()).step_by(STEP) {
            let part = parse(&bytes[..end]);
            assert!(!matches!(part, Ok(Some(_))), "{name} cut after {end}: {part:?}");
        }
        assert_eq!(parse(&[&bytes[..], b"\r\nGET / HTTP/1.1\r\n"].concat()), Err(error), "{name} with a tail");
    }
}

#[test]
fn only_forwarded_connections_have_a_source() {
    assert_eq!(proxied("192.0.2.1:1", "192.0.2.2:2").source(), Some(([192, 0, 2, 1], 1).into()));
    assert_eq!(Header::Local.source(), None);
    assert_eq!(Header::Unknown.source(), None);
}

#[test]
fn written_headers_are_parsed_again() {
    let long = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535";
    let headers = [
        (proxied("192.0.2.1:56324", "192.0.2.2:443"), None),
        (proxied("[2001:db8::1]:65535", "[::2]:0"), None),
        (proxied("192.0.2.1:1", "[2001:db8::1]:2"), None),
        (proxied("[2001:db8::1]:2", "192.0.2.1:1"), None),
        (proxied(long, long), None),
        (Header::Unknown, None),
        (Header::Local, Some(Header::Unknown)),
    ];
    for (header, in_version_1) in headers {
        let (mut line, mut binary) = (Vec::new(), Vec::new());
        write_version_1(&header, &mut line);
        write_version_2(&header, &mut binary);
        assert_eq!(parse(&line), Ok(Some((in_version_1.unwrap_or(header), line.len()))), "{}", line.escape_ascii());
        assert_eq!(parse(&binary), Ok(Some((header, binary.len()))), "{}", binary.escape_ascii());
    }
}

#[test]
fn version_2_is_written_byte_by_byte() {
    let mut output = Vec::new();
    write_version_2(&proxied("192.0.2.1:56324", "192.0.2.2:443"), &mut output);
    assert_eq!(output, version_2(0x21, 0x11, &INET));
    output.clear();
    write_version_2(&Header::Local, &mut output);
    assert_eq!(output, version_2(0x20, 0, &[]));
}

/// Between the positions at which a header is cut: Miri interprets, some hundred times slower.
const STEP: usize = if cfg!(miri) { 61 } else { 1 };

//! Bytes of a peer that change at random on their way: the receiver takes none of them for other plaintext, and does
//! not panic.

use serow_tls::TlsVersion;

use crate::ends::{Delivery, Ours, Server, Site, VERSIONS, converse, established};

/// Numbers that look random and are the same in each run (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }
}

/// Where records begin.
pub(crate) fn records(bytes: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut start = 0;
    while let Some([_, _, _, high, low]) = bytes.get(start..start + 5) {
        starts.push(start);
        start += 5 + usize::from(u16::from_be_bytes([*high, *low]));
    }
    starts
}

/// Changes something, with an eye for what records are made of.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let position = random.below(bytes.len());
    let starts = records(bytes);
    let start = starts.get(random.below(starts.len())).copied().unwrap_or(0);
    let next = starts.iter().copied().find(|other| *other > start).unwrap_or(bytes.len()).min(bytes.len());
    match random.below(9) {
        0 => bytes[position] ^= 1 << random.below(8),
        1 => bytes[position] = random.byte(),
        2 => bytes.insert(position, random.byte()),
        3 => drop(bytes.remove(position)),
        4 => bytes.truncate(position),
        // A header: another type, version or length.
        5 => bytes[(start + random.below(5)).min(next - 1)] = [0, 1, 3, 4, 20, 21, 22, 23, 64, 255][random.below(10)],
        // A whole record, once more or not at all, or with something in front.
        6 => {
            let record = bytes[start..next].to_vec();
            drop(bytes.splice(next..next, record));
        }
        7 => drop(bytes.drain(start..next)),
        _ => {
            let length = random.below(40);
            let mut record = vec![[20, 21, 22, 23, 24][random.below(5)], 3, 3, 0, u8::try_from(length).unwrap()];
            record.extend((0..length).map(|_| random.byte()));
            drop(bytes.splice(start..start, record));
        }
    }
}

/// Hands bytes over in pieces of any length, until they are refused.
fn receive(end: &mut Ours, bytes: &[u8], random: &mut Random) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at((1 + random.below(100)).min(rest.len()));
        if end.receive(piece, Delivery::Whole).is_err() {
            return false;
        }
        rest = behind;
    }
    true
}

#[test]
fn mutated_records_never_yield_other_plaintext() {
    let (site, mut random) = (Site::new(), Random(0x5eed));
    let (mut refused, mut partly) = (0, 0);
    for version in VERSIONS {
        for round in 0..300 {
            let (mut client, mut server) = established(&site, version);
            let mut said = Vec::new();
            for _ in 0..6 {
                let piece: Vec<u8> = (0..1 + random.below(60)).map(|_| random.byte()).collect();
                client.write(&piece);
                said.extend(piece);
                if version == TlsVersion::Tls13 && random.below(4) == 0 {
                    client.refresh_traffic_keys().unwrap();
                }
            }
            client.send_close_notify();
            let mut bytes = client.flight();
            let honest = bytes.clone();
            for _ in 0..=random.below(3) {
                mutate(&mut bytes, &mut random);
            }
            let went_well = receive(&mut server, &bytes, &mut random);
            assert!(said.starts_with(&server.plaintext), "{version:?} {round}");
            if server.closed > 0 {
                assert!(server.plaintext == said, "{version:?} {round}: closed before the end");
            } else {
                assert!(bytes != honest, "{version:?} {round}");
            }
            // An alert at most; and a warning for another handshake there cannot be.
            assert!(server.sealed.len() <= 31 && server.received.len() < 17_000, "{version:?} {round}");
            refused += u32::from(!went_well);
            partly += u32::from(!went_well && !server.plaintext.is_empty());
        }
    }
    assert!(refused > 300 && partly > 100, "{refused} {partly}");
}

#[test]
fn a_mutated_handshake_never_yields_plaintext() {
    let (site, mut random) = (Site::new(), Random(0xfee1));
    let acceptor = site.acceptor();
    let (mut refused, mut waiting) = (0, 0);
    for version in VERSIONS {
        for round in 0..600 {
            let (mut client, mut server) = (site.client(version, "example.com"), Server::new(&acceptor));
            client.write(b"the right data");
            // A change in the first flight or in the second.
            let changed = random.below(2);
            for number in 0..2 {
                let mut bytes = client.flight();
                if number == changed {
                    for _ in 0..=random.below(3) {
                        mutate(&mut bytes, &mut random);
                    }
                }
                if !receive(&mut server, &bytes, &mut random) {
                    refused += 1;
                    break;
                }
                client.take(&std::mem::take(&mut server.sealed));
            }
            let flight = client.flight();
            receive(&mut server, &flight, &mut random);
            // Some of what is changed means nothing (RFC 8446 §5.1: versions); then all is as if it were not.
            assert!(b"the right data".starts_with(&server.plaintext[..]), "{version:?} {round}");
            assert!(server.received.len() < 150_000);
            waiting += u32::from(!server.session.is_established());
        }
    }
    assert!(refused > 600 && waiting > 600, "{refused} {waiting}");
}

#[test]
fn mutated_records_of_a_server_never_yield_other_plaintext() {
    let (site, mut random) = (Site::new(), Random(0xda7a));
    let acceptor = site.acceptor();
    let (mut refused, mut partly) = (0, 0);
    for version in VERSIONS {
        let connector = site.connector(version);
        for round in 0..300 {
            let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Server::new(&acceptor));
            // Its tickets come with its data, in TLS 1.3.
            while !server.session.is_established() {
                client.receive(&std::mem::take(&mut server.sealed), Delivery::Whole).unwrap();
                server.receive(&std::mem::take(&mut client.sealed), Delivery::Whole).unwrap();
            }
            if version == TlsVersion::Tls12 {
                converse(&mut client, &mut server, Delivery::Whole).unwrap();
            }
            let mut said = Vec::new();
            for _ in 0..6 {
                let piece: Vec<u8> = (0..1 + random.below(60)).map(|_| random.byte()).collect();
                server.session.seal(&piece, 20, &mut server.sealed).unwrap();
                said.extend(piece);
            }
            server.session.close(&mut server.sealed);
            let mut bytes = std::mem::take(&mut server.sealed);
            let honest = bytes.clone();
            for _ in 0..=random.below(3) {
                mutate(&mut bytes, &mut random);
            }
            let went_well = receive(&mut client, &bytes, &mut random);
            assert!(said.starts_with(&client.plaintext), "{version:?} {round}");
            if client.closed > 0 {
                assert!(client.plaintext == said, "{version:?} {round}: closed before the end");
            } else {
                assert!(bytes != honest, "{version:?} {round}");
            }
            assert!(client.sealed.len() <= 31 && client.received.len() < 17_000, "{version:?} {round}");
            refused += u32::from(!went_well);
            partly += u32::from(!went_well && !client.plaintext.is_empty());
        }
    }
    assert!(refused > 300 && partly > 100, "{refused} {partly}");
}

#[test]
fn a_mutated_handshake_of_a_server_never_yields_plaintext() {
    let (site, mut random) = (Site::new(), Random(0x5e1f));
    let acceptor = site.acceptor();
    let (mut refused, mut waiting) = (0, 0);
    for version in VERSIONS {
        for round in 0..300 {
            // Each makes a full handshake: a resumed session has other flights.
            let connector = site.connector(version);
            let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Server::new(&acceptor));
            let changed = random.below(if version == TlsVersion::Tls12 { 2 } else { 1 });
            for number in 0..2 {
                let _ = server.receive(&std::mem::take(&mut client.sealed), Delivery::Whole);
                if server.session.is_established() {
                    server.session.seal(b"the right data", 100, &mut server.sealed).unwrap();
                }
                let mut bytes = std::mem::take(&mut server.sealed);
                if number == changed {
                    for _ in 0..=random.below(3) {
                        mutate(&mut bytes, &mut random);
                    }
                }
                if !receive(&mut client, &bytes, &mut random) {
                    refused += 1;
                    break;
                }
            }
            assert!(b"the right data".starts_with(&client.plaintext[..]), "{version:?} {round}");
            assert!(client.received.len() < 150_000);
            waiting += u32::from(!client.session.is_established());
        }
    }
    assert!(refused > 300 && waiting > 300, "{refused} {waiting}");
}

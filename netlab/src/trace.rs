//! Every packet that carries bytes of a TCP connection, or a UDP datagram, as a line of CSV: what the server let go, and
//! when.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    time::Duration,
};

use crate::link::Fate;

/// A file of packets. Times are seconds of CLOCK_MONOTONIC.
#[derive(Debug)]
pub(crate) struct Trace {
    file: BufWriter<File>,
}

impl Trace {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "entered,left,arrived,source,destination,sequence,length")?;
        Ok(Self { file })
    }

    /// Writes nothing for a packet that is not TCP or UDP over IPv4, or has no payload.
    pub(crate) fn note(&mut self, entered: Duration, packet: &[u8], fate: Fate) -> io::Result<()> {
        let Some(segment) = Segment::read(packet) else { return Ok(()) };
        let (left, arrived) = match fate {
            Fate::Drop => (None, None),
            Fate::Lose { leaves } => (Some(leaves), None),
            Fate::Deliver { leaves, arrives } => (Some(leaves), Some(arrives)),
        };
        let time = |time: Option<Duration>| time.map_or(String::new(), |time| format!("{:.6}", time.as_secs_f64()));
        let Segment { source, destination, sequence, length } = segment;
        let sequence = sequence.map_or(String::new(), |sequence| sequence.to_string());
        let (entered, left, arrived) = (time(Some(entered)), time(left), time(arrived));
        writeln!(self.file, "{entered},{left},{arrived},{source},{destination},{sequence},{length}")
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The fields of a TCP segment or a UDP datagram that a line of the trace shows.
#[derive(Debug, PartialEq, Eq)]
struct Segment {
    source: u16,
    destination: u16,
    /// None for UDP.
    sequence: Option<u32>,
    /// Bytes of the payload.
    length: usize,
}

impl Segment {
    fn read(packet: &[u8]) -> Option<Self> {
        // RFC 791 §3.1: version and length of the header in words; the protocol.
        let first = *packet.first()?;
        if first >> 4 != 4 {
            return None;
        }
        let payload = packet.get(usize::from(first & 0x0f) * 4..)?;
        let short = |place: usize| Some(u16::from_be_bytes(payload.get(place..place + 2)?.try_into().ok()?));
        let (header, sequence) = match *packet.get(9)? {
            // RFC 9293 §3.1: the data offset, in words.
            TCP => {
                let sequence = u32::from_be_bytes(payload.get(4..8)?.try_into().ok()?);
                (usize::from(*payload.get(12)? >> 4) * 4, Some(sequence))
            }
            // RFC 768: four fields of 16 bits.
            UDP => (8, None),
            _ => return None,
        };
        let length = payload.len().checked_sub(header).filter(|length| *length > 0)?;
        Some(Self { source: short(0)?, destination: short(2)?, sequence, length })
    }
}

/// Numbers of protocols (RFC 9293 §3.9.2, RFC 768).
const TCP: u8 = 6;
const UDP: u8 = 17;

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header of 20 bytes, a TCP header with 12 bytes of options, and `payload` bytes.
    fn packet(protocol: u8, payload: usize) -> Vec<u8> {
        let mut packet = vec![0; 52 + payload];
        packet[0] = 0x45;
        packet[9] = protocol;
        packet[20..24].copy_from_slice(&[0x20, 0xfb, 0xc0, 0x01]);
        packet[24..28].copy_from_slice(&[0, 1, 0, 2]);
        packet[32] = 0x80;
        packet
    }

    #[test]
    fn segments() {
        let expected = Segment { source: 8_443, destination: 49_153, sequence: Some(65_538), length: 3 };
        assert_eq!(Segment::read(&packet(6, 3)), Some(expected));
        assert_eq!(Segment::read(&packet(6, 0)), None, "an acknowledgement");
        assert_eq!(Segment::read(&packet(1, 3)), None, "ICMP");
        for length in 0..52 {
            assert_eq!(Segment::read(&packet(6, 3)[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn datagrams() {
        // 24 bytes are behind the header of UDP here.
        let expected = Segment { source: 8_443, destination: 49_153, sequence: None, length: 27 };
        assert_eq!(Segment::read(&packet(17, 3)), Some(expected));
        for length in 0..=28 {
            assert_eq!(Segment::read(&packet(17, 3)[..length]), None, "{length} bytes");
        }
    }
}

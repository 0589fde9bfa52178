//! Requests of the uwsgi protocol (<https://uwsgi-docs.readthedocs.io/en/latest/Protocol.html>): a packet of variables,
//! behind which the body follows as it is. The response ends with the connection; it begins with a status line or as a
//! CGI response ([`ResponseForm::CgiOrHttp`](crate::ResponseForm::CgiOrHttp)).

use alloc::vec::Vec;

use crate::{Variables, VariablesError};

/// Writes the variables of a request: modifiers 0 and 0, for which the application's plugin is the first (WSGI).
///
/// # Errors
///
/// When the variables have more than 65,535 bytes, which is all that a packet has room for: nothing was written.
pub fn write_uwsgi_request(variables: &Variables, output: &mut Vec<u8>) -> Result<(), VariablesError> {
    let length: usize = variables.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    let Ok(packet_length) = u16::try_from(length) else { return Err(VariablesError::PacketTooLong(length)) };
    let [low, high] = packet_length.to_le_bytes();
    output.extend_from_slice(&[MODIFIER_1, low, high, MODIFIER_2]);
    for part in variables.iter().flat_map(|(name, value)| [name, value]) {
        // Each is shorter than the packet.
        output.extend_from_slice(&(part.len() as u16).to_le_bytes());
        output.extend_from_slice(part);
    }
    Ok(())
}

const MODIFIER_1: u8 = 0;
const MODIFIER_2: u8 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_little_endian() {
        let mut variables = Variables::default();
        variables.push("A", alloc::vec![b'x'; 0x0102]).unwrap();
        variables.push("BC", "").unwrap();
        let mut output = Vec::new();
        write_uwsgi_request(&variables, &mut output).unwrap();
        assert!(output.starts_with(b"\0\x0d\x01\0\x01\0A\x02\x01xx"), "{}", output.escape_ascii());
        assert!(output.ends_with(b"x\x02\0BC\0\0"));
        assert_eq!(output.len(), 4 + 0x010d);
    }

    #[test]
    fn more_variables_than_a_packet_holds_are_refused() {
        // Two lengths and a name of one byte.
        for (length, expected) in [(65_530, Ok(())), (65_531, Err(VariablesError::PacketTooLong(65_536)))] {
            let mut variables = Variables::default();
            variables.push("A", alloc::vec![b'x'; length]).unwrap();
            let mut output = Vec::new();
            assert_eq!(write_uwsgi_request(&variables, &mut output), expected);
            assert_eq!(output.len(), if expected.is_ok() { 4 + 65_535 } else { 0 });
        }
    }
}

//! Requests of uwsgi.

use std::io::{self, BufRead};

use super::{Received, from_variables, http::skip, invalid};

/// A request.
pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Received> {
    let mut head = [0; 4];
    reader.read_exact(&mut head)?;
    let mut text = vec![0; usize::from(u16::from_le_bytes([head[1], head[2]]))];
    reader.read_exact(&mut text)?;
    let mut rest = text.as_slice();
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let name = part(&mut rest).ok_or_else(|| invalid("invalid variables"))?;
        let value = part(&mut rest).ok_or_else(|| invalid("invalid variables"))?;
        fields.push((name, value));
    }
    let body = fields.iter().find(|(name, _)| name == "CONTENT_LENGTH").and_then(|(_, value)| value.parse().ok());
    skip(reader, body.unwrap_or(0))?;
    Ok(from_variables("uwsgi", fields, body.unwrap_or(0)))
}

fn part(rest: &mut &[u8]) -> Option<String> {
    let (length, behind) = rest.split_at_checked(2)?;
    let (text, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes([length[0], length[1]])))?;
    *rest = behind;
    Some(String::from_utf8_lossy(text).into_owned())
}

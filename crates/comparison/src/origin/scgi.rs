//! Requests of SCGI.

use std::io::{self, BufRead, Read as _};

use super::{MAX_LENGTH, Received, from_variables, http::skip, invalid};

/// A request.
pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Received> {
    let mut digits = Vec::new();
    reader.take(10).read_until(b':', &mut digits)?;
    let digits = String::from_utf8_lossy(&digits);
    let length: usize = digits.trim_end_matches(':').parse().map_err(|_| invalid("no length"))?;
    if length > MAX_LENGTH {
        return Err(invalid("too many variables"));
    }
    // The comma behind the text.
    let mut text = vec![0; length + 1];
    reader.read_exact(&mut text)?;
    text.truncate(length);
    let mut parts = text.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    let mut fields = Vec::new();
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        fields.push((name, value));
    }
    let body = fields.iter().find(|(name, _)| name == "CONTENT_LENGTH").and_then(|(_, value)| value.parse().ok());
    skip(reader, body.unwrap_or(0))?;
    Ok(from_variables("scgi", fields, body.unwrap_or(0)))
}

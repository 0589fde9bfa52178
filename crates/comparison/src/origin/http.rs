//! Requests of HTTP/1.

use std::io::{self, BufRead, Read as _};

use super::{MAX_LENGTH, Received, invalid};

/// A request, and whether its connection stays open.
pub(super) fn read(reader: &mut impl BufRead) -> io::Result<(Received, bool)> {
    let line = line(reader)?;
    let mut parts = line.splitn(3, ' ');
    let (Some(method), Some(rest)) = (parts.next(), parts.next()) else { return Err(invalid("no request line")) };
    // nginx may send a target with blanks.
    let (target, version) = match parts.next() {
        Some(last) => {
            let whole = format!("{rest} {last}");
            let (target, version) = whole.rsplit_once(' ').unwrap_or((&whole, ""));
            (target.to_owned(), version.to_owned())
        }
        None => (rest.to_owned(), String::new()),
    };
    if !version.starts_with("HTTP/1.") {
        return Err(invalid("another version of HTTP"));
    }
    let mut received = Received { protocol: "http", method: method.to_owned(), target, ..Received::default() };
    let mut length = 0;
    loop {
        let line = self::line(reader)?;
        if line.is_empty() {
            break;
        }
        length += line.len();
        if length > MAX_LENGTH {
            return Err(invalid("the head is too long"));
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        received.fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let has =
        |name: &str, part: &str| received.field(name).is_some_and(|value| value.to_ascii_lowercase().contains(part));
    let is_kept = match version.as_str() {
        "HTTP/1.0" => has("connection", "keep-alive"),
        _ => !has("connection", "close"),
    };
    if has("transfer-encoding", "chunked") {
        received.body_length = chunks(reader)?;
    } else if let Some(length) = received.field("content-length").and_then(|length| length.parse::<usize>().ok()) {
        skip(reader, length)?;
        received.body_length = length;
    }
    Ok((received, is_kept))
}

fn chunks(reader: &mut impl BufRead) -> io::Result<usize> {
    let mut total = 0;
    loop {
        let line = line(reader)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).map_err(|_| invalid("no length of a chunk"))?;
        if length == 0 {
            while !self::line(reader)?.is_empty() {}
            return Ok(total);
        }
        skip(reader, length)?;
        self::line(reader)?;
        total += length;
    }
}

/// Reads and drops so many bytes.
pub(super) fn skip(reader: &mut impl BufRead, length: usize) -> io::Result<()> {
    if length > MAX_LENGTH {
        return Err(invalid("the body is too long"));
    }
    let read = io::copy(&mut reader.take(length as u64), &mut io::sink())?;
    if read == length as u64 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    reader.take(MAX_LENGTH as u64).read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_one_after_another() {
        let mut text: &[u8] = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /b c HTTP/1.0\r\n\r\n";
        let (first, is_kept) = read(&mut text).expect("it is valid");
        assert_eq!((first.method.as_str(), first.target.as_str(), first.body_length, is_kept), ("POST", "/a", 3, true));
        let (second, is_kept) = read(&mut text).expect("it is valid");
        assert_eq!((second.target.as_str(), is_kept), ("/b c", false));
    }

    #[test]
    fn chunks_are_counted() {
        let mut text: &[u8] =
            b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na;x\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(read(&mut text).expect("it is valid").0.body_length, 13);
    }
}

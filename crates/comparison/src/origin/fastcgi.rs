//! Requests of FastCGI.

use std::io::{self, BufRead};

use super::{MAX_LENGTH, Received, from_variables, invalid};

/// A request, whether its connection stays open, and its number.
pub(super) fn read(reader: &mut impl BufRead) -> io::Result<(Received, bool, u16)> {
    let (mut is_kept, mut id, mut parameters, mut body) = (false, 0, Vec::new(), 0);
    loop {
        let mut head = [0; 8];
        reader.read_exact(&mut head)?;
        let length = usize::from(u16::from_be_bytes([head[4], head[5]]));
        let mut content = vec![0; length + usize::from(head[6])];
        reader.read_exact(&mut content)?;
        content.truncate(length);
        match head[1] {
            BEGIN => {
                id = u16::from_be_bytes([head[2], head[3]]);
                is_kept = content.get(2).is_some_and(|flags| flags & 1 != 0);
            }
            PARAMETERS => parameters.extend_from_slice(&content),
            BODY if content.is_empty() => break,
            BODY => body += content.len(),
            _ => {}
        }
        if parameters.len() > MAX_LENGTH {
            return Err(invalid("too many parameters"));
        }
    }
    let fields = variables(&parameters).ok_or_else(|| invalid("invalid parameters"))?;
    Ok((from_variables("fastcgi", fields, body), is_kept, id))
}

fn variables(mut rest: &[u8]) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let name = length(&mut rest)?;
        let value = length(&mut rest)?;
        let (name_bytes, behind) = rest.split_at_checked(name)?;
        let (value_bytes, behind) = behind.split_at_checked(value)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        found.push((text(name_bytes), text(value_bytes)));
        rest = behind;
    }
    Some(found)
}

fn length(rest: &mut &[u8]) -> Option<usize> {
    match **rest {
        [first, ref behind @ ..] if first < 128 => {
            *rest = behind;
            Some(usize::from(first))
        }
        [a, b, c, d, ref behind @ ..] => {
            *rest = behind;
            Some(u32::from_be_bytes([a & 127, b, c, d]) as usize)
        }
        _ => None,
    }
}

/// A response in records.
pub(super) fn written(id: u16, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in content.chunks(32_000) {
        record(OUTPUT, id, part, &mut bytes);
    }
    record(OUTPUT, id, &[], &mut bytes);
    record(END, id, &[0; 8], &mut bytes);
    bytes
}

fn record(kind: u8, id: u16, content: &[u8], bytes: &mut Vec<u8>) {
    let [high, low] = id.to_be_bytes();
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX).to_be_bytes();
    bytes.extend_from_slice(&[1, kind, high, low, length[0], length[1], 0, 0]);
    bytes.extend_from_slice(content);
}

// FastCGI 1.0, section 8.
const BEGIN: u8 = 1;
const END: u8 = 3;
const PARAMETERS: u8 = 4;
const BODY: u8 = 5;
const OUTPUT: u8 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_variables() {
        let mut bytes = Vec::new();
        record(BEGIN, 7, &[0, 1, 1, 0, 0, 0, 0, 0], &mut bytes);
        record(PARAMETERS, 7, b"\x0e\x03REQUEST_METHODGET\x0b\x02REQUEST_URI/a", &mut bytes);
        record(PARAMETERS, 7, &[], &mut bytes);
        record(BODY, 7, b"xy", &mut bytes);
        record(BODY, 7, &[], &mut bytes);
        let (received, is_kept, id) = read(&mut bytes.as_slice()).expect("it is valid");
        assert_eq!((received.method.as_str(), received.target.as_str()), ("GET", "/a"));
        assert_eq!((received.body_length, is_kept, id), (2, true, 7));
    }
}

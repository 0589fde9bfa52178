//! The server name in a ClientHello, before the library sees it: pure.

use std::borrow::Cow;

use crate::certificate_table::VALIDATION_PROTOCOL;

/// The content of a client's first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FirstBytes {
    /// The beginning of a ClientHello.
    Incomplete,
    /// A whole ClientHello.
    Hello {
        /// In lower case.
        server_name: Option<String>,
        /// It only validates a name (RFC 8737 §3).
        validates: bool,
    },
    /// Something else, or a ClientHello that is too long: the library finds out what to answer.
    Unreadable,
}

/// Looks at what a client has sent so far.
pub(crate) fn read(received: &[u8]) -> FirstBytes {
    let message = match handshake_message(received) {
        Ok(Some(message)) => message,
        Ok(None) if received.len() < MAX_LENGTH => return FirstBytes::Incomplete,
        Ok(None) | Err(Malformed) => return FirstBytes::Unreadable,
    };
    names(&message).unwrap_or(FirstBytes::Unreadable)
}

/// Bytes that are not a ClientHello.
struct Malformed;

/// The body of the first handshake message, which may be in several records (RFC 8446 §5.1), once it is complete.
fn handshake_message(received: &[u8]) -> Result<Option<Cow<'_, [u8]>>, Malformed> {
    let mut rest = Reader(received);
    let mut message = Cow::Borrowed(&[][..]);
    while let Some(header) = rest.take(5) {
        let &[HANDSHAKE, 3, _, high, low] = header else { return Err(Malformed) };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length == 0 {
            return Err(Malformed);
        }
        let (fragment, is_whole) = match rest.take(length) {
            Some(fragment) => (fragment, true),
            None => (rest.0, false),
        };
        if message.is_empty() {
            message = Cow::Borrowed(fragment);
        } else {
            message.to_mut().extend_from_slice(fragment);
        }
        if let Some((&[kind, first, second, third], body)) = message.split_first_chunk() {
            let length = usize::from(first) << 16 | usize::from(second) << 8 | usize::from(third);
            if kind != CLIENT_HELLO || length > MAX_LENGTH {
                return Err(Malformed);
            }
            // The end of a record that is not whole has not been authenticated by its length: it waits for the rest.
            if is_whole && body.len() >= length {
                return Ok(Some(match message {
                    Cow::Borrowed(message) => Cow::Borrowed(&message[4..4 + length]),
                    Cow::Owned(message) => Cow::Owned(message[4..4 + length].to_vec()),
                }));
            }
        }
        if !is_whole {
            return Ok(None);
        }
    }
    // Fewer bytes than a header must be the beginning of one.
    match rest.0.first() {
        Some(&kind) if kind != HANDSHAKE => Err(Malformed),
        _ => Ok(None),
    }
}

/// The names in the body of a ClientHello (RFC 8446 §4.1.2).
fn names(body: &[u8]) -> Option<FirstBytes> {
    let mut body = Reader(body);
    // The version and the random bytes.
    body.take(2 + 32)?;
    body.vector(1)?; // legacy_session_id
    body.vector(2)?; // cipher_suites
    body.vector(1)?; // legacy_compression_methods
    let mut extensions = if body.0.is_empty() { Reader(&[]) } else { Reader(body.vector(2)?) };
    let (mut server_name, mut validates) = (None, false);
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let content = extensions.vector(2)?;
        match kind {
            SERVER_NAME => server_name = Some(host_name(content)?),
            ALPN => validates = only_validates(content)?,
            _ => {}
        }
    }
    Some(FirstBytes::Hello { server_name, validates })
}

/// The host name of a server_name extension (RFC 6066 §3).
fn host_name(content: &[u8]) -> Option<String> {
    let mut list = Reader(Reader(content).vector(2)?);
    let kind = list.number(1)?;
    let name = list.vector(2)?;
    (kind == 0 && !name.is_empty() && name.is_ascii()).then(|| String::from_utf8_lossy(name).to_ascii_lowercase())
}

/// Whether the ALPN extension offers nothing but the validation of a name.
fn only_validates(content: &[u8]) -> Option<bool> {
    let mut list = Reader(Reader(content).vector(2)?);
    let mut validates = !list.0.is_empty();
    while !list.0.is_empty() {
        validates &= list.vector(1)? == VALIDATION_PROTOCOL;
    }
    Some(validates)
}

/// The bytes that are not read yet.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of so many bytes, 2 at most.
    fn number(&mut self, bytes: usize) -> Option<usize> {
        Some(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// A vector behind its length, of so many bytes (RFC 8446 §3.4).
    fn vector(&mut self, bytes: usize) -> Option<&'b [u8]> {
        let length = self.number(bytes)?;
        self.take(length)
    }
}

/// RFC 8446 §5.1, §4, §4.2.
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: usize = 0;
const ALPN: usize = 16;

/// The bytes that are looked at: browsers send 2 KiB, with ML-KEM and encrypted ClientHello. More would be an attack on
/// the time to look at them again with each packet.
const MAX_LENGTH: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{ClientConfig, RootCertStore, client::UnbufferedClientConnection, unbuffered::ConnectionState};

    use super::*;

    /// A ClientHello of rustls, as one record.
    fn hello(name: &str, protocols: &[&str]) -> Vec<u8> {
        let provider = Arc::new(crate::provider::provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let name = name.to_owned().try_into().unwrap();
        let mut connection = UnbufferedClientConnection::new(Arc::new(config), name).unwrap();
        let mut sent = vec![0; 4096];
        let Ok(ConnectionState::EncodeTlsData(mut data)) = connection.process_tls_records(&mut []).state else {
            panic!("no ClientHello")
        };
        let length = data.encode(&mut sent).unwrap();
        sent.truncate(length);
        sent
    }

    /// The same message in records of so many bytes.
    fn fragmented(record: &[u8], size: usize) -> Vec<u8> {
        let records = record[5..].chunks(size).map(|fragment| {
            let length = u16::try_from(fragment.len()).unwrap().to_be_bytes();
            [&[22, 3, 1], &length[..], fragment].concat()
        });
        records.collect::<Vec<_>>().concat()
    }

    fn of(name: Option<&str>, validates: bool) -> FirstBytes {
        FirstBytes::Hello { server_name: name.map(str::to_owned), validates }
    }

    #[test]
    fn names_are_read_however_the_bytes_are_split() {
        for (name, protocols, expected) in [
            ("Shop.Example.com", &["h2", "http/1.1"][..], of(Some("shop.example.com"), false)),
            ("shop.example.com", &["acme-tls/1"], of(Some("shop.example.com"), true)),
            ("shop.example.com", &["acme-tls/1", "h2"], of(Some("shop.example.com"), false)),
            ("192.0.2.1", &[], of(None, false)),
        ] {
            let hello = hello(name, protocols);
            for sent in [hello.clone(), fragmented(&hello, 9), fragmented(&hello, 100)] {
                for end in 0..sent.len() {
                    assert_eq!(read(&sent[..end]), FirstBytes::Incomplete, "{end} bytes");
                }
                assert_eq!(read(&sent), expected);
                assert_eq!(read(&[&sent[..], b"more"].concat()), expected);
            }
        }
    }

    #[test]
    fn other_bytes_are_left_to_the_library() {
        let hello = hello("example.com", &[]);
        let mut of_server = hello.clone();
        of_server[5] = 2;
        let mut shortened = hello.clone();
        // The extensions are longer than the message.
        let length = shortened.len();
        shortened[6..9].copy_from_slice(&[0, 0, 60]);
        let too_long = [&[22, 3, 1, 64, 0, 1, 0, 64, 1][..], &vec![0; MAX_LENGTH]].concat();
        for sent in [&b"GET / HTTP/1.1\r\n"[..], &[21], &[22, 3, 1, 0, 0], &of_server, &shortened[..length], &too_long]
        {
            assert_eq!(read(sent), FirstBytes::Unreadable);
        }
    }

    #[test]
    fn no_damaged_byte_does_harm() {
        let hello = hello("example.com", &["h2"]);
        for position in 0..hello.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = hello.clone();
                damaged[position] = byte;
                for sent in [&damaged[..], &damaged[..position]] {
                    let _ = read(sent);
                }
            }
        }
    }
}

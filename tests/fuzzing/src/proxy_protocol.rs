//! A PROXY header says the same however much of the connection has come: nothing before it is whole, and then always the
//! same.

use serow_message::proxy_protocol::{MAX_HEADER_LENGTH, parse};

/// The target.
pub fn target(bytes: &[u8]) {
    let verdict = parse(bytes);
    match &verdict {
        Ok(Some((_, length))) => {
            assert!((1..=MAX_HEADER_LENGTH).contains(length) && *length <= bytes.len());
            for end in 0..*length {
                assert_eq!(parse(&bytes[..end]), Ok(None), "{end} of {length} bytes");
            }
            assert_eq!(parse(&bytes[..*length]), verdict);
        }
        Ok(None) => {
            assert!(bytes.len() < MAX_HEADER_LENGTH, "more is wanted than a header can have");
            for end in 0..bytes.len() {
                assert_eq!(parse(&bytes[..end]), Ok(None), "{end} bytes");
            }
        }
        // Input that is wrong is so from some byte on, whatever follows.
        Err(_) => {
            let first = (0..=bytes.len()).find(|&end| parse(&bytes[..end]).is_err());
            let first = first.expect("the whole is wrong");
            for end in 0..=bytes.len() {
                let part = parse(&bytes[..end]);
                assert_eq!(part.is_err(), end >= first, "{end} bytes, wrong from {first}: {part:?}");
                assert!(part.is_err() || part == Ok(None));
            }
        }
    }
}

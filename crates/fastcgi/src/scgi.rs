//! Requests of SCGI (Simple Common Gateway Interface, <https://python.ca/scgi/protocol.txt>): a netstring of variables,
//! behind which the body follows as it is. The response is a [CGI response](crate::CgiResponse) that ends with the
//! connection.

use alloc::vec::Vec;

use serow_message::content::{decimal, write_decimal};

use crate::Variables;

/// Writes the variables of a request whose body has `content_length` bytes. `CONTENT_LENGTH` and `SCGI` come first,
/// whatever the list says of them.
pub fn write_scgi_request(variables: &Variables, content_length: u64, output: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let own: [(&[u8], &[u8]); 2] = [(CONTENT_LENGTH, decimal(content_length, &mut digits)), (SCGI, b"1")];
    let others = variables.iter().filter(|(name, _)| *name != CONTENT_LENGTH && *name != SCGI);
    let pairs = own.into_iter().chain(others);
    let length: usize = pairs.clone().map(|(name, value)| name.len() + value.len() + 2).sum();
    write_decimal(length as u64, output);
    output.push(b':');
    for part in pairs.flat_map(|(name, value)| [name, value]) {
        output.extend_from_slice(part);
        output.push(0);
    }
    output.push(b',');
}

const CONTENT_LENGTH: &[u8] = b"CONTENT_LENGTH";
const SCGI: &[u8] = b"SCGI";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification_is_written() {
        let mut variables = Variables::default();
        for (name, value) in [("REQUEST_METHOD", "POST"), ("CONTENT_LENGTH", "9"), ("REQUEST_URI", "/deepthought")] {
            variables.push(name, value).unwrap();
        }
        let mut output = Vec::new();
        write_scgi_request(&variables, 27, &mut output);
        let expected = b"70:CONTENT_LENGTH\x0027\0SCGI\x001\0REQUEST_METHOD\0POST\0REQUEST_URI\0/deepthought\0,";
        assert_eq!(output.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    #[test]
    fn a_request_without_a_body_has_a_length() {
        let mut output = Vec::new();
        write_scgi_request(&Variables::default(), 0, &mut output);
        assert_eq!(output, b"24:CONTENT_LENGTH\x000\0SCGI\x001\0,");
    }

    use alloc::string::ToString;
}

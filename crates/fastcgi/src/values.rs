//! The web server asks for variables of the application, between exchanges (FastCGI 1.0 §4.1).

use alloc::vec::Vec;

use bytes::BytesMut;

use crate::{
    ProtocolError, Variables,
    pairs::{parse_pairs, write_pair},
    record::{MANAGEMENT, RecordType, write_record},
    record_reader::{RecordReader, Shape},
};

/// Writes the question for these variables, such as `FCGI_MAX_CONNS`.
pub fn write_values_request(names: &[&str], output: &mut Vec<u8>) {
    let mut content = Vec::new();
    names.iter().for_each(|name| write_pair(name.as_bytes(), &[], &mut content));
    write_record(RecordType::GetValues, MANAGEMENT, &content, output);
}

/// Takes the application's variables from the front of the input; `None` needs more. Those that it does not know are not
/// among them.
///
/// # Errors
///
/// When the application sends something else; nothing is taken then.
pub fn receive_values(input: &mut BytesMut) -> Result<Option<Variables>, ProtocolError> {
    let received = RecordReader::default().receive(input, |header| {
        if header.record_type != RecordType::GetValuesResult as u8 {
            return Err(ProtocolError::UnexpectedRecord(header.record_type));
        }
        if header.request_id != MANAGEMENT {
            return Err(ProtocolError::OtherRequest(header.request_id));
        }
        Ok(Shape::Whole)
    })?;
    received.map(|(_, content)| parse_pairs(&content)).transpose()
}

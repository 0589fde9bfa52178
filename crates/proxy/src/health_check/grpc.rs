//! A check by `grpc.health.v1.Health`: the messages have one field each, so they are encoded and decoded by hand.

use std::rc::Rc;

use bytes::{BufMut, Bytes, BytesMut};
use serow_client::Buffers;
use serow_http2::ClientEvent;
use serow_message::{Headers, KnownHeader, Method, RequestHead, Scheme, StatusCode, Target, Version};
use serow_net::Wire;

use super::{
    error::CheckError,
    http::{AGENT, CheckExchange},
};

/// Asks for the health of a service; an empty name stands for the whole server.
pub(super) async fn ask(
    wire: Wire,
    buffers: Rc<Buffers>,
    service: &str,
    authority: &str,
    scheme: Scheme,
) -> Result<(), CheckError> {
    let mut exchange = CheckExchange::begin(wire, buffers, &head(authority)?, &question(service), scheme)?;
    let mut body = BytesMut::new();
    loop {
        match exchange.receive().await? {
            ClientEvent::Response(response) if response.is_informational() => {}
            ClientEvent::Response(response) => {
                if response.head.status != StatusCode::OK {
                    return Err(CheckError::Status(response.head.status, vec![200..=200]));
                }
                judge_code(&response.head.headers)?;
                if !response.has_body {
                    return judge(&body);
                }
            }
            ClientEvent::Data { data, .. } if body.len() + data.len() <= MAX_RESPONSE => body.extend_from_slice(&data),
            ClientEvent::Data { .. } => return Err(CheckError::Grpc("the response is too long".to_owned())),
            ClientEvent::End { trailers, .. } => {
                judge_code(&trailers.unwrap_or_default())?;
                return judge(&body);
            }
            ClientEvent::Reset { code, .. } => return Err(CheckError::Reset(code)),
            ClientEvent::GoAway { .. } => {}
        }
    }
}

fn head(authority: &str) -> Result<RequestHead, CheckError> {
    let unsendable = |_| CheckError::Unsendable;
    let target = Bytes::from_static(b"/grpc.health.v1.Health/Check");
    let target = Target::parse(target, false).map_err(|_| CheckError::Unsendable)?;
    let mut headers = Headers::new();
    headers.insert(KnownHeader::Host, authority).map_err(unsendable)?;
    headers.insert(KnownHeader::ContentType, "application/grpc").map_err(unsendable)?;
    headers.insert(KnownHeader::Te, "trailers").map_err(unsendable)?;
    headers.insert(KnownHeader::UserAgent, AGENT).map_err(unsendable)?;
    Ok(RequestHead { method: Method::POST, target, version: Version::HTTP_11, headers })
}

/// `HealthCheckRequest { string service = 1; }` behind gRPC's prefix of five bytes: not compressed, so long.
fn question(service: &str) -> Bytes {
    let mut message = BytesMut::new();
    if !service.is_empty() {
        message.put_u8(0x0a);
        put_varint(&mut message, service.len());
        message.put_slice(service.as_bytes());
    }
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(&message);
    framed.freeze()
}

/// The gRPC status; 0 is good. Without one, the message decides.
fn judge_code(headers: &Headers) -> Result<(), CheckError> {
    match headers.get_str("grpc-status") {
        None | Some("0") => Ok(()),
        Some("5") => Err(CheckError::Grpc("the server does not know the service (grpc-status 5)".to_owned())),
        Some("12") => {
            Err(CheckError::Grpc("the server does not implement grpc.health.v1.Health (grpc-status 12)".to_owned()))
        }
        Some(code) => Err(CheckError::Grpc(format!("grpc-status {code}"))),
    }
}

/// `HealthCheckResponse { ServingStatus status = 1; }`
fn judge(body: &[u8]) -> Result<(), CheckError> {
    let Some(status) = status(body) else {
        return Err(CheckError::Grpc("the response is not one of grpc.health.v1".to_owned()));
    };
    let name = match status {
        1 => return Ok(()),
        0 => "UNKNOWN",
        2 => "NOT_SERVING",
        3 => "SERVICE_UNKNOWN",
        _ => return Err(CheckError::Grpc(format!("health {status} instead of SERVING"))),
    };
    Err(CheckError::Grpc(format!("health {name} instead of SERVING")))
}

/// The number in the response; `None` if the message is invalid. Unknown fields are skipped.
fn status(body: &[u8]) -> Option<u64> {
    let (prefix, mut message) = body.split_first_chunk::<5>()?;
    let [0, length @ ..] = *prefix else { return None };
    if message.len() != u32::from_be_bytes(length) as usize {
        return None;
    }
    let mut status = 0;
    while !message.is_empty() {
        let tag = take_varint(&mut message)?;
        match (tag >> 3, tag & 7) {
            (1, 0) => status = take_varint(&mut message)?,
            (_, 0) => drop(take_varint(&mut message)?),
            (_, 1) => message = message.get(8..)?,
            (_, 2) => {
                let length = usize::try_from(take_varint(&mut message)?).ok()?;
                message = message.get(length..)?;
            }
            (_, 5) => message = message.get(4..)?,
            _ => return None,
        }
    }
    Some(status)
}

fn put_varint(output: &mut BytesMut, mut value: usize) {
    while value >= 0x80 {
        output.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    output.put_u8(value as u8);
}

fn take_varint(input: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = input.split_first()?;
        *input = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Bytes of an answer; one of this service has seven.
const MAX_RESPONSE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_encoded() {
        assert_eq!(&question("")[..], b"\0\0\0\0\0");
        assert_eq!(&question("app.Api")[..], b"\0\0\0\0\x09\x0a\x07app.Api");
        let long = question(&"a".repeat(300));
        assert_eq!(&long[..8], b"\0\0\0\x01\x2f\x0a\xac\x02");
        assert_eq!(long.len(), 5 + 1 + 2 + 300);
    }

    #[test]
    fn responses_are_decoded() {
        let cases: [(&[u8], Option<u64>); 12] = [
            (b"\0\0\0\0\x02\x08\x01", Some(1)),
            (b"\0\0\0\0\x02\x08\x02", Some(2)),
            // The default is 0.
            (b"\0\0\0\0\0", Some(0)),
            (b"\0\0\0\0\x03\x08\x81\x01", Some(129)),
            (b"\0\0\0\0\x07\x12\x03abc\x08\x01", Some(1)),
            (b"\0\0\0\0\x07\x15abcd\x08\x01", Some(1)),
            (b"", None),
            (b"\x01\0\0\0\x02\x08\x01", None),
            (b"\0\0\0\0\x03\x08\x01", None),
            (b"\0\0\0\0\x01\x08", None),
            (b"\0\0\0\0\x03\x12\x05a", None),
            (b"\0\0\0\0\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", None),
        ];
        for (body, expected) in cases {
            assert_eq!(status(body), expected, "{}", body.escape_ascii());
        }
        assert!(judge(b"\0\0\0\0\x02\x08\x01").is_ok());
        let failure = judge(b"\0\0\0\0\x02\x08\x02").unwrap_err();
        assert_eq!(failure.to_string(), "health NOT_SERVING instead of SERVING");
    }
}

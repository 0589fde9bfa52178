use alloc::string::ToString;

use super::*;

const BEGIN: &[u8] = b"\x01\x01\0\x05\0\x08\0\0\0\x01\x01\0\0\0\0\0";
/// The pair A=1, split between two records, and the end of the stream.
const PARAMS: &[u8] = b"\x01\x04\0\x05\0\x01\0\0\x01\x01\x04\0\x05\0\x03\x01\0\x01A1?\x01\x04\0\x05\0\0\0\0";
const STDIN: &[u8] = b"\x01\x05\0\x05\0\x02\x01\0ab?";
const STDIN_END: &[u8] = b"\x01\x05\0\x05\0\0\0\0";

#[test]
fn responses_are_sent_in_turn() {
    let (mut application, mut output) = (Application::new(100), Vec::new());
    assert_eq!(application.send_stdout(b"a", &mut output), Err(UsageError::OutOfTurn));
    let mut input = BytesMut::from(&[BEGIN, PARAMS].concat()[..]);
    application.receive(&mut input).unwrap();
    application.send_stderr(b"oops", &mut output).unwrap();
    application.send_stdout(b"", &mut output).unwrap();
    application.send_stdout(b"12345678", &mut output).unwrap();
    application.send_end(3, ProtocolStatus::RequestComplete, &mut output).unwrap();
    let expected = b"\x01\x07\0\x05\0\x04\x04\0oops\0\0\0\0\x01\x06\0\x05\0\x08\0\x0012345678\
        \x01\x03\0\x05\0\x08\0\0\0\0\0\x03\0\0\0\0";
    assert_eq!(output.escape_ascii().to_string(), expected.escape_ascii().to_string());
    assert_eq!(application.send_end(0, ProtocolStatus::RequestComplete, &mut output), Err(UsageError::OutOfTurn));
    // The rest of the body is ignored, and the next request is received.
    let mut input = BytesMut::from(&[STDIN, STDIN_END, BEGIN, PARAMS].concat()[..]);
    assert!(matches!(application.receive(&mut input), Ok(Some(RequestEvent::Head(_)))));
}

#[test]
fn values_are_asked_for_and_received() {
    let mut question = Vec::new();
    crate::write_values_request(&["FCGI_MPXS_CONNS", "FCGI_MAX_CONNS"], &mut question);
    let Ok(Some(RequestEvent::GetValues(asked))) = Application::new(0).receive(&mut BytesMut::from(&question[..]))
    else {
        panic!("no question")
    };
    assert!(asked.iter().eq([(&b"FCGI_MPXS_CONNS"[..], &b""[..]), (b"FCGI_MAX_CONNS", b"")]));
    let (mut values, mut answer) = (Variables::default(), Vec::new());
    values.push("FCGI_MPXS_CONNS", "0").unwrap();
    Application::send_values(&values, &mut answer);
    let mut input = BytesMut::new();
    for (place, byte) in answer.iter().enumerate() {
        input.extend_from_slice(&[*byte]);
        let expected = (place + 1 == answer.len()).then(|| values.clone());
        assert_eq!(crate::receive_values(&mut input), Ok(expected), "{place}");
    }
    // An application that does not know the question.
    let mut answer = Vec::new();
    Application::send_unknown_type(9, &mut answer);
    let mut input = BytesMut::from(&answer[..]);
    assert_eq!(crate::receive_values(&mut input), Err(ProtocolError::UnexpectedRecord(11)));
}

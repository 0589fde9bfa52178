//! One role reads what the other has written, wherever the bytes are split.

use bytes::BytesMut;
use proptest::{collection::vec, prelude::*};
use serow_fastcgi::{
    Application, CgiEvent, CgiResponse, Persistence, ProtocolStatus, RequestEvent, ResponseForm, Role, SectionLimits,
    Variables, WebServer,
};
use serow_message::Method;

use crate::readers::{RequestReader, ResponseReader, split_at};

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::Responder), Just(Role::Authorizer), Just(Role::Filter)]
}

fn variables() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    let value = prop_oneof![vec(1..=255u8, 0..40), vec(1..=255u8, 100..300), vec(Just(b'x'), 20_000..40_000)];
    vec(("[A-Z_]{1,12}", value), 0..8)
}

fn places(length: usize, parts: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = parts.iter().map(|part| (part * length as f64) as usize).collect();
    places.sort_unstable();
    places
}

/// Writes a stream in pieces.
fn write_stream(server: &mut WebServer, pieces: &[Vec<u8>], output: &mut Vec<u8>) {
    for mut piece in pieces.iter().map(Vec::as_slice) {
        while !piece.is_empty() {
            let length = server.begin_piece(piece.len(), output).unwrap();
            output.extend_from_slice(&piece[..length]);
            piece = &piece[length..];
        }
    }
    server.end_stream(output).unwrap();
}

fn data_line(stream: &str, pieces: &[Vec<u8>]) -> Option<String> {
    let data = pieces.concat();
    (!data.is_empty()).then(|| format!("{stream} {}", data.escape_ascii()))
}

proptest! {
    #[test]
    fn requests_are_read_as_they_were_written(
        role in role(),
        is_kept in any::<bool>(),
        pairs in variables(),
        body in vec(vec(any::<u8>(), 0..50), 0..4),
        file in vec(vec(any::<u8>(), 0..50), 0..4),
        parts in vec(0.0..1.0f64, 0..8),
    ) {
        let persistence = if is_kept { Persistence::Keep } else { Persistence::Close };
        let mut list = Variables::default();
        let mut expected = vec![format!("{role:?} {persistence:?}")];
        for (name, value) in &pairs {
            list.push(name, value).unwrap();
            expected.push(format!("{name}={}", value.escape_ascii()));
        }
        let mut output = Vec::new();
        let mut server = WebServer::begin_request(role, persistence, &list, &mut output).unwrap();
        if role != Role::Authorizer {
            write_stream(&mut server, &body, &mut output);
            expected.extend(data_line("stdin", &body));
            expected.push("StdinEnd".into());
        }
        if role == Role::Filter {
            write_stream(&mut server, &file, &mut output);
            expected.extend(data_line("data", &file));
            expected.push("DataEnd".into());
        }
        expected.push("end".into());
        prop_assert!(server.has_sent_all());
        let reader = RequestReader::new(1 << 20);
        prop_assert_eq!(split_at(reader, &output, places(output.len(), &parts)), expected);
    }

    #[test]
    fn responses_are_read_as_they_were_written(
        pieces in vec((any::<bool>(), prop_oneof![vec(any::<u8>(), 0..50), vec(Just(b'x'), 60_000..140_000)]), 0..5),
        status in any::<u32>(),
        parts in vec(0.0..1.0f64, 0..8),
    ) {
        let (mut request, variables) = (Vec::new(), Variables::default());
        WebServer::begin_request(Role::Authorizer, Persistence::Keep, &variables, &mut request).unwrap();
        let mut application = Application::new(0);
        let head = application.receive(&mut BytesMut::from(&request[..])).unwrap();
        prop_assert!(matches!(head, Some(RequestEvent::Head(_))));
        let (mut output, mut expected) = (Vec::new(), Vec::<(&str, Vec<u8>)>::new());
        for (is_error, piece) in pieces {
            let stream = if is_error { "stderr" } else { "stdout" };
            match is_error {
                true => application.send_stderr(&piece, &mut output).unwrap(),
                false => application.send_stdout(&piece, &mut output).unwrap(),
            }
            match expected.last_mut() {
                _ if piece.is_empty() => {}
                Some((last, data)) if *last == stream => data.extend_from_slice(&piece),
                _ => expected.push((stream, piece)),
            }
        }
        application.send_end(status, ProtocolStatus::RequestComplete, &mut output).unwrap();
        let mut lines: Vec<String> =
            expected.iter().map(|(stream, data)| format!("{stream} {}", data.escape_ascii())).collect();
        lines.push(format!("end {status}"));
        let reader = ResponseReader::new(None);
        prop_assert_eq!(split_at(reader, &output, places(output.len(), &parts)), lines);
    }

    #[test]
    fn fields_of_scripts_are_read_as_they_were_written(
        fields in vec(("x-[a-zA-Z0-9!#$%&'*+.^_`|~-]{0,12}", "([!-~]([ -~]{0,20}[!-~])?)?", "\r?\n"), 0..10),
        body in vec(any::<u8>(), 0..40),
        parts in vec(0.0..1.0f64, 0..8),
    ) {
        let mut output = Vec::new();
        for (name, value, line_end) in &fields {
            output.extend_from_slice(format!("{name}: {value}{line_end}").as_bytes());
        }
        output.extend_from_slice(b"\n");
        output.extend_from_slice(&body);
        let limits = SectionLimits { bytes: 1 << 16, fields: 10 };
        let mut response = CgiResponse::new(limits, ResponseForm::CgiOrHttp, &Method::GET);
        let (mut head, mut data, mut start) = (None, Vec::new(), 0);
        for end in places(output.len(), &parts).into_iter().chain([output.len()]) {
            let mut piece = bytes::Bytes::copy_from_slice(&output[start..end]);
            start = end;
            while let Some(event) = response.receive(&mut piece).unwrap() {
                match event {
                    CgiEvent::Head(received) => head = Some(received),
                    CgiEvent::Data(bytes) => data.extend_from_slice(&bytes),
                    CgiEvent::Excess => prop_assert!(false, "there is no length"),
                }
            }
        }
        response.handle_end().unwrap();
        let head = head.unwrap();
        prop_assert!(head.headers.iter().eq(fields.iter().map(|(name, value, _)| (name.as_bytes(), value.as_bytes()))));
        // As HTTP/1.1 sends them.
        let (mut written, mut expected) = (Vec::new(), String::new());
        head.headers.write_lines(&mut written, &[]);
        fields.iter().for_each(|(name, value, _)| expected += &format!("{name}: {value}\r\n"));
        prop_assert_eq!(written, expected.into_bytes());
        prop_assert_eq!(data, body);
    }
}

//! The results of methods that only a server of HTTP/2 has.

use serow_http2::BodyLength;
use serow_message::StatusCode;
use serow_streams::Follows;

use crate::{
    machine::{
        script::Reading as _,
        turns::{headers, received},
    },
    protocol::Reader,
};

#[test]
fn responses_announce_an_alternative_service_unless_they_say_something_else() {
    for (own, value) in [(&[][..], "h3=\":1\""), (&[("alt-svc", "clear")], "clear")] {
        let (mut server, request) = received("GET", &[]);
        let mut reader = Reader::default();
        reader.drain(&mut server);
        server.set_alternative_service(Some(b"h3=\":1\""[..].into()));
        server.send_head(request.stream, StatusCode::OK, headers(own), BodyLength::Known(0)).expect("its turn");
        let mut output = Vec::new();
        server.write_head(request.stream, b"", &mut output).expect("its turn");
        let lines = reader.read(request.stream, &output, Follows::Fin);
        let services: Vec<&str> = lines[0].split(" | ").filter(|field| field.starts_with("alt-svc: ")).collect();
        assert_eq!(services, [format!("alt-svc: {}", value.escape_default())]);
    }
}

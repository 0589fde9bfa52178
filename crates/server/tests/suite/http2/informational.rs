//! Informational responses of a handler: 103 Early Hints (RFC 8297), on several streams at once.

use crate::informational::{LINKS, hinting_server};

#[test]
fn hints_of_each_stream_leave_while_its_handler_works() {
    let (server, go) = hinting_server();
    let mut client = server.connect_http2();
    let streams = [client.ask("/"), client.ask("/")];
    for stream in streams {
        for link in LINKS {
            let hint = client.informational(stream);
            assert_eq!((hint.status, hint.field("link")), (103, Some(link)));
        }
    }
    go.send(true).unwrap();
    for stream in streams {
        assert_eq!(client.answer(stream).text(), "page");
    }
}

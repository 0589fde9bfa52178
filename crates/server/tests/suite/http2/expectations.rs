//! `Expect: 100-continue` on a stream, whose connection serves the others whatever becomes of it.

use crate::expectations::{expecting, server};

#[test]
fn a_client_that_does_not_wait_is_not_held_up() {
    let server = server();
    let mut client = server.connect_http2();
    let stream = client.open("POST", "/late", &expecting("100-continue"));
    client.send(stream, "abc");
    client.finish(stream, None);
    assert_eq!(client.answer(stream).text(), "abc");
}

#[test]
fn an_answer_without_reading_leaves_the_connection_as_it_is() {
    let server = server();
    let mut client = server.connect_http2();
    for _ in 0..3 {
        let stream = client.open("POST", "/refused", &expecting("100-continue"));
        assert_eq!(client.head(stream), 403);
        assert!(!client.has_informational(stream));
        assert_eq!(client.answer(stream).status, 403);
    }
    let stream = client.open("POST", "/read", &expecting("100-continue"));
    assert_eq!(client.informational(stream).status, 100);
    client.send(stream, "abc");
    client.finish(stream, None);
    assert_eq!(client.answer(stream).text(), "abc");
}

//! A panic costs no stream but the one it happened on.

use serow_http2::ErrorCode;

use crate::{
    panics::{PANICS, lines_about, server},
    support::eventually,
};

#[test]
fn other_streams_of_the_connection_go_on() {
    let server = server();
    let mut client = server.connect_http2();
    let address = client.socket.local_address();
    for (number, target) in PANICS.into_iter().enumerate() {
        let before = client.ask("/slow");
        let stream = client.ask(target);
        let behind = client.ask("/");
        assert_eq!(client.is_reset(stream), ErrorCode::INTERNAL_ERROR, "{target}");
        assert_eq!(client.answer(before).text(), "slow");
        assert_eq!(client.answer(behind).text(), "fine");
        eventually("the panic is logged", || lines_about(address) > number);
        assert_eq!(lines_about(address), number + 1);
    }
}

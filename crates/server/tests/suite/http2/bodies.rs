//! Bodies of responses that lie in memory, on streams beside each other.

use crate::bodies::{LENGTHS, server};

#[test]
fn many_at_once_arrive_whole() {
    let (server, expected) = server();
    let mut client = server.connect_http2();
    // As many as are allowed, small and large ones mixed.
    let streams: Vec<_> = (0..128)
        .map(|number| LENGTHS[number % (LENGTHS.len() - 1)])
        .map(|length| (client.ask(&format!("/{length}")), length))
        .collect();
    for (stream, length) in streams {
        assert!(client.answer(stream).body == expected[..length], "{length}");
    }
}

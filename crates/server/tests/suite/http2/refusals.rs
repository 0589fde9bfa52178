//! Requests that are refused at the cost of their stream alone.

use serow_http2::BodyLength;

use crate::{
    refusals::server,
    support::{Opening, bytes_of},
};

#[test]
fn a_client_in_the_middle_of_a_large_body_gets_its_answer() {
    let server = server();
    let mut client = server.connect_http2();
    for length in [BodyLength::Known(30_000_000), BodyLength::Unknown] {
        let stream = client.open("POST", "/", &Opening { length: Some(length), ..Opening::default() });
        for _ in 0..300 {
            client.send(stream, bytes_of(100_000));
        }
        assert_eq!(client.answer(stream).status, 413, "{length:?}");
        // And the connection is as good as before.
        let stream = client.post("/", vec![b'a'; 1000], true);
        assert_eq!(client.answer(stream).text(), "1000");
    }
}

//! Bodies in pieces, and attempts that take them.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex},
    task::Waker,
};

use http_body::Frame;

use super::*;

/// The frames that have arrived so far.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<VecDeque<Option<Frame<Bytes>>>>>);

impl Received {
    fn push(&self, piece: &[u8]) {
        self.0.lock().unwrap().push_back(Some(Frame::data(Bytes::copy_from_slice(piece))));
    }

    fn end(&self, trailers: Option<Headers>) {
        self.0.lock().unwrap().push_back(trailers.map(|trailers| Frame::trailers(trailers.into())));
    }

    fn body(&self) -> RequestBody {
        RequestBody::new(Body::stream(self.clone()), TrailerRule::default())
    }
}

impl http_body::Body for Received {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.0.lock().unwrap().pop_front() {
            Some(frame) => Poll::Ready(frame.map(Ok)),
            None => Poll::Pending,
        }
    }
}

/// A body that has these pieces, and its end.
fn body(pieces: &[&[u8]], trailers: Option<Headers>) -> RequestBody {
    let received = Received::default();
    pieces.iter().for_each(|piece| received.push(piece));
    received.end(trailers);
    received.body()
}

/// All data until the end, and the number of trailers.
fn rest(body: &mut RequestBody) -> (Vec<u8>, Option<usize>) {
    let mut data = Vec::new();
    loop {
        match body.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(Piece::Data(piece))) => data.extend_from_slice(&piece),
            Poll::Ready(Ok(Piece::End(trailers))) => {
                return (data, Some(trailers.map_or(0, |trailers| trailers.len())));
            }
            Poll::Ready(Err(error)) => panic!("{error}"),
            Poll::Pending => return (data, None),
        }
    }
}

/// The same, for an attempt that begins.
fn attempt(body: &mut RequestBody) -> (Vec<u8>, Option<usize>) {
    body.rewind();
    rest(body)
}

#[test]
fn every_attempt_gets_all_of_a_short_body() {
    let mut trailers = Headers::new();
    trailers.append("x-sum", "1").unwrap();
    let cases: [(&[&[u8]], &[u8]); 4] =
        [(&[], b""), (&[b"abc"], b"abc"), (&[b"a", b"b"], b"ab"), (&[b"a", b"", b"bc", b"d"], b"abcd")];
    for (pieces, expected) in cases {
        for trailers in [None, Some(trailers.clone())] {
            let count = trailers.as_ref().map_or(0, Headers::len);
            let mut body = body(pieces, trailers);
            for _ in 0..3 {
                assert!(body.is_whole());
                assert_eq!(attempt(&mut body), (expected.to_vec(), Some(count)));
            }
        }
    }
}

#[test]
fn a_second_attempt_continues_after_the_kept_part() {
    let received = Received::default();
    let mut body = received.body();
    received.push(b"ab");
    received.push(b"cd");
    assert_eq!(attempt(&mut body), (b"abcd".to_vec(), None));
    received.push(b"ef");
    received.end(None);
    assert_eq!(attempt(&mut body), (b"abcdef".to_vec(), Some(0)));
}

#[test]
fn a_body_of_64_kib_is_kept_and_a_longer_one_is_not() {
    for (size, is_whole) in [(MAX_KEPT, true), (MAX_KEPT + 1, false)] {
        for pieces in [1, 7, 100] {
            let content = vec![7; size];
            let pieces: Vec<&[u8]> = content.chunks(size.div_ceil(pieces)).collect();
            let mut body = body(&pieces, None);
            assert!(attempt(&mut body) == (content.clone(), Some(0)));
            assert_eq!(body.is_whole(), is_whole, "{size}");
        }
    }
}

#[test]
fn nothing_is_kept_once_a_server_has_answered() {
    let received = Received::default();
    let mut body = received.body();
    received.push(b"ab");
    attempt(&mut body);
    body.release();
    received.push(b"cd");
    assert_eq!(rest(&mut body), (b"cd".to_vec(), None));
    assert!(!body.is_whole() && matches!(body.taken, Taken::Gone));
}

#[test]
fn an_early_response_does_not_drop_the_kept_part() {
    let mut body = body(&[b"ab", b"cd"], None);
    attempt(&mut body);
    body.rewind();
    body.release();
    assert!(!body.is_whole());
    assert_eq!(rest(&mut body), (b"abcd".to_vec(), Some(0)));
}

#[test]
fn the_length_of_a_body_is_that_of_all_of_it() {
    let mut body = RequestBody::new(Body::from("abc"), TrailerRule::default());
    assert_eq!((body.length(), body.as_bytes().map(Bytes::len)), (Some(3), Some(3)));
    assert_eq!(attempt(&mut body), (b"abc".to_vec(), Some(0)));
    assert_eq!((body.length(), body.as_bytes()), (Some(3), None));
}

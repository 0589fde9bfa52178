//! A body that is compressed while its source delivers, waits and fails.

use std::{
    collections::VecDeque,
    io::Read,
    sync::{Arc, Mutex},
    task::Waker,
};

use super::*;
use crate::{Coding, Levels, Permits};
use http_body::Body as _;

/// An event of a source: each poll takes one.
enum Event {
    Piece(Vec<u8>),
    Trailers,
    Wait,
    Fail,
}

type Events = Arc<Mutex<VecDeque<Event>>>;

/// A source that does this, one after the other; it waits where there is nothing.
struct Script {
    events: Events,
    ends: bool,
}

impl http_body::Body for Script {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.events.lock().unwrap().pop_front() {
            Some(Event::Piece(piece)) => Poll::Ready(Some(Ok(Frame::data(piece.into())))),
            Some(Event::Trailers) => {
                let trailers = [("x-sum".parse().unwrap(), "1".parse().unwrap())].into_iter().collect();
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
            Some(Event::Wait) => Poll::Pending,
            Some(Event::Fail) => Poll::Ready(Some(Err("failed".into()))),
            None if self.ends => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

fn body(coding: Coding, events: &Events, ends: bool, is_live: bool) -> CompressedBody {
    let source = Body::stream(Script { events: Arc::clone(events), ends });
    let settings = EncoderSettings::new(coding, &Levels::default(), 18);
    CompressedBody::new(source, settings, is_live, Permits::new(1).take().unwrap())
}

fn poll(body: &mut CompressedBody) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
    Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()))
}

/// All data until the body waits or ends; and whether it has ended.
fn data(body: &mut CompressedBody) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    loop {
        match poll(body) {
            Poll::Ready(Some(frame)) => all.extend(frame.unwrap().into_data().ok().as_deref().unwrap_or_default()),
            Poll::Ready(None) => return (all, true),
            Poll::Pending => return (all, false),
        }
    }
}

/// The bytes that a client decodes of a body that may not have ended.
fn decoded(coding: Coding, body: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    let mut reader: Box<dyn Read + '_> = match coding {
        Coding::Brotli => Box::new(brotli::Decompressor::new(body, 4096)),
        Coding::Zstd => Box::new(zstd::stream::read::Decoder::new(body).unwrap()),
        Coding::Gzip => Box::new(flate2::read::GzDecoder::new(body)),
    };
    let mut piece = vec![0; 1 << 16];
    while let Ok(length @ 1..) = reader.read(&mut piece) {
        output.extend_from_slice(&piece[..length]);
    }
    output
}

fn text(length: usize) -> Vec<u8> {
    let mut number = 1_u32;
    let bytes = std::iter::repeat_with(|| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b"0123456789abcdef"[(number >> 28) as usize]
    });
    bytes.take(length).collect()
}

fn events(list: impl IntoIterator<Item = Event>) -> Events {
    Arc::new(Mutex::new(list.into_iter().collect()))
}

#[test]
fn whatever_the_pieces_the_whole_comes_back() {
    for coding in Coding::ALL {
        for size in [1, 100, 16_384, 70_000, 1_000_000] {
            let whole = text(300_000.min(size * 1000));
            let mut pieces: Vec<_> = whole.chunks(size).map(|piece| Event::Piece(piece.to_vec())).collect();
            pieces.insert(pieces.len() / 2, Event::Wait);
            let events = events(pieces);
            let mut body = body(coding, &events, true, false);
            let (mut all, mut has_ended) = data(&mut body);
            while !has_ended {
                let (more, ended) = data(&mut body);
                all.extend(more);
                has_ended = ended;
            }
            assert_eq!(decoded(coding, &all), whole, "{coding:?} {size}");
            assert!(body.is_end_stream());
        }
    }
}

#[test]
fn a_source_that_waits_has_all_its_bytes_sent() {
    for coding in Coding::ALL {
        let events = events([]);
        let mut body = body(coding, &events, false, false);
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for number in 0..5 {
            let piece = text(number * 3000 + 1);
            sent.extend_from_slice(&piece);
            events.lock().unwrap().push_back(Event::Piece(piece));
            let (more, has_ended) = data(&mut body);
            assert!(!has_ended);
            received.extend(more);
            assert_eq!(decoded(coding, &received), sent, "{coding:?} {number}");
        }
    }
}

/// One flush for all that was ready, and each event of a live stream at once.
#[test]
fn only_live_streams_are_flushed_while_there_is_more() {
    for (is_live, expected) in [(false, 1), (true, 50)] {
        let pieces = (0..50).map(|number| Event::Piece(format!("data: {number}\n\n").into_bytes()));
        let events = events(pieces);
        let mut body = body(Coding::Gzip, &events, false, is_live);
        let mut frames = 0;
        while let Poll::Ready(Some(Ok(frame))) = poll(&mut body) {
            frames += usize::from(frame.data_ref().is_some_and(|data| !data.is_empty()));
        }
        assert_eq!(frames, expected, "{is_live}");
    }
}

/// Encoders are taken when there is something to compress: each keeps some hundred kilobytes.
#[test]
fn pieces_without_a_pause_are_gathered_first() {
    for (pieces, has_encoder) in
        [(vec![20_000], false), (vec![40_000, 40_000], true), (vec![1; 63], false), (vec![1; 64], true)]
    {
        let events = events(pieces.iter().map(|&length| Event::Piece(text(length))));
        let mut body = body(Coding::Gzip, &events, false, false);
        let Poll::Ready(Some(Ok(first))) = poll(&mut body) else { panic!("others get their turn") };
        let BodyStage::Open(open) = &body.stage else { panic!("it has ended") };
        assert_eq!(open.encoder.is_some(), has_encoder, "{pieces:?}");
        let whole: Vec<_> = pieces.iter().flat_map(|&length| text(length)).collect();
        let all = [first.into_data().unwrap().to_vec(), data(&mut body).0].concat();
        assert!(decoded(Coding::Gzip, &all) == whole, "{pieces:?}");
    }
}

#[test]
fn a_source_that_fails_leaves_a_broken_body() {
    for coding in Coding::ALL {
        let events = events([Event::Piece(text(10_000)), Event::Fail]);
        let mut body = body(coding, &events, true, false);
        let (mut failed, mut all) = (false, Vec::new());
        while let Poll::Ready(Some(frame)) = poll(&mut body) {
            match frame {
                Ok(frame) => all.extend(frame.into_data().unwrap_or_default()),
                Err(error) => failed = error.to_string() == "failed",
            }
        }
        assert!(failed && !body.is_end_stream(), "{coding:?}");
        assert_ne!(decoded(coding, &all), text(10_000));
    }
}

#[test]
fn trailers_follow_the_last_byte() {
    let events = events([Event::Piece(text(1000)), Event::Trailers]);
    let mut body = body(Coding::Gzip, &events, true, false);
    let mut frames = Vec::new();
    while let Poll::Ready(Some(frame)) = poll(&mut body) {
        frames.push(frame.unwrap());
    }
    let last = frames.pop().unwrap();
    assert_eq!(
        last.trailers_ref().and_then(|trailers| trailers.get("x-sum")).map(|sum| sum.as_bytes()),
        Some(&b"1"[..])
    );
    assert!(frames.iter().all(Frame::is_data));
}

/// Between two empty pieces, for which the server lets others have their turn, only so much is compressed.
#[test]
fn others_get_their_turn_while_a_long_body_is_compressed() {
    let events = events([Event::Piece(text(1_000_000))]);
    let mut body = body(Coding::Gzip, &events, true, false);
    let turns = std::iter::from_fn(|| match poll(&mut body) {
        Poll::Ready(Some(frame)) => Some(frame.unwrap().into_data().unwrap()),
        _ => None,
    });
    let turns = turns.filter(Bytes::is_empty).count();
    assert!(turns >= 1_000_000 / MAX_TURN, "{turns}");
}

//! Bodies that are sent at a rate, by a clock that the tests set.

use std::{
    collections::VecDeque,
    fs::{self, File},
    future::poll_fn,
    sync::Arc,
    time::Duration,
};

use http_body::Body as _;
use serow_message::FileVersion;

use super::*;

const PER_SECOND: u64 = 100_000;

fn rated(body: Body, after: u64) -> RatedBody {
    RatedBody::new(body, Rate { per_second: PER_SECOND.try_into().unwrap(), after })
}

/// The frames of a body: its bytes, the length of the longest piece, the value of its trailer, and its error.
#[derive(Debug, Default, PartialEq, Eq)]
struct Yielded {
    bytes: Vec<u8>,
    longest: usize,
    trailer: Option<String>,
    error: Option<String>,
}

async fn all_of(mut body: RatedBody) -> (Yielded, Duration) {
    let (start, mut yielded) = (Instant::now(), Yielded::default());
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => {
                yielded.longest = yielded.longest.max(data.len());
                yielded.bytes.extend_from_slice(&data);
            }
            Ok(Err(frame)) => {
                let trailers = frame.into_trailers().unwrap();
                yielded.trailer = Some(trailers["x-sum"].to_str().unwrap().to_owned());
            }
            Err(error) => {
                yielded.error = Some(error.to_string());
                break;
            }
        }
    }
    (yielded, start.elapsed())
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place % 251) as u8).collect()
}

/// A stream of these frames.
struct Frames(VecDeque<Result<Frame<Bytes>, BoxError>>);

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(self.0.pop_front())
    }
}

fn data(length: usize) -> Result<Frame<Bytes>, BoxError> {
    Ok(Frame::data(content(length).into()))
}

#[tokio::test(start_paused = true)]
async fn bytes_in_memory_and_in_files_take_the_time_of_their_rate_and_come_in_small_pieces() {
    let path = std::env::temp_dir().join(format!("serow-rated-{}", std::process::id()));
    fs::write(&path, content(200_000)).unwrap();
    let file = Arc::new(File::open(&path).unwrap());
    let version = Some(FileVersion::of(&file.metadata().unwrap()));
    let range = |version| FileRange { file: Arc::clone(&file), offset: 0, length: 200_000, version };
    for body in [Body::from(content(200_000)), Body::file(range(version))] {
        let kind = format!("{body:?}");
        let body = rated(body, 0);
        assert_eq!(body.size_hint().exact(), Some(200_000), "{kind}");
        let (yielded, took) = all_of(body).await;
        assert!(yielded.bytes == content(200_000), "{kind}");
        assert!((1_950..=2_050).contains(&took.as_millis()), "{kind}: {took:?}");
        // 25 ms of the rate; the timers of tokio have a resolution of a millisecond.
        assert!(yielded.longest <= 2_700, "{kind}: {}", yielded.longest);
    }
    // A file that becomes another one is never sent as a mixture.
    let mut body = rated(Body::file(range(version)), 0);
    let first = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
    assert!(matches!(first, Some(Ok(_))));
    fs::write(&path, content(200_000)).unwrap();
    let (yielded, _) = all_of(body).await;
    assert!(yielded.error.is_some_and(|error| error.contains("changed")) && yielded.bytes.len() < 200_000);
    fs::remove_file(&path).unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_first_bytes_are_not_limited() {
    let (yielded, took) = all_of(rated(content(250_000).into(), 200_000)).await;
    assert!(yielded.bytes == content(250_000));
    assert!((450..=520).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn streams_keep_their_frames_and_their_errors() {
    let trailers = || [("x-sum".parse().unwrap(), "1".parse().unwrap())].into_iter().collect();
    let frames = [data(20_000), data(0), data(5_000), Ok(Frame::trailers(trailers()))];
    let (yielded, took) = all_of(rated(Body::stream(Frames(frames.into())), 0)).await;
    assert_eq!((yielded.bytes.len(), yielded.trailer.as_deref(), yielded.error), (25_000, Some("1"), None));
    assert!((200..=260).contains(&took.as_millis()), "{took:?}");

    let frames = [data(10), Err("failed".into())];
    let (yielded, _) = all_of(rated(Body::stream(Frames(frames.into())), 0)).await;
    assert_eq!((yielded.bytes.len(), yielded.error.as_deref()), (10, Some("failed")));
}

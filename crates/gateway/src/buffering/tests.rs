//! Bodies of all sizes, around the limit of what is kept in memory.

use std::{
    io::ErrorKind,
    pin::Pin,
    task::{Context, Poll},
};

use http_body::Frame;
use serow_message::{BodyKind, IncomingError};

use super::*;

/// A body of pieces, that may fail or have trailers behind them.
struct Pieces {
    pieces: std::vec::IntoIter<Bytes>,
    end: Option<Result<Headers, IncomingError>>,
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = IncomingError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, IncomingError>>> {
        let piece = self.pieces.next().map(|piece| Ok(Frame::data(piece)));
        let end = |end: Result<Headers, IncomingError>| end.map(|trailers| Frame::trailers(trailers.into()));
        Poll::Ready(piece.or_else(|| self.end.take().map(end)))
    }
}

fn body(content: &[u8], piece: usize, end: Option<Result<Headers, IncomingError>>) -> Body {
    let pieces: Vec<_> = content.chunks(piece).map(Bytes::copy_from_slice).collect();
    Body::stream(Pieces { pieces: pieces.into_iter(), end })
}

fn run<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task)
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place * 7 % 251) as u8).collect()
}

#[test]
fn bodies_can_be_read_again_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let memory = 64 * 1024;
    let settings = BufferSettings { memory, folder: folder.path().to_owned(), ..BufferSettings::default() };
    // The length, the pieces it comes in, and whether it is put into a file.
    let cases = [
        (0, 1, false),
        (1, 1, false),
        (memory - 1, 1000, false),
        (memory, 1000, false),
        (memory, 1 << 20, false),
        (memory + 1, 1000, true),
        (memory + 1, 1 << 20, true),
        (2 * memory, memory, true),
        (3 * memory + 7, 10_007, true),
        (1 << 20, 1 << 20, true),
    ];
    for (length, piece, in_file) in cases {
        let content = content(length);
        let whole = run(BufferedBody::read(body(&content, piece, None), &settings)).unwrap();
        for _ in 0..2 {
            let body = whole.body();
            assert_eq!(body.length(), Some(length as u64), "{length} {piece}");
            assert_eq!(matches!(body.kind(), BodyKind::File(_)), in_file, "{length} {piece}");
            assert!(run(body.collect(usize::MAX)).unwrap() == content, "{length} {piece}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn trailers_come_behind() {
    let folder = tempfile::tempdir().unwrap();
    let settings = BufferSettings { memory: 0, folder: folder.path().to_owned(), ..BufferSettings::default() };
    let mut trailers = Headers::new();
    trailers.append("x-sum", "7").unwrap();
    for length in [0, 10, MIN_WRITE + 1] {
        let content = content(length);
        let whole = run(BufferedBody::read(body(&content, 100, Some(Ok(trailers.clone()))), &settings)).unwrap();
        for _ in 0..2 {
            let mut body = whole.body();
            assert_eq!(body.length(), None);
            let (mut data, mut behind) = (Vec::new(), None);
            while let Some(frame) = run(poll_fn(|context| body.poll_next(context))) {
                match frame.unwrap().into_data() {
                    Ok(piece) => data.extend_from_slice(&piece),
                    Err(frame) => behind = frame.trailers_ref().map(|trailers| Headers::try_from(trailers).unwrap()),
                }
            }
            assert!(data == content && behind.as_ref() == Some(&trailers), "{length}");
        }
    }
}

#[test]
fn failures() {
    let settings = BufferSettings { memory: 0, folder: "/nonexistent".into(), ..BufferSettings::default() };
    let long = content(MIN_WRITE + 1);
    let failure = run(BufferedBody::read(body(&long, 100, None), &settings)).unwrap_err();
    assert!(matches!(&failure, BufferError::Storage(error) if error.kind() == ErrorKind::NotFound));
    assert_eq!(failure.status(), StatusCode::INSUFFICIENT_STORAGE);

    let failure =
        run(BufferedBody::read(body(&long, 100, Some(Err(IncomingError::Disconnected))), &settings)).unwrap_err();
    assert!(matches!(&failure, BufferError::Storage(_)));
    let broken = run(BufferedBody::read(body(b"a", 1, Some(Err(IncomingError::Disconnected))), &settings)).unwrap_err();
    assert!(matches!(&broken, BufferError::Client(_)));
    assert_eq!(broken.status(), StatusCode::BAD_REQUEST);
}

#[test]
fn a_full_disk_is_noticed() {
    // A device that rejects every write.
    let mut store = Store {
        settings: &BufferSettings { memory: 0, folder: "/nonexistent".into(), ..BufferSettings::default() },
        gathered: content(10),
        file: Some(File::options().write(true).open("/dev/full").unwrap()),
        written: 0,
        share: None,
    };
    let error = run(store.write()).unwrap_err();
    assert!(matches!(&error, BufferError::Storage(error) if error.kind() == ErrorKind::StorageFull));
}

#[test]
fn bodies_that_would_take_more_space_together_than_is_allowed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let spool = SpoolSpace::new(300_000);
    let settings = BufferSettings { memory: 64 * 1024, folder: folder.path().to_owned(), spool: spool.clone() };
    let take = |length: usize| run(BufferedBody::read(body(&content(length), 10_000, None), &settings));
    let first = take(200_000).unwrap();
    assert_eq!(spool.used(), 200_000);
    let refused = take(200_000).unwrap_err();
    assert!(matches!(refused, BufferError::SpoolFull { limit: 300_000 }));
    assert_eq!((refused.status(), spool.used()), (StatusCode::SERVICE_UNAVAILABLE, 200_000));
    // Bodies in memory take no spool space, and a body whose client disconnects frees its share.
    take(64 * 1024).unwrap();
    run(BufferedBody::read(body(&content(90_000), 10_000, Some(Err(IncomingError::Disconnected))), &settings))
        .unwrap_err();
    assert_eq!(spool.used(), 200_000);
    drop(first);
    assert_eq!(spool.used(), 0);
    let BufferedContent::File(file) = take(200_000).unwrap().into_content() else {
        panic!("it is too long for memory")
    };
    assert_eq!((file.length(), spool.used()), (200_000, 200_000));
    drop(file);
    assert_eq!(spool.used(), 0);
}

//! Responses whose clients do not keep up.

use std::task::{Context, Poll, Waker};

use serow_message::{Incoming, IncomingError, Wanted};
use tokio::task::{LocalSet, spawn_local, yield_now};

use super::*;

fn settings(space: u64) -> BufferSettings {
    BufferSettings { spool: SpoolSpace::new(space), ..BufferSettings::default() }
}

fn begin(settings: &BufferSettings) -> (BufferedSender, Body) {
    let (sender, incoming) = Incoming::channel(None);
    (BufferedSender::new(sender, Some(Arc::new(settings.clone()))), incoming.into())
}

/// Bytes that differ from place to place.
fn content(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place * 7 % 251) as u8).collect()
}

fn push(sender: &mut BufferedSender, piece: &[u8]) {
    sender.push(Bytes::copy_from_slice(piece), &Context::from_waker(Waker::noop()));
}

/// The server sends pieces of this length, as long as the client is there.
async fn send(sender: &mut BufferedSender, content: &[u8], piece: usize) -> usize {
    let mut sent = 0;
    for piece in content.chunks(piece) {
        if poll_fn(|context| sender.poll_wanted(context)).await == Wanted::Nothing {
            break;
        }
        push(sender, piece);
        sent += piece.len();
    }
    sent
}

/// The server sends until it would have to wait for the client, whatever time files take.
async fn send_without_client(sender: &mut BufferedSender, piece: usize) -> usize {
    let mut sent = 0;
    let mut idle = 0;
    while idle < 1000 {
        let wanted = poll_fn(|context| Poll::Ready(sender.poll_wanted(context))).await;
        if wanted.is_pending() {
            idle += 1;
            yield_now().await;
            continue;
        }
        push(sender, &vec![0; piece]);
        sent += piece;
    }
    sent
}

/// Reads a body as the client does; returns the data, and the trailers or the error.
async fn read(mut body: Body) -> (Vec<u8>, Result<Option<Headers>, String>) {
    let mut data = Vec::new();
    while let Some(frame) = poll_fn(|context| body.poll_next(context)).await {
        match frame.map(http_body::Frame::into_data) {
            Ok(Ok(piece)) => data.extend_from_slice(&piece),
            Ok(Err(frame)) => return (data, Ok(frame.trailers_ref().map(|trailers| trailers.try_into().unwrap()))),
            Err(error) => return (data, Err(error.to_string())),
        }
    }
    (data, Ok(None))
}

/// On a thread with local tasks, as a worker has them.
fn run<T>(task: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    LocalSet::new().block_on(&runtime, task)
}

#[test]
fn a_response_is_taken_whole_before_its_client_reads_and_arrives_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let settings = BufferSettings { folder: folder.path().to_owned(), ..settings(100 << 20) };
    let mut trailers = Headers::new();
    trailers.append("x-sum", "7").unwrap();
    // The length of the response and of its pieces, and whether it needs a file.
    let cases = [
        (0, 1, false),
        (5_000, 1, false),
        (64 * 1024 - 1, 1000, false),
        (64 * 1024 + 1, 64 * 1024, true),
        (3_000_001, 7_001, true),
        (8_000_000, 64 * 1024, true),
        (2_000_000, 300_000, true),
    ];
    for (length, piece, in_file) in cases {
        for trailers in [None, Some(trailers.clone())] {
            let content = content(length);
            run(async {
                let (mut sender, body) = begin(&settings);
                sender.begin_buffering();
                assert_eq!(send(&mut sender, &content, piece).await, length);
                sender.finish(trailers.clone());
                assert_eq!(settings.spool.used() > 0, in_file, "{length} {piece}");
                sender.deliver_rest();
                let (received, end) = read(body).await;
                assert!(received == content && end == Ok(trailers), "{length} {piece}: {}", received.len());
            });
            assert_eq!(settings.spool.used(), 0, "{length} {piece}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_response_that_fails_has_its_pieces_first_and_fails_for_the_client() {
    for (length, in_file) in [(0, false), (1_000, false), (1_000_000, true)] {
        let (content, settings) = (content(length), settings(100 << 20));
        run(async {
            let (mut sender, body) = begin(&settings);
            sender.begin_buffering();
            send(&mut sender, &content, 50_000).await;
            assert_eq!(settings.spool.used() > 0, in_file);
            sender.fail(IncomingError::ResponseCutOff);
            sender.deliver_rest();
            let (received, end) = read(body).await;
            assert!(received == content, "{length}: {}", received.len());
            assert_eq!(end, Err(IncomingError::ResponseCutOff.to_string()));
        });
    }
}

#[test]
fn servers_wait_for_clients_where_nothing_can_be_written_and_nothing_is_lost() {
    let missing = BufferSettings { folder: "/nonexistent".into(), ..settings(100 << 20) };
    for settings in [settings(0), settings(200_000), missing] {
        let bound =
            settings.memory + 60_000 + if settings.folder.exists() { settings.spool.limit() as usize } else { 0 };
        run(async {
            let (mut sender, _body) = begin(&settings);
            sender.begin_buffering();
            let sent = send_without_client(&mut sender, 60_000).await;
            assert!(sent >= 60_000 && sent <= bound, "{sent} of {bound}");
        });
        let content = content(3_000_000);
        run(async {
            let (mut sender, body) = begin(&settings);
            let sent = content.clone();
            let sending = spawn_local(async move {
                sender.begin_buffering();
                assert_eq!(send(&mut sender, &sent, 60_000).await, sent.len());
                poll_fn(|context| sender.poll_wanted(context)).await;
                sender.finish(None);
                sender.deliver_rest();
            });
            let (received, end) = read(body).await;
            sending.await.unwrap();
            assert!(received == content && end == Ok(None), "{}", received.len());
        });
        assert_eq!(settings.spool.used(), 0);
    }
}

#[test]
fn a_client_that_leaves_frees_the_file_and_ends_the_response() {
    for delivers in [false, true] {
        let settings = settings(100 << 20);
        run(async {
            let (mut sender, body) = begin(&settings);
            sender.begin_buffering();
            send(&mut sender, &content(1_000_000), 50_000).await;
            assert!(settings.spool.used() > 0);
            if delivers {
                sender.finish(None);
                sender.deliver_rest();
                yield_now().await;
                drop(body);
                // The task ends, or this would.
                while settings.spool.used() > 0 {
                    yield_now().await;
                }
            } else {
                drop(body);
                assert_eq!(poll_fn(|context| sender.poll_wanted(context)).await, Wanted::Nothing);
                drop(sender);
            }
        });
        assert_eq!(settings.spool.used(), 0);
    }
}

#[test]
fn a_client_that_has_caught_up_gets_the_rest_directly() {
    let settings = settings(100 << 20);
    run(async {
        let (mut sender, mut body) = begin(&settings);
        body.accept_pipes();
        for _ in 0..3 {
            assert!(sender.may_buffer() && sender.takes_pipes());
            sender.begin_buffering();
            assert!(!sender.may_buffer() && !sender.takes_pipes());
            let content = content(300_000);
            send(&mut sender, &content, 50_000).await;
            let length = content.len();
            let reading = spawn_local(async move {
                let mut received = Vec::new();
                while received.len() < length {
                    received.extend_from_slice(&body.chunk().await.unwrap().unwrap());
                }
                // It asks for more.
                let asked = poll_fn(|context| Poll::Ready(body.poll_next(context).is_pending())).await;
                assert!(asked);
                (received, body)
            });
            while !sender.may_buffer() {
                let _ = poll_fn(|context| Poll::Ready(sender.poll_wanted(context))).await;
                yield_now().await;
            }
            let received;
            (received, body) = reading.await.unwrap();
            assert!(received == content && settings.spool.used() == 0);
            push(&mut sender, b"more");
            assert_eq!(body.chunk().await.unwrap().unwrap(), "more");
        }
    });
}

#[test]
fn short_responses_and_those_of_servers_that_refuse_are_not_buffered() {
    let cases: [(Option<u64>, &[&str], bool); 9] = [
        (Some(0), &[], false),
        (Some(128 << 10), &[], false),
        (Some((128 << 10) + 1), &[], true),
        (None, &[], true),
        (None, &["yes"], true),
        (None, &["no"], false),
        (Some(u64::MAX), &["NO"], false),
        (None, &["yes", "no"], false),
        (None, &["nothing"], true),
    ];
    for (length, values, expected) in cases {
        let mut headers = Headers::new();
        values.iter().for_each(|value| headers.append("X-Accel-Buffering", value).unwrap());
        for (buffering, expected) in [(ResponseBuffering::default(), expected), (ResponseBuffering::OFF, false)] {
            let (sender, _incoming) = Incoming::channel(length);
            let mut sender = BufferedSender::new(sender, buffering.settings_for(length, &headers));
            assert_eq!(sender.may_buffer(), expected, "{length:?} {values:?} {buffering:?}");
            sender.begin_buffering();
            assert!(!sender.may_buffer());
        }
    }
}

//! Contents that are read while they arrive.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    task::Wake,
};

use super::*;

/// Counts how often it was woken.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn next(reader: &mut GrowingReader) -> Poll<Option<Result<Bytes, ContentCut>>> {
    reader.poll_next(&mut Context::from_waker(Waker::noop()))
}

fn piece(text: &'static str) -> Poll<Option<Result<Bytes, ContentCut>>> {
    Poll::Ready(Some(Ok(Bytes::from_static(text.as_bytes()))))
}

#[test]
fn readers_get_all_pieces_whenever_they_come() {
    let (content, mut writer) = GrowingContent::new(100, Some(4), &FillMemory::new(100));
    let mut first = content.reader().unwrap();
    let waiting = Arc::new(Counter::default());
    assert!(first.poll_next(&mut Context::from_waker(&Arc::clone(&waiting).into())).is_pending());
    writer.push(b"ab");
    assert_eq!(waiting.0.load(Ordering::Relaxed), 1);
    assert_eq!(next(&mut first), piece("ab"));
    writer.push(b"cd");
    let mut second = content.reader().unwrap();
    assert_eq!((next(&mut second), next(&mut second)), (piece("ab"), piece("cd")));
    assert!(next(&mut second).is_pending());
    assert_eq!(writer.complete().as_deref(), Some(&b"abcd"[..]));
    assert_eq!((next(&mut first), next(&mut first)), (piece("cd"), Poll::Ready(None)));
    assert_eq!((next(&mut second), second.length()), (Poll::Ready(None), Some(4)));
    assert_eq!(next(&mut content.reader().unwrap()), piece("ab"));
}

#[test]
fn a_content_that_is_cut_off_ends_with_an_error() {
    let (content, mut writer) = GrowingContent::new(100, None, &FillMemory::new(100));
    let mut reader = content.reader().unwrap();
    writer.push(b"ab");
    drop(writer);
    assert_eq!((next(&mut reader), next(&mut reader)), (piece("ab"), Poll::Ready(Some(Err(ContentCut)))));
    assert!(content.reader().is_none());
}

#[test]
fn the_writer_of_a_long_content_waits_for_the_slowest_reader() {
    let (content, mut writer) = GrowingContent::new(3, None, &FillMemory::new(100));
    let (mut fast, mut slow) = (content.reader().unwrap(), content.reader().unwrap());
    let has_room = |writer: &mut GrowingWriter| writer.poll_room(&mut Context::from_waker(Waker::noop())).is_ready();
    writer.push(b"ab");
    assert!(has_room(&mut writer) && !writer.is_over_limit());
    writer.push(b"cd");
    assert!(!has_room(&mut writer) && writer.is_over_limit() && content.reader().is_none());
    assert_eq!((next(&mut fast), next(&mut fast)), (piece("ab"), piece("cd")));
    assert!(!has_room(&mut writer));
    assert_eq!(next(&mut slow), piece("ab"));
    assert!(has_room(&mut writer));
    writer.push(b"ef");
    assert!(!has_room(&mut writer));
    drop(slow);
    assert!(has_room(&mut writer));
    assert_eq!(next(&mut fast), piece("ef"));
    assert_eq!(writer.complete(), None);
    assert_eq!(next(&mut fast), Poll::Ready(None));
}

#[test]
fn a_content_is_wanted_while_there_are_readers() {
    let (content, writer) = GrowingContent::new(3, None, &FillMemory::new(100));
    assert!(!writer.is_wanted());
    let readers = [content.reader(), content.reader()];
    assert!(writer.is_wanted());
    drop(readers);
    assert!(!writer.is_wanted());
}

#[test]
fn contents_do_not_take_more_memory_than_there_is() {
    let memory = FillMemory::new(5);
    let ((first, mut writer), (second, mut other)) =
        (GrowingContent::new(100, None, &memory), GrowingContent::new(100, None, &memory));
    let readers = [first.reader(), second.reader()];
    writer.push(b"abc");
    assert!(!writer.is_over_limit());
    other.push(b"def");
    assert!(other.is_over_limit() && second.reader().is_none());
    assert_eq!(other.complete(), None);
    drop((readers, second));
    // Its memory is there for others.
    writer.push(b"gh");
    assert_eq!(writer.complete().as_deref(), Some(&b"abcgh"[..]));
    drop(first);
    assert_eq!(memory.used(), 0);
}

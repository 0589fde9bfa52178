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
    reader.poll_next(&mut Context::from_waker(Waker::noop()), u64::MAX).map_ok(|piece| match piece {
        GrowingPiece::Bytes(bytes) => bytes,
        GrowingPiece::File { .. } => panic!("in a file"),
    })
}

/// Where a piece in the file begins, and its length.
fn next_of_file(reader: &mut GrowingReader, most: u64) -> (u64, u64) {
    match reader.poll_next(&mut Context::from_waker(Waker::noop()), most) {
        Poll::Ready(Some(Ok(GrowingPiece::File { offset, length, .. }))) => (offset, length),
        other => panic!("not in the file: {other:?}"),
    }
}

fn piece(text: &'static str) -> Poll<Option<Result<Bytes, ContentCut>>> {
    Poll::Ready(Some(Ok(Bytes::from_static(text.as_bytes()))))
}

#[test]
fn readers_get_all_pieces_whenever_they_come() {
    let (content, mut writer) = GrowingContent::new(100, Some(4), &FillMemory::new(100));
    let mut first = content.reader(0).unwrap();
    let waiting = Arc::new(Counter::default());
    assert!(first.poll_next(&mut Context::from_waker(&Arc::clone(&waiting).into()), 9).is_pending());
    writer.push(b"ab");
    assert_eq!(waiting.0.load(Ordering::Relaxed), 1);
    assert_eq!(next(&mut first), piece("ab"));
    writer.push(b"cd");
    let mut second = content.reader(0).unwrap();
    assert_eq!((next(&mut second), next(&mut second)), (piece("ab"), piece("cd")));
    assert!(next(&mut second).is_pending());
    assert_eq!(writer.complete(), WholeContent::Memory("abcd".into()));
    assert_eq!((next(&mut first), next(&mut first)), (piece("cd"), Poll::Ready(None)));
    assert_eq!((next(&mut second), content.length()), (Poll::Ready(None), Some(4)));
    assert_eq!(next(&mut content.reader(0).unwrap()), piece("ab"));
}

#[test]
fn a_content_that_is_cut_off_ends_with_an_error() {
    let (content, mut writer) = GrowingContent::new(100, None, &FillMemory::new(100));
    let mut reader = content.reader(0).unwrap();
    writer.push(b"ab");
    drop(writer);
    assert_eq!((next(&mut reader), next(&mut reader)), (piece("ab"), Poll::Ready(Some(Err(ContentCut)))));
    assert!(content.reader(0).is_none());
}

#[test]
fn the_writer_of_a_long_content_waits_for_the_slowest_reader() {
    let (content, mut writer) = GrowingContent::new(3, None, &FillMemory::new(100));
    let (mut fast, mut slow) = (content.reader(0).unwrap(), content.reader(0).unwrap());
    let has_room = |writer: &mut GrowingWriter| writer.poll_room(&mut Context::from_waker(Waker::noop())).is_ready();
    writer.push(b"ab");
    assert!(has_room(&mut writer) && !writer.is_not_kept());
    writer.push(b"cd");
    assert!(!has_room(&mut writer) && writer.is_not_kept() && content.reader(0).is_none());
    assert_eq!((next(&mut fast), next(&mut fast)), (piece("ab"), piece("cd")));
    assert!(!has_room(&mut writer));
    assert_eq!(next(&mut slow), piece("ab"));
    assert!(has_room(&mut writer));
    writer.push(b"ef");
    assert!(!has_room(&mut writer));
    drop(slow);
    assert!(has_room(&mut writer));
    assert_eq!(next(&mut fast), piece("ef"));
    assert_eq!(writer.complete(), WholeContent::NotKept);
    assert_eq!(next(&mut fast), Poll::Ready(None));
}

#[test]
fn a_content_is_wanted_while_there_are_readers() {
    let (content, writer) = GrowingContent::new(3, None, &FillMemory::new(100));
    assert!(!writer.is_wanted());
    let readers = [content.reader(0), content.reader(0)];
    assert!(writer.is_wanted());
    drop(readers);
    assert!(!writer.is_wanted());
}

#[test]
fn contents_do_not_take_more_memory_than_there_is() {
    let memory = FillMemory::new(5);
    let ((first, mut writer), (second, mut other)) =
        (GrowingContent::new(100, None, &memory), GrowingContent::new(100, None, &memory));
    let readers = [first.reader(0), second.reader(0)];
    writer.push(b"abc");
    assert!(!writer.is_not_kept());
    other.push(b"def");
    assert!(other.is_not_kept() && second.reader(0).is_none());
    assert_eq!(other.complete(), WholeContent::NotKept);
    drop((readers, second));
    // Its memory is there for others.
    writer.push(b"gh");
    assert_eq!(writer.complete(), WholeContent::Memory("abcgh".into()));
    drop(first);
    assert_eq!(memory.used(), 0);
}

#[test]
fn a_reader_begins_where_it_wants() {
    let (content, mut writer) = GrowingContent::new(100, Some(6), &FillMemory::new(100));
    let mut later = content.reader(3).unwrap();
    writer.push(b"ab");
    assert!(next(&mut later).is_pending());
    writer.push(b"cdef");
    let context = &mut Context::from_waker(Waker::noop());
    let Poll::Ready(Some(Ok(GrowingPiece::Bytes(bytes)))) = later.poll_next(context, 2) else { panic!() };
    assert_eq!((bytes, next(&mut later)), ("de".into(), piece("f")));
    assert_eq!(writer.complete(), WholeContent::Memory("abcdef".into()));
    assert_eq!((next(&mut later), next(&mut content.reader(6).unwrap())), (Poll::Ready(None), Poll::Ready(None)));
}

#[test]
fn bytes_in_a_file_are_read_from_there_and_take_no_memory() {
    let memory = FillMemory::new(100);
    let (content, mut writer) = GrowingContent::new(4, None, &memory);
    let (mut first, mut second) = (content.reader(0).unwrap(), content.reader(0).unwrap());
    assert!(writer.has_memory_for(4, 100) && !writer.has_memory_for(4, 3));
    writer.push(b"abcd");
    assert_eq!(next(&mut first), piece("abcd"));
    assert!(!writer.has_memory_for(1, 100));
    assert_eq!(writer.in_memory(), ["abcd"]);
    let file: Arc<dyn ContentWriter> = Arc::new(Unnamed(Arc::new(tempfile::tempfile().unwrap())));
    writer.written(&file, 4);
    assert_eq!(memory.used(), 0);
    writer.written(&file, 10);
    assert!(!writer.is_not_kept());
    assert_eq!((next_of_file(&mut first, 100), next_of_file(&mut second, 7)), ((4, 6), (0, 7)));
    assert!(next(&mut first).is_pending());
    assert_eq!((next_of_file(&mut second, 7), content.arrived()), ((7, 3), 10));
    assert_eq!(writer.complete(), WholeContent::File);
    assert_eq!((next(&mut first), next_of_file(&mut content.reader(9).unwrap(), 7)), (Poll::Ready(None), (9, 1)));
}

#[test]
fn after_an_error_of_the_disk_readers_get_the_rest_from_memory() {
    let memory = FillMemory::new(1 << 20);
    let (content, mut writer) = GrowingContent::new(4, Some(8), &memory);
    let (mut fast, mut slow) = (content.reader(0).unwrap(), content.reader(0).unwrap());
    let file: Arc<dyn ContentWriter> = Arc::new(Unnamed(Arc::new(tempfile::tempfile().unwrap())));
    writer.written(&file, 3);
    writer.push(b"defgh");
    assert!(writer.is_not_kept() && content.reader(0).is_none());
    assert_eq!((next_of_file(&mut fast, 9), next(&mut fast)), ((0, 3), piece("defgh")));
    assert!(writer.poll_room(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!((next_of_file(&mut slow, 9), next(&mut slow)), ((0, 3), piece("defgh")));
    assert!(writer.poll_room(&mut Context::from_waker(Waker::noop())).is_ready());
    assert_eq!((writer.complete(), memory.used()), (WholeContent::NotKept, 0));
}

#[test]
fn after_an_error_of_the_disk_nobody_waits_for_a_reader_that_is_far_behind() {
    let memory = FillMemory::new(1 << 20);
    let (content, mut writer) = GrowingContent::new(4, None, &memory);
    let (mut fast, mut slow) = (content.reader(0).unwrap(), content.reader(0).unwrap());
    let file: Arc<dyn ContentWriter> = Arc::new(Unnamed(Arc::new(tempfile::tempfile().unwrap())));
    let length = WINDOW as u64 + 1;
    writer.written(&file, length);
    assert_eq!(next_of_file(&mut fast, length), (0, length));
    writer.push(b"defgh");
    assert_eq!((next(&mut fast), next(&mut slow)), (piece("defgh"), Poll::Ready(Some(Err(ContentCut)))));
    assert!(writer.poll_room(&mut Context::from_waker(Waker::noop())).is_ready());
}

/// A file that nobody finds again.
#[derive(Debug)]
struct Unnamed(Arc<std::fs::File>);

impl ContentWriter for Unnamed {
    fn file(&self) -> &Arc<std::fs::File> {
        &self.0
    }

    fn write(&self, _: &[Bytes]) -> std::io::Result<u64> {
        Ok(0)
    }

    fn finish(&self) -> Option<Arc<dyn crate::ContentFile>> {
        None
    }
}

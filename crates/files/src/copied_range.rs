//! A range of a file as a body that is copied piece by piece, each checked before it is handed out.

use std::{io, time::SystemTime};

use bytes::Bytes;
use serow_message::{FileChanged, FileRange, FileVersion};

use crate::{
    pieces::Pieces,
    stable_read::{Rest, wait_for_writer},
};

/// A range of a large file that was written a moment ago, read by copying: each piece is checked against the version
/// before it is handed out, and a change ends the body with an error, so that the server cuts the connection.
#[derive(Debug)]
pub(crate) struct CopiedRange {
    /// Without a version: it is checked here.
    range: FileRange,
    version: Option<FileVersion>,
    state: Copying,
    time_of_day: fn() -> SystemTime,
}

#[derive(Debug, PartialEq, Eq)]
enum Copying {
    /// Not begun: the clock's tick must pass first, and a write in progress end.
    Waiting,
    Reading,
    Failed,
}

impl CopiedRange {
    /// The range must say which version it is of; without one nothing could be checked.
    pub(crate) fn new(range: FileRange, time_of_day: fn() -> SystemTime) -> Self {
        let version = range.version;
        Self { range: FileRange { version: None, ..range }, version, state: Copying::Waiting, time_of_day }
    }

    /// The time of change (`ctime`) does not count here: it is renewed as well when another file takes this one's name,
    /// and whoever was downloading it by then shall have it whole.
    fn check(&self) -> io::Result<()> {
        let Some(promised) = self.version else { return Ok(()) };
        let found = FileVersion::of(&self.range.file.metadata()?);
        if (FileVersion { changed: promised.changed, ..found }) == promised { Ok(()) } else { Err(FileChanged.into()) }
    }

    fn is_fresh(&self) -> bool {
        let now = (self.time_of_day)();
        self.version.is_some_and(|version| Rest::of_content(&version, now) == Rest::Fresh)
    }
}

impl Pieces for CopiedRange {
    fn next_piece(&mut self) -> Option<io::Result<Bytes>> {
        if self.state == Copying::Waiting {
            if self.is_fresh() {
                // At most a tick, and other tasks run meanwhile: not worth a timer.
                return Some(Ok(Bytes::new()));
            }
            wait_for_writer(&self.range.file);
            self.state = Copying::Reading;
        }
        if self.range.length == 0 || self.state == Copying::Failed {
            return None;
        }
        let piece = self.range.read(PIECE).and_then(|piece| self.check().map(|()| piece));
        if piece.is_err() {
            self.state = Copying::Failed;
        }
        Some(piece)
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.range.length)
    }
}

/// As large as one round of TLS or HTTP/2 takes, small enough that other connections of the core need not wait.
const PIECE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use std::{
        io::{Seek, Write},
        sync::Arc,
        time::Duration,
    };

    use super::*;

    #[test]
    fn a_changed_file_ends_the_copy_with_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![b'a'; PIECE * 3]).unwrap();
        let later = || SystemTime::now() + Duration::from_secs(1);
        let range = FileRange {
            file: Arc::new(file.try_clone().unwrap()),
            offset: 0,
            length: PIECE as u64 * 3,
            version: Some(FileVersion::of(&file.metadata().unwrap())),
        };
        let mut copied = CopiedRange::new(range, later);
        assert!(matches!(copied.next_piece(), Some(Ok(piece)) if piece.len() == PIECE));
        file.rewind().unwrap();
        file.write_all(b"b").unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(matches!(copied.next_piece(), Some(Err(_))));
        assert!(copied.next_piece().is_none());
    }
}

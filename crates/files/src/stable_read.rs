//! Reading a file so that what was read is one version of it, whoever writes meanwhile.
//!
//! ```text
//!  write(2) by somebody:     times renewed ── pages changed one by one ──▶ done
//!
//!  here:   ask for the times · wait for a write in progress · read · ask for the times again
//! ```
//!
//! A write that begins after the first question shows in the second answer. One that had begun before it is waited for.
//! So equal answers prove one version, except where the file system's clock is too coarse to tell two moments apart;
//! there the file is read twice, and both must be the same.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use rustix::fs::SeekFrom;
use serow_message::FileVersion;

/// How long a file has been left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rest {
    /// Written within the last tick of the file system's clock: a further write may leave the same times.
    Fresh,
    /// Written a moment ago: a write may still be in progress.
    Settling,
    /// Nobody is writing it, as far as times can tell.
    Rested,
}

impl Rest {
    /// How long the content of this version has rested.
    pub(crate) fn of_content(version: &FileVersion, now: SystemTime) -> Self {
        Self::since(version.modified, now)
    }

    /// How long content and attributes have rested: programs like rsync set the first time back after they wrote.
    pub(crate) fn of_all(version: &FileVersion, now: SystemTime) -> Self {
        Self::since(version.modified, now).min(Self::since(version.changed, now))
    }

    fn since(moment: i128, now: SystemTime) -> Self {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let age = i128::try_from(now).unwrap_or(i128::MAX) - moment;
        // A time far ahead was set by hand; the next write will replace it by the true one, and so be noticed.
        if age < -nanoseconds(CLOCK_LAG) || age >= nanoseconds(SETTLED_AFTER) {
            Self::Rested
        } else if age >= nanoseconds(COARSEST_TICK) {
            Self::Settling
        } else {
            Self::Fresh
        }
    }
}

/// A whole file in memory, and the version it is.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) body: Bytes,
    pub(crate) version: FileVersion,
}

/// Why a file was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    /// It has grown beyond the limit meanwhile.
    TooLarge,
    /// It was changed during each try.
    Unstable,
    /// The disk or the file system fails.
    Failed,
}

impl From<io::Error> for ReadError {
    fn from(_: io::Error) -> Self {
        Self::Failed
    }
}

/// Reads a file of at most `limit` bytes.
pub(crate) fn read_whole(file: &File, limit: u64, time_of_day: fn() -> SystemTime) -> Result<Whole, ReadError> {
    let mut earlier: Option<Whole> = None;
    for _ in 0..TRIES {
        let version = FileVersion::of(&file.metadata()?);
        if version.length > limit {
            return Err(ReadError::TooLarge);
        }
        let rest = Rest::of_content(&version, time_of_day());
        if rest != Rest::Rested {
            wait_for_writer(file);
        }
        let Some(body) = read_exactly(file, version.length as usize)? else { continue };
        if FileVersion::of(&file.metadata()?) != version {
            continue;
        }
        let whole = Whole { body, version };
        let is_proven = rest > Rest::Fresh
            || earlier.is_some_and(|earlier| earlier.version == whole.version && earlier.body == whole.body);
        if is_proven {
            return Ok(whole);
        }
        earlier = Some(whole);
    }
    Err(ReadError::Unstable)
}

/// Nothing if the file is shorter by now.
fn read_exactly(file: &File, length: usize) -> io::Result<Option<Bytes>> {
    let mut body = vec![0; length];
    match file.read_exact_at(&mut body, 0) {
        Ok(()) => Ok(Some(body.into())),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns when the write that may be in progress is over.
///
/// To look for data, a file system takes the lock of the inode that a writer holds for the length of one `write`: ext4,
/// btrfs and tmpfs (`inode_lock` in their `llseek`). XFS makes reads wait for writes of itself. The answer does not
/// matter, and where the file system knows no such question, nothing is lost: the file was merely not waited for.
pub(crate) fn wait_for_writer(file: &File) {
    let _ = rustix::fs::seek(file, SeekFrom::Data(0));
}

/// Whether a file still is the version that a response was prepared for.
pub(crate) fn is_unchanged(file: &File, version: &FileVersion) -> bool {
    file.metadata().is_ok_and(|metadata| FileVersion::of(&metadata) == *version)
}

const fn nanoseconds(duration: Duration) -> i128 {
    duration.as_nanos() as i128
}

/// The tick of kernels before 6.13, which stamp files once a jiffy: 10 ms at the slowest (HZ=100), doubled for the lag
/// of the clock that is compared with it.
const COARSEST_TICK: Duration = Duration::from_millis(20);

/// Longer than one `write` takes: a gigabyte, at the speed of memory, is half a second.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// How far the clock handed to this crate may lag behind the kernel's.
const CLOCK_LAG: Duration = Duration::from_secs(10);

/// A small file is read in microseconds, so a writer must be very busy to spoil eight reads; then the client is asked to
/// come back, rather than the core be kept.
const TRIES: usize = 8;

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    fn version(modified: i128, changed: i128) -> FileVersion {
        FileVersion { identity: (1, 1), length: 1, modified, changed }
    }

    #[test]
    fn how_long_a_file_has_rested() {
        let second = 1_000_000_000;
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let cases = [
            (1000 * second, Rest::Fresh),
            (1000 * second - 19_999_999, Rest::Fresh),
            (1000 * second + 5 * second, Rest::Fresh),
            (1000 * second - 20_000_000, Rest::Settling),
            (999 * second, Rest::Settling),
            (998 * second, Rest::Rested),
            (2000 * second, Rest::Rested),
            (0, Rest::Rested),
        ];
        for (modified, rest) in cases {
            assert_eq!(Rest::of_content(&version(modified, 0), now), rest, "{modified}");
            assert_eq!(Rest::of_all(&version(0, modified), now), rest, "{modified}");
        }
    }

    #[test]
    fn limits_and_ends() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(read_whole(&file, 10, SystemTime::now).unwrap().body, "");
        file.write_all(b"0123456789").unwrap();
        assert_eq!(read_whole(&file, 10, SystemTime::now).unwrap().body, "0123456789");
        assert!(matches!(read_whole(&file, 9, SystemTime::now), Err(ReadError::TooLarge)));
    }

    /// A writer overwrites a file in place, without pause, with one `write` each time; no read may be a mixture.
    #[test]
    fn no_read_is_a_mixture() {
        const LENGTH: usize = 60_000;
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[0; LENGTH], 0).unwrap();
        struct Stop<'flag>(&'flag AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _stop_even_after_a_panic = Stop(&stop);
            scope.spawn(|| {
                let mut letter = 0_u8;
                while !stop.load(Ordering::Relaxed) {
                    letter = letter.wrapping_add(1);
                    file.write_all_at(&[letter; LENGTH], 0).unwrap();
                }
            });
            for _ in 0..1000 {
                match read_whole(&file, LENGTH as u64, SystemTime::now) {
                    Ok(whole) => assert!(whole.body.iter().all(|byte| *byte == whole.body[0]), "a mixture"),
                    Err(ReadError::Unstable) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
        });
    }
}

//! Reports of generations to the master: in a message or, if too long for that, as a file in memory; and the files of other
//! messages that may be long.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    os::fd::{AsFd, OwnedFd},
};

use rustix::fs::{MemfdFlags, fcntl_get_seals, fstat, memfd_create};
use serde_json::Value;
use serow_net::channel::Channel;

use super::messages::{self, FromGeneration};

/// Sends a report.
pub(super) fn send(channel: &Channel, report: Value) -> io::Result<()> {
    let text = serde_json::to_vec(&report)?;
    if text.len() <= MAX_IN_MESSAGE {
        return messages::send(channel, &FromGeneration::Report { report });
    }
    send_with_file(channel, &FromGeneration::LongReport, &text)
}

/// Sends a message with this text as a file in memory.
pub(super) fn send_with_file(channel: &Channel, message: &FromGeneration, text: &[u8]) -> io::Result<()> {
    let mut file = File::from(memfd_create("serow-report", MemfdFlags::CLOEXEC)?);
    file.write_all(text)?;
    channel.send(&serde_json::to_vec(message)?, &[file.as_fd()])
}

/// Reads the file of a long report, or of another message.
///
/// # Errors
///
/// If it is not a file in memory, or larger than a report can be: a generation talks to untrusted clients, and may be
/// compromised.
pub(super) fn read(descriptor: OwnedFd) -> io::Result<Value> {
    // Only files in memory have seals (fcntl(2)): reading them never blocks.
    fcntl_get_seals(&descriptor)?;
    if fstat(&descriptor)?.st_size > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut file = File::from(descriptor);
    let mut text = Vec::new();
    file.rewind()?;
    file.take(LARGEST.unsigned_abs()).read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::from)
}

/// The channel has room for some 200 KB, and may contain other messages.
const MAX_IN_MESSAGE: usize = 50_000;

/// The maximum size of a report. Ten thousand upstream servers take 5 MB.
const LARGEST: i64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_any_length() {
        let (ours, theirs) = Channel::pair().unwrap();
        for length in [10, MAX_IN_MESSAGE, 1 << 20] {
            let report = Value::from("x".repeat(length));
            send(&theirs, report.clone()).unwrap();
            let mut message = ours.receive().unwrap().unwrap();
            let received = match messages::read(&message).unwrap() {
                FromGeneration::Report { report } => report,
                FromGeneration::LongReport => read(message.descriptors.pop().unwrap()).unwrap(),
                other => panic!("{other:?}"),
            };
            assert_eq!(received, report);
        }
    }

    #[test]
    fn files_that_are_not_in_memory_or_too_large_are_refused() {
        let (end, _other) = io::pipe().unwrap();
        assert!(read(end.into()).is_err());
        assert!(read(File::open("/dev/zero").unwrap().into()).is_err());
        let large = File::from(memfd_create("large", MemfdFlags::empty()).unwrap());
        large.set_len(LARGEST.unsigned_abs() + 1).unwrap();
        assert!(read(large.into()).is_err());
        let nonsense = File::from(memfd_create("nonsense", MemfdFlags::empty()).unwrap());
        assert!(read(nonsense.into()).is_err());
    }
}

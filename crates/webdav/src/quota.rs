//! How many bytes the files of a folder may have together.
//!
//! The files are counted once, at the first request, and the balance then follows the bytes that clients add or remove.
//! The server notices changes by others on the machine when it restarts or reloads.
//!
//! An upload reserves its size before its first byte, so that many at a time cannot pass the limit together. While it
//! replaces a file, both count.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use rustix::fs::{self, AtFlags, FileType};
use serow_files::{Opened, Root, below};
use serow_message::StatusCode;

use crate::{member::Kind, refusal::Refusal, tree::entries};

/// How many bytes the files of a folder may have together.
#[derive(Debug)]
pub(crate) struct Quota {
    limit: u64,
    is_counted: OnceLock<()>,
    is_begun: AtomicBool,
    balance: Mutex<Balance>,
}

/// The bytes that are compared with the limit.
#[derive(Clone, Copy, Debug, Default)]
struct Balance {
    /// Bytes of the files in the folder.
    used: u64,
    /// Bytes of files that are being written.
    reserved: u64,
}

impl Quota {
    /// A quota of so many bytes, of a folder that is not counted yet.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, is_counted: OnceLock::new(), is_begun: AtomicBool::new(false), balance: Mutex::default() }
    }

    /// Counts the folder, unless that has been done. If another thread is at it, waits for that: a change before the
    /// end would be counted twice, or not at all.
    pub(crate) fn count(&self, root: impl FnOnce() -> Result<Root, Refusal>) -> Result<(), Refusal> {
        if self.is_counted.get().is_some() {
            return Ok(());
        }
        let root = root()?;
        self.is_counted.get_or_init(|| self.balance().used = size_below(&root));
        Ok(())
    }

    /// Whether nobody has counted the folder, or was asked to; true once.
    pub(crate) fn needs_count(&self) -> bool {
        self.is_counted.get().is_none() && !self.is_begun.swap(true, Ordering::Relaxed)
    }

    /// Free and used bytes (RFC 4331 §3 and §4).
    pub(crate) fn state(&self) -> (u64, u64) {
        let Balance { used, reserved } = *self.balance();
        (self.limit.saturating_sub(used).saturating_sub(reserved), used)
    }

    /// Files with so many bytes were removed.
    pub(crate) fn release(&self, bytes: u64) {
        let mut balance = self.balance();
        balance.used = balance.used.saturating_sub(bytes);
    }

    fn balance(&self) -> MutexGuard<'_, Balance> {
        // No code panics while it changes it.
        self.balance.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for files that are being written. It gives unused room back at the end.
#[derive(Debug)]
pub(crate) struct Reservation {
    quota: Option<Arc<Quota>>,
    bytes: u64,
}

impl Reservation {
    /// Room for nothing yet; without a quota, for everything.
    pub(crate) fn new(quota: Option<Arc<Quota>>) -> Self {
        Self { quota, bytes: 0 }
    }

    /// Makes sure that there is room for so many bytes.
    ///
    /// # Errors
    ///
    /// There is not (507).
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<(), Refusal> {
        let Some(quota) = &self.quota else { return Ok(()) };
        let Some(more) = bytes.checked_sub(self.bytes) else { return Ok(()) };
        let mut balance = quota.balance();
        let free = quota.limit.saturating_sub(balance.used).saturating_sub(balance.reserved);
        if more > free {
            return Err(Refusal::new(StatusCode::INSUFFICIENT_STORAGE, "the folder has reached its quota"));
        }
        balance.reserved += more;
        self.bytes = bytes;
        Ok(())
    }

    /// Makes sure that there is room for so many bytes more.
    ///
    /// # Errors
    ///
    /// There is not (507).
    pub(crate) fn add(&mut self, bytes: u64) -> Result<(), Refusal> {
        self.reserve(self.bytes.saturating_add(bytes))
    }

    /// As [`Self::settle`], if all that was reserved was written.
    pub(crate) fn settle_all(self, replaced: u64) {
        let written = self.bytes;
        self.settle(written, replaced);
    }

    /// Counts the bytes that were written as used, in the place of the bytes of replaced files.
    pub(crate) fn settle(self, written: u64, replaced: u64) {
        let Some(quota) = &self.quota else { return };
        let mut balance = quota.balance();
        balance.used = balance.used.saturating_add(written).saturating_sub(replaced);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(quota) = &self.quota {
            let mut balance = quota.balance();
            balance.reserved = balance.reserved.saturating_sub(self.bytes);
        }
    }
}

/// The bytes of all files below a root. Symbolic links are not followed; what cannot be read is left out.
fn size_below(root: &Root) -> u64 {
    let (mut total, mut unreadable) = (0_u64, 0_usize);
    let mut folders = vec![Vec::new()];
    while let Some(path) = folders.pop() {
        let Ok(Opened::Folder(folder)) = root.open_below(&path) else {
            unreadable += 1;
            continue;
        };
        let Ok(names) = entries(&folder) else {
            unreadable += 1;
            continue;
        };
        for (name, kind) in names.flatten() {
            match kind {
                Kind::Folder => folders.push(below(&path, &name)),
                Kind::File => {
                    let stat = fs::statat(&folder, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW);
                    total = total.saturating_add(stat.map_or(0, |stat| length(&stat)));
                }
                Kind::Link | Kind::Special => {}
            }
        }
    }
    if unreadable > 0 {
        tracing::warn!("`quota`: {unreadable} folders cannot be read, so their files do not count");
    }
    total
}

/// The bytes of what the file system describes; folders and links have none.
pub(crate) fn length(stat: &fs::Stat) -> u64 {
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if is_file { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_hold_room_until_they_end() {
        let quota = Arc::new(Quota::new(100));
        quota.balance().used = 30;
        let mut one = Reservation::new(Some(Arc::clone(&quota)));
        assert!(one.reserve(50).is_ok());
        assert_eq!(quota.state(), (20, 30));
        let mut two = Reservation::new(Some(Arc::clone(&quota)));
        assert_eq!(two.reserve(21).map_err(|refusal| refusal.status().as_u16()), Err(507));
        assert!(two.reserve(20).is_ok() && two.reserve(10).is_ok());
        drop(two);
        assert_eq!(quota.state(), (20, 30));
        let mut three = Reservation::new(Some(Arc::clone(&quota)));
        assert!(three.add(5).is_ok() && three.add(15).is_ok() && three.add(1).is_err());
        drop(three);
        // Less was written than was reserved, in the place of a smaller file.
        one.settle(40, 30);
        assert_eq!(quota.state(), (60, 40));
        quota.release(15);
        assert_eq!(quota.state(), (75, 25));
    }

    #[test]
    fn without_a_quota_there_is_room_for_everything() {
        let mut reservation = Reservation::new(None);
        assert!(reservation.reserve(u64::MAX).is_ok());
        reservation.settle(u64::MAX, 0);
    }

    #[test]
    fn sums_do_not_overflow() {
        let quota = Arc::new(Quota::new(u64::MAX));
        quota.balance().used = 10;
        let mut reservation = Reservation::new(Some(Arc::clone(&quota)));
        assert!(reservation.reserve(u64::MAX).is_err());
        assert!(reservation.reserve(u64::MAX - 10).is_ok());
        reservation.settle(5, u64::MAX);
        assert_eq!(quota.state().1, 0);
    }
}

//! The locks of a folder (RFC 4918 §6 and §7), without a clock: time is an argument.

use std::{collections::BTreeMap, ops::Bound};

/// A lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Its token, a URI.
    pub token: String,
    /// The path of the locked resource, relative to the folder, without a slash at either end.
    pub path: Vec<u8>,
    /// Whether all that is below is locked as well.
    pub is_deep: bool,
    /// Whether others can lock the same.
    pub is_shared: bool,
    /// The client's description of its user, as XML; empty if there is none.
    pub owner: String,
    /// The address of the client, or its network.
    pub client: String,
    /// How many seconds it lasts without being refreshed.
    pub timeout: u64,
    /// When it ends, in seconds since 1970.
    pub expires: u64,
}

/// The locks of a folder.
#[derive(Debug, Default)]
pub struct LockTable {
    /// By path; no list is empty.
    locks: BTreeMap<Vec<u8>, Vec<Lock>>,
    /// When the first of them ends, or earlier.
    next_end: u64,
}

/// Why there is no lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockRefused {
    /// Another lock excludes it: the path of that.
    Conflict(Vec<u8>),
    /// There are too many, of this client or of all.
    TooMany,
}

impl LockTable {
    /// Adds a lock.
    ///
    /// # Errors
    ///
    /// A lock that excludes it, or too many locks.
    pub fn add(&mut self, lock: Lock, now: u64) -> Result<(), LockRefused> {
        self.expire(now);
        let excludes = |other: &&Lock| !(other.is_shared && lock.is_shared);
        if let Some(other) = self.covering(&lock.path).find(excludes) {
            return Err(LockRefused::Conflict(other.path.clone()));
        }
        if lock.is_deep
            && let Some(other) = self.within(&lock.path).find(excludes)
        {
            return Err(LockRefused::Conflict(other.path.clone()));
        }
        let of_client = self.all().filter(|other| other.client == lock.client).count();
        if of_client >= MAX_OF_CLIENT || self.all().count() >= MAX_LOCKS {
            return Err(LockRefused::TooMany);
        }
        self.next_end = if self.locks.is_empty() { lock.expires } else { self.next_end.min(lock.expires) };
        self.locks.entry(lock.path.clone()).or_default().push(lock);
        Ok(())
    }

    /// Restarts the time of the lock with one of these tokens that covers a path; returns it.
    pub fn refresh(&mut self, path: &[u8], tokens: &[&str], timeout: u64, now: u64) -> Option<Lock> {
        self.expire(now);
        let found = self.covering(path).find(|lock| tokens.contains(&lock.token.as_str()))?;
        let (path, token) = (found.path.clone(), found.token.clone());
        let lock = self.locks.get_mut(&path)?.iter_mut().find(|lock| lock.token == token)?;
        (lock.timeout, lock.expires) = (timeout, now.saturating_add(timeout));
        let lock = lock.clone();
        self.next_end = self.next_end.min(lock.expires);
        Some(lock)
    }

    /// Removes the lock with this token, if it covers a path; says whether it does.
    pub fn remove(&mut self, path: &[u8], token: &str, now: u64) -> bool {
        self.expire(now);
        let Some(root) = self.covering(path).find(|lock| lock.token == token).map(|lock| lock.path.clone()) else {
            return false;
        };
        self.retain_at(&root, |lock| lock.token != token);
        true
    }

    /// Removes all locks of a path and of what is below it: it does not exist any more.
    pub fn remove_all(&mut self, path: &[u8]) {
        self.locks.remove(path);
        self.remove_within(path);
    }

    /// Removes all locks below a path: something else is there now.
    pub fn remove_within(&mut self, path: &[u8]) {
        let below: Vec<_> = self.within(path).map(|lock| lock.path.clone()).collect();
        for path in below {
            self.locks.remove(&path);
        }
    }

    /// The locks that cover a path: its own, and deep ones of the folders above it. Those that have ended do not.
    pub fn covering<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = &'a Lock> {
        let is_below = |length: usize| length < path.len();
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(place, _)| place);
        let above = std::iter::once(0).chain(slashes).filter(move |length| is_below(*length));
        let above = above.flat_map(|length| self.at(&path[..length])).filter(|lock| lock.is_deep);
        above.chain(self.at(path))
    }

    /// The locks below a path, without those of the path itself.
    pub fn within<'a>(&'a self, path: &'a [u8]) -> impl Iterator<Item = &'a Lock> {
        let start = if path.is_empty() { Vec::new() } else { [path, b"/"].concat() };
        let range = (Bound::Excluded(start.clone()), Bound::Unbounded);
        let range = self.locks.range::<Vec<u8>, _>(range);
        range.take_while(move |(path, _)| path.starts_with(&start)).flat_map(|(_, locks)| locks)
    }

    /// Returns the path of a lock that keeps a client with these tokens from changing a resource; `None` without such a
    /// lock.
    ///
    /// RFC 4918 §7.4 and §7.5: a new or removed name changes the folder above as well (`is_member_change`), and some
    /// changes all that is below (`is_deep`).
    pub fn obstacle(&mut self, change: &Change<'_>, tokens: &[&str], now: u64) -> Option<Vec<u8>> {
        self.expire(now);
        let obstacle = |locks: &mut dyn Iterator<Item = &Lock>| {
            let mut first = None;
            for lock in locks {
                if tokens.contains(&lock.token.as_str()) {
                    return None;
                }
                first.get_or_insert(&lock.path);
            }
            first.cloned()
        };
        let own = obstacle(&mut self.covering(change.path));
        let of_folder = || {
            let parent = parent_of(change.path).filter(|_| change.is_member_change)?;
            obstacle(&mut self.at(parent).iter())
        };
        let of_inner = || {
            let mut inner: Vec<&[u8]> = self.within(change.path).map(|lock| lock.path.as_slice()).collect();
            inner.retain(|_| change.is_deep);
            inner.dedup();
            inner.into_iter().find_map(|path| obstacle(&mut self.at(path).iter()))
        };
        own.or_else(of_folder).or_else(of_inner)
    }

    /// All locks.
    pub fn all(&self) -> impl Iterator<Item = &Lock> {
        self.locks.values().flatten()
    }

    /// Removes the locks that have ended.
    pub fn expire(&mut self, now: u64) {
        if self.locks.is_empty() || now < self.next_end {
            return;
        }
        self.locks.retain(|_, locks| {
            locks.retain(|lock| lock.expires > now);
            !locks.is_empty()
        });
        self.next_end = self.all().map(|lock| lock.expires).min().unwrap_or(0);
    }

    fn at(&self, path: &[u8]) -> &[Lock] {
        self.locks.get(path).map_or(&[], Vec::as_slice)
    }

    fn retain_at(&mut self, path: &[u8], keep: impl FnMut(&Lock) -> bool) {
        if let Some(locks) = self.locks.get_mut(path) {
            locks.retain(keep);
            if locks.is_empty() {
                self.locks.remove(path);
            }
        }
    }
}

/// A change that locks may forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The path of what is changed.
    pub path: &'a [u8],
    /// Whether the name appears or disappears.
    pub is_member_change: bool,
    /// Whether all that is below it changes.
    pub is_deep: bool,
}

/// The path of the folder around a path; nothing for the root.
pub(crate) fn parent_of(path: &[u8]) -> Option<&[u8]> {
    if path.is_empty() {
        return None;
    }
    Some(path.iter().rposition(|&byte| byte == b'/').map_or(&[], |slash| &path[..slash]))
}

/// Each is compared with others, and takes up to a kilobyte: a few megabytes in all, however many clients want locks.
const MAX_LOCKS: usize = 2000;

/// An editor locks a few files. Behind a proxy that is not trusted, all clients are one.
const MAX_OF_CLIENT: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(path: &str, is_deep: bool, is_shared: bool) -> Lock {
        Lock {
            token: format!("t:{path}:{is_deep}"),
            path: path.into(),
            is_deep,
            is_shared,
            owner: String::new(),
            client: "::1".to_owned(),
            timeout: 10,
            expires: 10,
        }
    }

    fn table(locks: &[(&str, bool, bool)]) -> LockTable {
        let mut table = LockTable::default();
        for (path, is_deep, is_shared) in locks {
            table.add(lock(path, *is_deep, *is_shared), 0).unwrap();
        }
        table
    }

    #[test]
    fn locks_exclude_each_other() {
        let (deep, flat, shared, exclusive) = (true, false, true, false);
        for (before, new, conflict) in [
            (("a", flat, exclusive), ("a", flat, exclusive), Some("a")),
            (("a", flat, exclusive), ("a", flat, shared), Some("a")),
            (("a", flat, shared), ("a", flat, exclusive), Some("a")),
            (("a", flat, shared), ("a", deep, shared), None),
            (("a", flat, exclusive), ("a/b", flat, exclusive), None),
            (("a", deep, exclusive), ("a/b", flat, exclusive), Some("a")),
            (("", deep, exclusive), ("a/b", flat, shared), Some("")),
            (("a/b", flat, exclusive), ("a", flat, exclusive), None),
            (("a/b", flat, exclusive), ("a", deep, exclusive), Some("a/b")),
            (("a/b/c", flat, exclusive), ("", deep, exclusive), Some("a/b/c")),
            (("a/b/c", flat, shared), ("", deep, shared), None),
            (("ab", flat, exclusive), ("a", deep, exclusive), None),
            (("a", deep, exclusive), ("ab", flat, exclusive), None),
        ] {
            let added = table(&[before]).add(Lock { token: "new".to_owned(), ..lock(new.0, new.1, new.2) }, 0);
            let expected = conflict.map_or(Ok(()), |path| Err(LockRefused::Conflict(path.into())));
            assert_eq!(added, expected, "{before:?} {new:?}");
        }
    }

    #[test]
    fn changes_need_the_tokens_of_what_they_change() {
        let (flat, deep) = ([("a/b", false, false)], [("a", true, false)]);
        let plain = |path: &'static str| Change { path: path.as_bytes(), is_member_change: false, is_deep: false };
        let member = |path| Change { is_member_change: true, ..plain(path) };
        let all = |path| Change { is_deep: true, ..plain(path) };
        for (locks, change, obstacle) in [
            (&flat, plain("a/b"), Some("a/b")),
            (&flat, plain("a/b/c"), None),
            (&flat, member("a/b/c"), Some("a/b")),
            (&flat, member("a/b/c/d"), None),
            (&flat, plain("a"), None),
            (&flat, all("a"), Some("a/b")),
            (&flat, all(""), Some("a/b")),
            (&flat, all("a/bc"), None),
            (&deep, plain("a/b/c"), Some("a")),
            (&deep, member("a"), Some("a")),
            (&deep, member("b"), None),
        ] {
            let mut table = table(locks);
            let obstacle = obstacle.map(Vec::from);
            assert_eq!(table.obstacle(&change, &[], 0), obstacle, "{change:?}");
            assert_eq!(table.obstacle(&change, &["t:other"], 9), obstacle, "{change:?}");
            assert_eq!(table.obstacle(&change, &["t:a/b:false", "t:a:true"], 0), None, "{change:?}");
            assert_eq!(table.obstacle(&change, &[], 10), None, "{change:?} after the end");
        }
    }

    #[test]
    fn one_of_several_shared_locks_is_enough() {
        let mut table = table(&[("a", false, true), ("a", true, true)]);
        let change = Change { path: b"a", is_member_change: false, is_deep: false };
        assert_eq!(table.obstacle(&change, &["t:a:false"], 0), None);
        assert_eq!(table.obstacle(&change, &[], 0), Some(b"a".to_vec()));
    }

    #[test]
    fn locks_are_refreshed_and_removed_wherever_they_cover() {
        let mut table = table(&[("a", true, false), ("b", false, false)]);
        assert_eq!(table.refresh(b"a/b", &["t:b:false"], 100, 5), None);
        assert_eq!(table.refresh(b"a/b", &["t:a:true"], 100, 5).map(|lock| lock.expires), Some(105));
        table.expire(10);
        assert_eq!(table.all().map(|lock| lock.token.as_str()).collect::<Vec<_>>(), ["t:a:true"]);
        assert!(!table.remove(b"b", "t:a:true", 10));
        assert!(table.remove(b"a/c", "t:a:true", 10));
        assert_eq!(table.all().count(), 0);
    }

    #[test]
    fn a_removed_folder_and_its_members_have_no_locks() {
        let mut table =
            table(&[("a", false, false), ("a/b", false, false), ("a/b/c", false, false), ("ab", false, false)]);
        table.remove_all(b"a");
        assert_eq!(table.all().map(|lock| lock.path.as_slice()).collect::<Vec<_>>(), [b"ab"]);
    }

    #[test]
    fn the_number_of_locks_is_bounded() {
        let mut table = LockTable::default();
        let of_client = |client: usize, number: usize| Lock {
            client: client.to_string(),
            ..lock(&format!("{client}-{number}"), false, false)
        };
        let clients = MAX_LOCKS / MAX_OF_CLIENT;
        for client in 0..clients {
            for number in 0..MAX_OF_CLIENT {
                table.add(of_client(client, number), 0).unwrap();
            }
            assert_eq!(table.add(of_client(client, MAX_OF_CLIENT), 0), Err(LockRefused::TooMany));
        }
        assert_eq!(table.add(of_client(clients, 0), 0), Err(LockRefused::TooMany));
        assert_eq!(table.add(of_client(clients, 0), 10), Ok(()));
    }
}

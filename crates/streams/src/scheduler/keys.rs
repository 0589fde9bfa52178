//! An ordered set of numbers: a short list while it is small, a tree while it is not.

use alloc::{collections::BTreeSet, vec::Vec};

use super::Class;

/// The keys of the streams inside.
#[derive(Clone, Debug)]
pub(super) enum Keys {
    /// In order. A search in it and moving what is behind costs less than a tree's nodes.
    Few(Vec<u64>),
    /// So that each operation costs O(log n) however many streams the settings allow.
    Many(BTreeSet<u64>),
}

/// Beyond so many a list becomes a tree. 128 streams are what most servers allow; moving 1 KiB costs some dozens of
/// instructions.
const FEW: usize = 128;

/// Below so many a tree becomes a list again; far from [`FEW`], so that it cannot be made to happen at every call.
const FEW_AGAIN: usize = FEW / 4;

/// The room that an empty list may keep: 256 bytes, so that requests one after the other do not allocate.
const KEPT: usize = 32;

impl Default for Keys {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Keys {
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Few(list) => list.len(),
            Self::Many(tree) => tree.len(),
        }
    }

    /// Says whether it is new.
    #[inline]
    pub(super) fn insert(&mut self, key: u64) -> bool {
        match self {
            Self::Few(list) => {
                // Most are streams that were opened last.
                let position =
                    if list.last().is_none_or(|&last| last < key) { list.len() } else { position(list, key) };
                if list.get(position) == Some(&key) {
                    return false;
                }
                if list.len() < FEW {
                    list.insert(position, key);
                    return true;
                }
                let mut tree: BTreeSet<u64> = list.drain(..).collect();
                tree.insert(key);
                *self = Self::Many(tree);
                true
            }
            Self::Many(tree) => tree.insert(key),
        }
    }

    /// Says whether it was there.
    #[inline]
    pub(super) fn remove(&mut self, key: u64) -> bool {
        match self {
            Self::Few(list) => {
                // Most have just been served.
                let position = if list.first() == Some(&key) { 0 } else { position(list, key) };
                if list.get(position) != Some(&key) {
                    return false;
                }
                list.remove(position);
                if list.is_empty() && list.capacity() > KEPT {
                    *list = Vec::new();
                }
                true
            }
            Self::Many(tree) => {
                let found = tree.remove(&key);
                if tree.len() < FEW_AGAIN {
                    *self = Self::Few(tree.iter().copied().collect());
                }
                found
            }
        }
    }

    /// The lowest.
    #[inline]
    pub(super) fn first(&self) -> Option<u64> {
        match self {
            Self::Few(list) => list.first().copied(),
            Self::Many(tree) => tree.first().copied(),
        }
    }

    fn last(&self) -> Option<u64> {
        match self {
            Self::Few(list) => list.last().copied(),
            Self::Many(tree) => tree.last().copied(),
        }
    }

    /// The lowest that is not below this one.
    pub(super) fn from(&self, key: u64) -> Option<u64> {
        match self {
            Self::Few(list) => list.get(position(list, key)).copied(),
            Self::Many(tree) => tree.range(key..).next().copied(),
        }
    }

    /// The highest below this one.
    pub(super) fn below(&self, key: u64) -> Option<u64> {
        match self {
            Self::Few(list) => list[..position(list, key)].last().copied(),
            Self::Many(tree) => tree.range(..key).next_back().copied(),
        }
    }

    /// Whether there is one of this class.
    #[inline]
    pub(super) fn contains_any(&self, class: Class) -> bool {
        // Mostly all are of one class, and the ends say so.
        let (begin, end) = (class.first_key(), class.end_key());
        if self.first().is_none_or(|first| first >= end) || self.last().is_none_or(|last| last < begin) {
            return false;
        }
        self.from(begin).is_some_and(|key| Class::of_key(key) == class)
    }
}

/// Where a key is, or would be.
fn position(list: &[u64], key: u64) -> usize {
    list.partition_point(|&other| other < key)
}

#[cfg(test)]
mod tests;

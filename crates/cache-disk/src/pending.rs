//! Responses that have yet to be written.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serow_cache::{Key, Resource};

/// Responses that have yet to be written, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    state: Mutex<PendingState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct PendingState {
    resources: HashMap<Key, Resource>,
    order: VecDeque<Key>,
    bytes: usize,
    /// The response that is being written, and whether it has been removed meanwhile.
    writing: Option<(Key, Resource, bool)>,
    is_ending: bool,
    /// Whether there is something to do beside writing.
    is_woken: bool,
}

/// The writer's next step.
pub(crate) enum Work {
    Write(Key, Resource),
    /// Nothing is to be written now.
    Idle,
    End,
}

impl Pending {
    /// Adds what is stored for a key now; whether there is room for it.
    pub(crate) fn add(&self, key: &Key, resource: &Resource) -> bool {
        let mut state = self.lock();
        let size = resource.memory_size();
        let before = state.resources.get(key).map_or(0, |before| before.memory_size());
        if state.bytes - before + size > MAX_PENDING {
            return false;
        }
        state.bytes = state.bytes - before + size;
        if state.resources.insert(key.clone(), resource.clone()).is_none() {
            state.order.push_back(key.clone());
        }
        drop(state);
        self.changed.notify_one();
        true
    }

    pub(crate) fn find(&self, key: &Key) -> Option<Resource> {
        let state = self.lock();
        let written = || state.writing.as_ref().filter(|(other, _, is_removed)| other == key && !is_removed);
        state.resources.get(key).or_else(|| written().map(|(_, resource, _)| resource)).cloned()
    }

    /// Removes a key, and does this before anything of it can be written; whether it was there.
    pub(crate) fn remove<T>(&self, key: &Key, then: impl FnOnce() -> T) -> (bool, T) {
        let mut state = self.lock();
        let removed = state.resources.remove(key);
        if let Some(resource) = &removed {
            // Its place in the order stays: `next` finds nothing there.
            state.bytes -= resource.memory_size();
        }
        if let Some((other, _, is_removed)) = &mut state.writing
            && other == key
        {
            *is_removed = true;
        }
        (removed.is_some(), then())
    }

    /// Waits for work, at most for so long.
    pub(crate) fn next(&self, timeout: Duration) -> Work {
        let mut state = self.lock();
        if state.order.is_empty() && !state.is_ending && !state.is_woken {
            let waited = self.changed.wait_timeout(state, timeout);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_woken = false;
        let Some(key) = state.order.pop_front() else {
            return if state.is_ending { Work::End } else { Work::Idle };
        };
        let Some(resource) = state.resources.remove(&key) else { return Work::Idle };
        state.bytes -= resource.memory_size();
        state.writing = Some((key.clone(), resource.clone(), false));
        Work::Write(key, resource)
    }

    /// Ends the writing of a key: `publish` makes it visible, unless it has been removed meanwhile.
    pub(crate) fn finish<T>(&self, publish: impl FnOnce() -> T) -> Option<T> {
        let mut state = self.lock();
        let is_removed = state.writing.take().is_none_or(|(_, _, is_removed)| is_removed);
        (!is_removed).then(publish)
    }

    /// Ends the waiting of the thread that writes: there is something to do beside that.
    pub(crate) fn wake(&self) {
        self.lock().is_woken = true;
        self.changed.notify_one();
    }

    /// Ends the work, once all responses that were added are written.
    pub(crate) fn end(&self) {
        self.lock().is_ending = true;
        self.changed.notify_one();
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, PendingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of contents that wait for a slow disk: beyond them, responses are kept in memory only.
const MAX_PENDING: usize = 64 << 20;

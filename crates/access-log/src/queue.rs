//! Lines that wait to be written, between the workers and the thread that writes.

use std::{
    collections::VecDeque,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// Whole lines of one worker.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) text: Vec<u8>,
    pub(super) lines: u64,
}

impl Batch {
    /// Bytes of memory that it takes.
    fn size(&self) -> usize {
        size_of::<Self>() + self.text.capacity()
    }
}

/// The batches that wait, and counts of the lines that were written or lost. Workers never wait for it: it is locked
/// for as long as a batch takes to change hands, and not while one is written.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<QueueState>,
    /// Wakes the thread that writes.
    changed: Condvar,
    /// Wakes the task that reports losses.
    losses: Notify,
    written: AtomicU64,
    lost: AtomicU64,
    /// Whether the reader of the lines has gone for good.
    closed: AtomicBool,
}

#[derive(Default)]
struct QueueState {
    batches: VecDeque<Batch>,
    /// Bytes of memory of the batches, and of the one that is being written.
    held: usize,
    /// Their lines.
    waiting: u64,
    reopen: bool,
    ending: bool,
    /// Lines were lost, and those that waited since then have not been written yet.
    behind: bool,
    /// Which losses have been reported: up to which number, and whether their end is still to report.
    told: u64,
    telling: bool,
}

/// Counts of lines so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that were written.
    pub lines: u64,
    /// Lines in memory that are still to be written, for example because the disk is full.
    pub waiting: u64,
    /// Lines that were not written, and will not be.
    pub lost: u64,
}

/// The next task of the thread that writes.
#[derive(Debug)]
pub(super) enum Task {
    Write(Batch),
    /// The file was moved away.
    Reopen,
    /// All workers have ended, and all is written.
    End,
}

/// How a pause of the thread that writes was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paused {
    Whole,
    /// The file was moved away.
    Reopen,
    /// The server ends: there is no time.
    Ending,
}

/// A report about lost lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    Began,
    /// So many lines were lost since it began.
    Over(u64),
}

impl Queue {
    /// Hands lines over, or loses them where too much waits already.
    pub(super) fn push(&self, mut text: Vec<u8>, lines: u64) {
        if text.len() < text.capacity() / 2 {
            // The allocated memory counts against the limit, not the length.
            text.shrink_to_fit();
        }
        let mut state = self.lock();
        let batch = Batch { text, lines };
        if self.is_closed() || state.held + batch.size() > MAX_HELD {
            return self.note_lost(state, lines);
        }
        state.held += batch.size();
        state.waiting += lines;
        state.batches.push_back(batch);
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for the next thing to do.
    pub(super) fn next(&self) -> Task {
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.reopen) {
                return Task::Reopen;
            }
            if let Some(batch) = state.batches.pop_front() {
                return Task::Write(batch);
            }
            if state.ending {
                return Task::End;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the work on the batch that was taken last; so many of its lines were not written.
    pub(super) fn finish(&self, batch: &Batch, lost: u64) {
        let mut state = self.lock();
        state.held = state.held.saturating_sub(batch.size());
        state.waiting = state.waiting.saturating_sub(batch.lines);
        self.written.fetch_add(batch.lines.saturating_sub(lost), Ordering::Relaxed);
        if lost > 0 {
            return self.note_lost(state, lost);
        }
        if state.batches.is_empty() && std::mem::take(&mut state.behind) {
            self.losses.notify_one();
        }
    }

    /// Waits before something is tried again.
    pub(super) fn pause(&self, time: Duration) -> Paused {
        let until = Instant::now() + time;
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.reopen) {
                return Paused::Reopen;
            }
            if state.ending {
                return Paused::Ending;
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else { return Paused::Whole };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The file was moved away.
    pub(super) fn reopen(&self) {
        self.lock().reopen = true;
        self.changed.notify_one();
    }

    /// Nothing more will be handed over.
    pub(super) fn end(&self) {
        self.lock().ending = true;
        self.changed.notify_one();
    }

    /// Closes the queue, since the reader has gone for good: lines that wait are lost, and so are later ones.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        self.closed.store(true, Ordering::Relaxed);
        state.batches.clear();
        self.lost.fetch_add(std::mem::take(&mut state.waiting), Ordering::Relaxed);
        state.held = 0;
    }

    /// Whether nothing waits.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().batches.is_empty()
    }

    /// Whether it is of no use to make lines.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Returns the counts of lines so far.
    pub(super) fn counts(&self) -> LineCounts {
        // All three change while it is locked, so that each line counts once.
        let state = self.lock();
        LineCounts {
            lines: self.written.load(Ordering::Relaxed),
            waiting: state.waiting,
            lost: self.lost.load(Ordering::Relaxed),
        }
    }

    /// Ready when there may be something to say of losses.
    pub(super) async fn losses_changed(&self) {
        self.losses.notified().await;
    }

    /// The reports about lost lines that are due, in this order.
    pub(super) fn losses(&self) -> impl Iterator<Item = Loss> + use<> {
        let mut state = self.lock();
        let lost = self.lost.load(Ordering::Relaxed);
        let new = lost - state.told;
        let began = new > 0 && !state.telling;
        state.telling |= began;
        let over = state.telling && !state.behind;
        if over {
            (state.telling, state.told) = (false, lost);
        }
        [began.then_some(Loss::Began), over.then_some(Loss::Over(new))].into_iter().flatten()
    }

    /// How many losses have not been reported; they count as reported from now on.
    pub(super) fn untold_losses(&self) -> u64 {
        let mut state = self.lock();
        let lost = self.lost.load(Ordering::Relaxed);
        state.telling = false;
        lost - std::mem::replace(&mut state.told, lost)
    }

    fn note_lost(&self, mut state: MutexGuard<'_, QueueState>, lines: u64) {
        self.lost.fetch_add(lines, Ordering::Relaxed);
        // At the end, one line reports all losses.
        if !std::mem::replace(&mut state.behind, true) && !self.is_closed() && !state.ending {
            self.losses.notify_one();
        }
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of lines that wait, and that are being written: as many as the fastest server logs in half a second. Lines
/// beyond that are dropped; neither memory nor workers pay for them.
const MAX_HELD: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn large() -> Vec<u8> {
        vec![b'x'; MAX_HELD / 4 - size_of::<Batch>()]
    }

    fn losses(queue: &Queue) -> Vec<Loss> {
        queue.losses().collect()
    }

    #[test]
    fn the_queue_is_bounded_by_memory() {
        let queue = Queue::default();
        for lines in 1..=4 {
            queue.push(large(), lines);
        }
        assert_eq!(losses(&queue), []);
        queue.push(large(), 100);
        queue.push(b"x\n".to_vec(), 1);
        assert_eq!(queue.counts(), LineCounts { lines: 0, waiting: 10, lost: 101 });
        assert_eq!(losses(&queue), [Loss::Began]);
        assert_eq!(losses(&queue), []);
        // The batch that is being written counts, too.
        let Task::Write(first) = queue.next() else { panic!() };
        queue.push(b"x\n".to_vec(), 1);
        assert_eq!(queue.counts().lost, 102);
        queue.finish(&first, 0);
        assert_eq!(queue.counts(), LineCounts { lines: 1, waiting: 9, lost: 102 });
        queue.push(b"x\n".to_vec(), 1);
        for _ in 0..4 {
            assert_eq!(losses(&queue), [], "it has not caught up");
            let Task::Write(batch) = queue.next() else { panic!() };
            queue.finish(&batch, 0);
        }
        assert_eq!(losses(&queue), [Loss::Over(102)]);
        assert_eq!(queue.counts(), LineCounts { lines: 1 + 2 + 3 + 4 + 1, waiting: 0, lost: 102 });
    }

    #[test]
    fn small_batches_do_not_take_the_room_of_large_ones() {
        let queue = Queue::default();
        let batches = 100_000;
        for _ in 0..batches {
            let mut text = Vec::with_capacity(64 * 1024);
            text.extend_from_slice(b"a line\n");
            queue.push(text, 1);
        }
        assert_eq!(queue.counts().lost, 0);
    }

    #[test]
    fn all_is_written_before_the_end() {
        let queue = Queue::default();
        queue.push(b"a\n".to_vec(), 1);
        queue.reopen();
        queue.end();
        assert!(matches!(queue.next(), Task::Reopen));
        assert!(matches!(queue.next(), Task::Write(batch) if batch.text == b"a\n"));
        assert!(matches!(queue.next(), Task::End));
        assert_eq!(queue.pause(Duration::from_secs(3600)), Paused::Ending);
    }

    #[test]
    fn a_pause_ends_early_where_there_is_a_reason() {
        let queue = Queue::default();
        queue.reopen();
        assert_eq!(queue.pause(Duration::from_secs(3600)), Paused::Reopen);
        assert_eq!(queue.pause(Duration::ZERO), Paused::Whole);
    }

    #[test]
    fn lines_that_nobody_reads_are_dropped_and_counted() {
        let queue = Queue::default();
        queue.push(b"a\nb\n".to_vec(), 2);
        queue.push(b"c\n".to_vec(), 1);
        let Task::Write(_) = queue.next() else { panic!() };
        queue.close();
        assert!(queue.is_closed());
        queue.push(b"d\n".to_vec(), 1);
        assert_eq!(queue.counts(), LineCounts { lines: 0, waiting: 0, lost: 4 });
    }

    #[test]
    fn lines_that_could_not_be_written_are_losses_too() {
        let queue = Queue::default();
        queue.push(b"a\nb\n".to_vec(), 2);
        let Task::Write(batch) = queue.next() else { panic!() };
        queue.finish(&batch, 1);
        assert_eq!(queue.counts(), LineCounts { lines: 1, waiting: 0, lost: 1 });
        assert_eq!(losses(&queue), [Loss::Began]);
        queue.push(b"c\n".to_vec(), 1);
        let Task::Write(batch) = queue.next() else { panic!() };
        queue.finish(&batch, 0);
        assert_eq!(losses(&queue), [Loss::Over(1)]);
        // A loss that began and is over before it was reported.
        queue.push(b"d\n".to_vec(), 1);
        let Task::Write(batch) = queue.next() else { panic!() };
        queue.finish(&batch, 1);
        queue.push(b"e\n".to_vec(), 1);
        let Task::Write(batch) = queue.next() else { panic!() };
        queue.finish(&batch, 0);
        assert_eq!(losses(&queue), [Loss::Began, Loss::Over(1)]);
    }
}

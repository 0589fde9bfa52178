//! A value of which each thread has a clone: handlers belong to a thread, and a request that waits cannot borrow one.

use std::{
    any::Any,
    cell::RefCell,
    rc::Rc,
    sync::{Mutex, PoisonError},
};

use serow_net::{SlotNumber, ThreadSlots};

/// A value of which each thread has a clone, made when the thread first needs it.
pub(crate) struct PerThread<T> {
    original: Mutex<T>,
    number: SlotNumber,
}

thread_local! {
    static CLONES: RefCell<ThreadSlots<Rc<dyn Any>>> = const { RefCell::new(ThreadSlots::new()) };
}

/// Drops the clones that this thread has of values that are gone.
pub(crate) fn drop_stale_clones() {
    // A clone may have values like this in it, whose clones are stale then.
    loop {
        let stale = CLONES.with_borrow_mut(ThreadSlots::take_stale);
        if stale.is_empty() {
            return;
        }
        drop(stale);
    }
}

impl<T: Clone + 'static> PerThread<T> {
    pub(crate) fn new(original: T) -> Self {
        Self { original: Mutex::new(original), number: SlotNumber::new() }
    }

    /// The clone of this thread.
    pub(crate) fn of_thread(&self) -> Rc<T> {
        let known = CLONES.with_borrow(|clones| clones.get(&self.number).cloned());
        if let Some(Ok(known)) = known.map(Rc::downcast) {
            return known;
        }
        let clone = Rc::new(self.original.lock().unwrap_or_else(PoisonError::into_inner).clone());
        CLONES.with_borrow_mut(|clones| clones.set(&self.number, Rc::clone(&clone) as Rc<dyn Any>));
        clone
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn each_thread_has_one_clone() {
        let (one, other) = (Arc::new(PerThread::new(vec![1])), PerThread::new("a"));
        assert!(Rc::ptr_eq(&one.of_thread(), &one.of_thread()));
        assert_eq!((&**one.of_thread(), *other.of_thread()), (&[1][..], "a"));
        let here = Rc::as_ptr(&one.of_thread()) as usize;
        let shared = Arc::clone(&one);
        let there = std::thread::spawn(move || Rc::as_ptr(&shared.of_thread()) as usize).join().unwrap();
        assert_ne!(here, there);
    }

    #[test]
    fn clones_of_values_that_are_gone_are_dropped_and_others_kept() {
        let (kept, counted) = (PerThread::new(7), Rc::new(()));
        let gone = PerThread::new((Rc::new(PerThread::new(Rc::clone(&counted))), Rc::clone(&counted)));
        gone.of_thread().0.of_thread();
        let before = kept.of_thread();
        drop_stale_clones();
        assert_eq!(Rc::strong_count(&counted), 5);
        drop(gone);
        drop_stale_clones();
        assert_eq!(Rc::strong_count(&counted), 1);
        assert!(Rc::ptr_eq(&before, &kept.of_thread()));
    }
}

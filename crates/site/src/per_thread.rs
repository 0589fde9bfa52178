//! A value of which each thread has a clone: handlers belong to a thread, and a request that waits cannot borrow one.

use std::{
    any::Any,
    cell::RefCell,
    rc::Rc,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A value of which each thread has a clone, made when the thread first needs it.
pub(crate) struct PerThread<T> {
    original: Mutex<T>,
    /// That of this value among all of the process.
    number: usize,
}

thread_local! {
    /// The clones of this thread, by the numbers of their values.
    static CLONES: RefCell<Vec<Option<Rc<dyn Any>>>> = const { RefCell::new(Vec::new()) };
}

impl<T: Clone + 'static> PerThread<T> {
    pub(crate) fn new(original: T) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Self { original: Mutex::new(original), number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// The clone of this thread.
    pub(crate) fn of_thread(&self) -> Rc<T> {
        let known = CLONES.with_borrow(|clones| clones.get(self.number).cloned().flatten());
        if let Some(Ok(known)) = known.map(Rc::downcast) {
            return known;
        }
        let clone = Rc::new(self.original.lock().unwrap_or_else(PoisonError::into_inner).clone());
        CLONES.with_borrow_mut(|clones| {
            if clones.len() <= self.number {
                clones.resize_with(self.number + 1, || None);
            }
            clones[self.number] = Some(Rc::clone(&clone) as Rc<dyn Any>);
        });
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
}

//! Values that each thread has of its own for an object that all threads share, found by a number.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// The number of an object of which threads have values of their own. No other living object has the same; that of one
/// that is gone is given again, so that numbers stay small however many objects come and go.
#[derive(Debug)]
pub struct SlotNumber {
    number: usize,
    /// Gone with the object.
    life: Arc<()>,
}

/// The values of one thread.
#[derive(Debug)]
pub struct ThreadSlots<T> {
    slots: Vec<Option<Slot<T>>>,
}

#[derive(Debug)]
struct Slot<T> {
    life: Weak<()>,
    value: T,
}

/// The numbers up to the largest one so far that no object has.
static FREE: Mutex<FreeNumbers> = Mutex::new(FreeNumbers { below: BTreeSet::new(), next: 0 });

struct FreeNumbers {
    below: BTreeSet<usize>,
    next: usize,
}

impl SlotNumber {
    /// The smallest number that is free.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "each one is different")]
    pub fn new() -> Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let number = free.below.pop_first().unwrap_or_else(|| {
            free.next += 1;
            free.next - 1
        });
        Self { number, life: Arc::default() }
    }
}

impl Drop for SlotNumber {
    fn drop(&mut self) {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).below.insert(self.number);
    }
}

impl<T> ThreadSlots<T> {
    /// No values.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new() }
    }

    /// The value for an object.
    #[inline]
    pub fn get(&self, number: &SlotNumber) -> Option<&T> {
        let slot = self.slots.get(number.number)?.as_ref()?;
        // Another object may have had the number before.
        std::ptr::eq(slot.life.as_ptr(), Arc::as_ptr(&number.life)).then_some(&slot.value)
    }

    /// Sets the value for an object; gives back the one that was there.
    pub fn set(&mut self, number: &SlotNumber, value: T) -> Option<T> {
        if self.slots.len() <= number.number {
            self.slots.resize_with(number.number + 1, || None);
        }
        let slot = Slot { life: Arc::downgrade(&number.life), value };
        self.slots[number.number].replace(slot).map(|slot| slot.value)
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten().map(|slot| &slot.value)
    }

    /// Takes out the values for objects that are gone. The caller drops them when nothing here is borrowed: they may look
    /// for values themselves.
    #[must_use]
    pub fn take_stale(&mut self) -> Vec<T> {
        self.take_slots(|slot| slot.life.strong_count() == 0)
    }

    /// Takes out values that the caller chooses. As for [`Self::take_stale`].
    #[must_use]
    pub fn take_if(&mut self, is_taken: impl Fn(&T) -> bool) -> Vec<T> {
        self.take_slots(|slot| is_taken(&slot.value))
    }

    fn take_slots(&mut self, is_taken: impl Fn(&Slot<T>) -> bool) -> Vec<T> {
        let stale = self.slots.iter_mut().filter_map(|slot| slot.take_if(|slot| is_taken(slot)));
        let stale = stale.map(|slot| slot.value).collect();
        while matches!(self.slots.last(), Some(None)) {
            self.slots.pop();
        }
        stale
    }
}

impl<T> Default for ThreadSlots<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests of this process take numbers as well: the outcome depends on none of them.
    #[test]
    fn values_are_found_by_the_object_and_not_by_its_number() {
        let mut slots = ThreadSlots::new();
        for round in 0..100 {
            let (one, other) = (SlotNumber::new(), SlotNumber::new());
            assert_ne!(one.number, other.number);
            assert_eq!(slots.get(&one), None);
            slots.set(&one, round);
            assert_eq!((slots.get(&one), slots.get(&other)), (Some(&round), None));
            assert_eq!(slots.set(&one, round + 1), Some(round));
        }
        assert!(slots.slots.len() < 100, "{}", slots.slots.len());
    }

    #[test]
    fn values_of_objects_that_are_gone_are_taken_out() {
        let mut slots = ThreadSlots::new();
        let (kept, gone) = (SlotNumber::new(), SlotNumber::new());
        slots.set(&kept, "kept");
        slots.set(&gone, "gone");
        assert!(slots.take_stale().is_empty());
        drop(gone);
        assert_eq!(slots.take_stale(), ["gone"]);
        assert_eq!(slots.get(&kept), Some(&"kept"));
        drop(kept);
        assert_eq!(slots.take_stale(), ["kept"]);
        assert!(slots.slots.is_empty());
    }
}

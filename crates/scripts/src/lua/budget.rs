//! The time that a script may still take.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use serow_net::time;

/// The time that the running function may still take. A state runs one function at a time.
#[derive(Debug)]
pub(crate) struct Budget {
    /// When the running function has to end; `None` while none runs.
    deadline: Cell<Option<Instant>>,
    /// Whether the running function has gone beyond that: it ends, whatever it does with the error.
    is_exceeded: Cell<bool>,
}

/// How long a function has computed for a request so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent(Duration);

impl Budget {
    pub(crate) fn new() -> Self {
        Self { deadline: Cell::new(None), is_exceeded: Cell::new(false) }
    }

    /// Runs a function, which may take what is left of the limit.
    pub(crate) fn limit<T>(&self, limit: Duration, spent: &mut Spent, run: impl FnOnce() -> T) -> T {
        let begin = time::now();
        self.is_exceeded.set(false);
        self.deadline.set(begin.checked_add(limit.saturating_sub(spent.0)));
        let result = run();
        self.deadline.set(None);
        spent.0 += time::now().duration_since(begin);
        result
    }

    /// Whether the time is over; the first to find out notes it.
    pub(crate) fn look(&self) -> bool {
        if !self.is_exceeded.get() && self.deadline.get().is_some_and(|deadline| time::now() >= deadline) {
            self.is_exceeded.set(true);
        }
        self.is_exceeded.get()
    }

    /// Whether somebody has found out that the time is over.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }
}

/// After how many instructions the clock is read: interpreted, they take about ten microseconds.
pub(crate) const INSTRUCTIONS_PER_LOOK: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_all_parts_counts_together() {
        let (budget, mut spent) = (Budget::new(), Spent::default());
        let hour = Duration::from_secs(3600);
        assert!(!budget.limit(hour, &mut spent, || budget.look()));
        spent.0 = hour;
        assert!(budget.limit(hour, &mut spent, || budget.look()));
        assert!(budget.is_exceeded());
        // The next function has a time of its own.
        assert!(!budget.limit(hour, &mut Spent::default(), || budget.look()));
        assert!(!budget.look());
    }
}

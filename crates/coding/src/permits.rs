//! How many bodies are compressed at once.

use std::sync::Arc;

/// How many bodies are being compressed on one core, and how many may be.
#[derive(Debug)]
pub struct Permits {
    given: Arc<()>,
    most: usize,
}

/// The right to keep one encoder; it is given back when it is dropped.
#[derive(Debug)]
pub struct Permit(#[allow(dead_code, reason = "it is counted by being held")] Arc<()>);

impl Permits {
    /// So many at once.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { given: Arc::new(()), most }
    }

    /// Another permit, unless all are given.
    #[must_use]
    pub fn take(&self) -> Option<Permit> {
        (Arc::strong_count(&self.given) <= self.most).then(|| Permit(Arc::clone(&self.given)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_come_back() {
        let permits = Permits::new(2);
        let one = permits.take();
        let two = permits.take();
        assert!(one.is_some() && two.is_some() && permits.take().is_none());
        drop(one);
        assert!(permits.take().is_some());
    }
}

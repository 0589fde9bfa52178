//! Several requests, each as often as its weight says.

use std::rc::Rc;

use crate::Batch;

/// Requests in turn, each as often as its weight says and spread out evenly (nginx's smooth weighted round robin), so
/// that the proportions are exact in any stretch of a run.
pub(crate) struct Mix {
    entries: Vec<Entry>,
    total: i64,
}

struct Entry {
    weight: i64,
    current: i64,
    batch: Rc<Batch>,
}

impl Mix {
    /// `start` is where the turn begins, so that threads do not ask for the same at once.
    pub(crate) fn new(batches: &[(u32, Batch)], start: usize) -> Self {
        let entry = |(weight, batch): &(u32, Batch)| Entry {
            weight: i64::from(*weight),
            current: 0,
            batch: Rc::new(batch.clone()),
        };
        let entries: Vec<_> = batches.iter().map(entry).collect();
        let total = entries.iter().map(|entry| entry.weight).sum();
        let mut mix = Self { entries, total };
        for _ in 0..start % mix.entries.len().max(1) {
            mix.next();
        }
        mix
    }

    /// The next request; none where there are none.
    pub(crate) fn next(&mut self) -> Option<Rc<Batch>> {
        for entry in &mut self.entries {
            entry.current += entry.weight;
        }
        // The first of equals, so that the order is that of the file.
        let chosen = self.entries.iter_mut().rev().max_by_key(|entry| entry.current)?;
        chosen.current -= self.total;
        Some(Rc::clone(&chosen.batch))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::Parts;

    fn batch(path: &str) -> Batch {
        let parts = Parts { method: "GET", path, host: "a", headers: &[], body: Bytes::new(), close: false };
        Batch::new(&parts).unwrap()
    }

    #[test]
    fn weights_hold_in_every_round() {
        let mut mix = Mix::new(&[(5, batch("/a")), (1, batch("/b")), (1, batch("/c"))], 0);
        let round = |mix: &mut Mix| {
            let path = |batch: Rc<Batch>| batch.requests()[0].head.target.as_str().to_owned();
            (0..7).map(|_| mix.next().map(path).unwrap()).collect::<String>()
        };
        assert_eq!(round(&mut mix), "/a/a/b/a/c/a/a");
        assert_eq!(round(&mut mix), "/a/a/b/a/c/a/a");
        let mut other = Mix::new(&[(1, batch("/a")), (1, batch("/b"))], 1);
        assert_eq!(other.next().unwrap().requests()[0].head.target.as_str(), "/b");
    }
}

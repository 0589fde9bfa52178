//! What a store holds, for people: its largest URLs, hosts and tags.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use super::CacheStore;

/// By what the contents of a store are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentsOrder {
    /// The URLs that take the most memory.
    Largest,
    /// The hosts that take the most memory.
    Host,
    /// The tags that the most responses have.
    Tag,
}

/// A line of the contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentsLine {
    /// A URL, the scheme and host of one, or a tag.
    pub name: String,
    /// Its responses.
    pub responses: u64,
    /// Bytes that they take; nobody counts those of a tag.
    pub bytes: Option<u64>,
}

impl CacheStore {
    /// The first so many lines of the contents.
    #[must_use]
    pub fn contents(&self, order: ContentsOrder, lines: usize) -> Vec<ContentsLine> {
        let memory = &self.shared.memory;
        let mut first = First::new(lines);
        match order {
            ContentsOrder::Largest => memory.visit(|key, responses, bytes| {
                first.offer(bytes, || (key.uri().to_owned(), responses as u64, Some(bytes)));
            }),
            ContentsOrder::Host => {
                let mut hosts: HashMap<String, (u64, u64)> = HashMap::new();
                memory.visit(|key, responses, bytes| {
                    let uri = key.uri();
                    let host = uri.find("://").and_then(|start| uri[start + 3..].find('/').map(|end| start + 3 + end));
                    let sums = hosts.entry(uri[..host.unwrap_or(uri.len())].to_owned()).or_default();
                    (sums.0, sums.1) = (sums.0 + responses as u64, sums.1 + bytes);
                });
                for (name, (responses, bytes)) in hosts {
                    first.offer(bytes, || (name, responses, Some(bytes)));
                }
            }
            ContentsOrder::Tag => memory.visit_tags(|name, responses| {
                first.offer(responses as u64, || (String::from_utf8_lossy(name).into_owned(), responses as u64, None));
            }),
        }
        first.lines()
    }
}

/// The first of many lines: those with the largest sizes, and of equal ones, in the order of their names.
struct First {
    count: usize,
    heap: BinaryHeap<Reverse<SizedLine>>,
}

/// A line as it is compared: size and name, and behind them responses and bytes.
type SizedLine = (u64, Reverse<String>, u64, Option<u64>);

impl First {
    fn new(count: usize) -> Self {
        Self { count, heap: BinaryHeap::new() }
    }

    fn offer(&mut self, size: u64, line: impl FnOnce() -> (String, u64, Option<u64>)) {
        let is_full = self.heap.len() >= self.count;
        if is_full && self.heap.peek().is_none_or(|Reverse(least)| least.0 > size) {
            return;
        }
        let (name, responses, bytes) = line();
        self.heap.push(Reverse((size, Reverse(name), responses, bytes)));
        if is_full {
            self.heap.pop();
        }
    }

    fn lines(self) -> Vec<ContentsLine> {
        let lines = self.heap.into_sorted_vec().into_iter();
        lines.map(|Reverse((_, Reverse(name), responses, bytes))| ContentsLine { name, responses, bytes }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_equal_ones_by_name() {
        let mut first = First::new(3);
        for (name, size) in [("c", 5), ("b", 7), ("a", 5), ("d", 1), ("e", 9)] {
            first.offer(size, || (name.to_owned(), 1, Some(size)));
        }
        let lines: Vec<_> = first.lines().into_iter().map(|line| (line.name, line.bytes)).collect();
        assert_eq!(lines, [("e".to_owned(), Some(9)), ("b".to_owned(), Some(7)), ("a".to_owned(), Some(5))]);
        let mut none = First::new(0);
        none.offer(1, || unreachable!());
        assert_eq!(none.lines(), []);
    }
}

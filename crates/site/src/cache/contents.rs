//! The contents of a store, for people: its largest URLs, hosts and tags.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use serow_cache::ResourceSize;

use super::CacheStore;

/// By what the contents of a store are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentsOrder {
    /// The URLs that take the most memory.
    Largest,
    /// The URLs that were requested most.
    Requested,
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
    /// Requests that have found them since they came into memory; nobody counts those of a tag.
    pub requests: Option<u64>,
}

impl ContentsLine {
    fn of_resources(name: &str, size: ResourceSize) -> Self {
        let ResourceSize { responses, bytes, requests } = size;
        Self { name: name.to_owned(), responses, bytes: Some(bytes), requests: Some(requests) }
    }
}

impl CacheStore {
    /// The first so many lines of the contents.
    #[must_use]
    pub fn contents(&self, order: ContentsOrder, lines: usize) -> Vec<ContentsLine> {
        let memory = &self.shared.memory;
        let mut first = First::new(lines);
        match order {
            ContentsOrder::Largest => memory.visit(|key, size| {
                first.offer(size.bytes, || ContentsLine::of_resources(key.uri(), size));
            }),
            ContentsOrder::Requested => memory.visit(|key, size| {
                first.offer(size.requests, || ContentsLine::of_resources(key.uri(), size));
            }),
            ContentsOrder::Host => {
                let mut hosts: HashMap<String, ResourceSize> = HashMap::new();
                memory.visit(|key, size| {
                    let uri = key.uri();
                    let host = uri.find("://").and_then(|start| uri[start + 3..].find('/').map(|end| start + 3 + end));
                    let sum = hosts.entry(uri[..host.unwrap_or(uri.len())].to_owned()).or_default();
                    sum.responses += size.responses;
                    sum.bytes += size.bytes;
                    sum.requests += size.requests;
                });
                for (name, size) in hosts {
                    first.offer(size.bytes, || ContentsLine::of_resources(&name, size));
                }
            }
            ContentsOrder::Tag => memory.visit_tags(|name, responses| {
                let responses = responses as u64;
                let name = || String::from_utf8_lossy(name).into_owned();
                first.offer(responses, || ContentsLine { name: name(), responses, bytes: None, requests: None });
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

/// A line as it is compared: size and name, and behind them the rest.
type SizedLine = (u64, Reverse<String>, u64, Option<u64>, Option<u64>);

impl First {
    fn new(count: usize) -> Self {
        Self { count, heap: BinaryHeap::new() }
    }

    fn offer(&mut self, size: u64, line: impl FnOnce() -> ContentsLine) {
        let is_full = self.heap.len() >= self.count;
        if is_full && self.heap.peek().is_none_or(|Reverse(least)| least.0 > size) {
            return;
        }
        let ContentsLine { name, responses, bytes, requests } = line();
        self.heap.push(Reverse((size, Reverse(name), responses, bytes, requests)));
        if is_full {
            self.heap.pop();
        }
    }

    fn lines(self) -> Vec<ContentsLine> {
        let lines = self.heap.into_sorted_vec().into_iter();
        let line = |Reverse((_, Reverse(name), responses, bytes, requests)): Reverse<SizedLine>| ContentsLine {
            name,
            responses,
            bytes,
            requests,
        };
        lines.map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_equal_ones_by_name() {
        let mut first = First::new(3);
        for (name, size) in [("c", 5), ("b", 7), ("a", 5), ("d", 1), ("e", 9)] {
            let size_of = ResourceSize { responses: 1, bytes: size, requests: 0 };
            first.offer(size, || ContentsLine::of_resources(name, size_of));
        }
        let lines: Vec<_> = first.lines().into_iter().map(|line| (line.name, line.bytes)).collect();
        assert_eq!(lines, [("e".to_owned(), Some(9)), ("b".to_owned(), Some(7)), ("a".to_owned(), Some(5))]);
        let mut none = First::new(0);
        none.offer(1, || unreachable!());
        assert_eq!(none.lines(), []);
    }
}

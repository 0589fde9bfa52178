//! In which order entries are shown.

use std::cmp::Ordering;

use super::{entries::Entry, query::parameter};

/// By what entries are sorted, and which way. Folders come first either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) column: Column,
    pub(super) descending: bool,
}

/// The column that entries are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Name,
    Size,
    Modified,
}

impl Column {
    /// As it is written in a query.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Size => "size",
            Self::Modified => "modified",
        }
    }
}

impl Order {
    /// Reads `?sort=` and `?order=`; the default is by name, ascending.
    pub(super) fn of(query: &str) -> Self {
        let column = match parameter(query, "sort") {
            Some("size") => Column::Size,
            Some("modified") => Column::Modified,
            _ => Column::Name,
        };
        Self { column, descending: parameter(query, "order") == Some("desc") }
    }

    pub(super) fn sort(self, entries: &mut [Entry]) {
        entries.sort_by(|one, other| {
            let by_name = natural(&one.name, &other.name);
            let order = match self.column {
                Column::Name => by_name,
                Column::Size => one.size.cmp(&other.size).then(by_name),
                Column::Modified => one.modified.cmp(&other.modified).then(by_name),
            };
            other.is_folder.cmp(&one.is_folder).then(if self.descending { order.reverse() } else { order })
        });
    }
}

/// Natural order: `file2` before `file10`, ignoring case; bytes decide between names that are equal in this order.
fn natural(one: &[u8], other: &[u8]) -> Ordering {
    let (mut left, mut right) = (one, other);
    loop {
        let (left_digits, right_digits) = (digits(left), digits(right));
        let order = if left_digits > 0 && right_digits > 0 {
            let order = by_number(&left[..left_digits], &right[..right_digits]);
            (left, right) = (&left[left_digits..], &right[right_digits..]);
            order
        } else {
            let (Some((a, left_rest)), Some((b, right_rest))) = (left.split_first(), right.split_first()) else {
                return left.len().cmp(&right.len()).then(one.cmp(other));
            };
            (left, right) = (left_rest, right_rest);
            a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Numbers of any length, compared as numbers.
fn by_number(one: &[u8], other: &[u8]) -> Ordering {
    let (one, other) = (significant(one), significant(other));
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// Digits without the zeros before them.
fn significant(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    &digits[zeros..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn orders() {
        let entry =
            |name: &str, is_folder, size, modified| Entry { name: name.as_bytes().to_vec(), is_folder, size, modified };
        let entries = [
            entry("b10", false, 1, 5),
            entry("B2", false, 3, 4),
            entry("a", false, 2, 6),
            entry("z", true, 0, 1),
            entry("y", true, 0, 2),
        ];
        let cases = [
            ("", ["y", "z", "a", "B2", "b10"]),
            ("sort=name&order=desc", ["z", "y", "b10", "B2", "a"]),
            ("sort=size", ["y", "z", "b10", "a", "B2"]),
            ("sort=size&order=desc", ["z", "y", "B2", "a", "b10"]),
            ("sort=modified", ["z", "y", "B2", "b10", "a"]),
            ("sort=nonsense&order=nonsense", ["y", "z", "a", "B2", "b10"]),
        ];
        for (query, names) in cases {
            let mut sorted = entries.to_vec();
            Order::of(query).sort(&mut sorted);
            let found: Vec<&str> = sorted.iter().map(|entry| std::str::from_utf8(&entry.name).unwrap()).collect();
            assert_eq!(found, names, "{query}");
        }
    }

    #[test]
    fn numbers_count() {
        let ascending =
            ["", "1", "2", "10", "010b", "a", "A1", "a2b", "a2b1", "a002c", "a10", "a99999999999999999999999", "b"];
        for pair in ascending.windows(2) {
            assert_eq!(natural(pair[0].as_bytes(), pair[1].as_bytes()), Ordering::Less, "{pair:?}");
        }
    }

    proptest! {
        /// Sorting panics on an order that contradicts itself.
        #[test]
        fn the_order_is_total(one in "[aA012]{0,5}", two in "[aA012]{0,5}", three in "[aA012]{0,5}") {
            let compare = |a: &str, b: &str| natural(a.as_bytes(), b.as_bytes());
            prop_assert_eq!(compare(&one, &two), compare(&two, &one).reverse());
            prop_assert_eq!(compare(&one, &two) == Ordering::Equal, one == two);
            if compare(&one, &two) == Ordering::Less && compare(&two, &three) == Ordering::Less {
                prop_assert_eq!(compare(&one, &three), Ordering::Less);
            }
        }
    }
}

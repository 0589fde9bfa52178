//! Which bytes of a representation a Range header asks for (RFC 9110 §14).

use std::ops::Range;

/// The meaning of a Range header for a representation of a certain length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ranges {
    /// The header is not understood or too greedy: answer as if it were not there (RFC 9110 §14.2).
    Ignore,
    /// 206 with these bytes; at least one range, none of them empty.
    Satisfy(Vec<Range<u64>>),
    /// 416: none of the ranges lies within the representation.
    Refuse,
}

/// Reads the value of a Range header for a representation of `length` bytes.
pub(crate) fn requested(value: &[u8], length: u64) -> Ranges {
    let Some(specifiers) = specifiers(value) else {
        return Ranges::Ignore;
    };
    let mut ranges = Vec::new();
    let mut count = 0;
    for specifier in specifiers.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
        if specifier.is_empty() {
            continue;
        }
        count += 1;
        if count > MAX_RANGES {
            return Ranges::Ignore;
        }
        match range(specifier, length) {
            Ok(Some(range)) => ranges.push(range),
            Ok(None) => {}
            Err(InvalidRange) => return Ranges::Ignore,
        }
    }
    // Some clients ask for a range of whatever they fetch, to bound its size. An empty file answers them with all it
    // has, as nginx and Go's servers do, not with an error (RFC 9110 §14.2: a server may ignore a Range header).
    if count == 0 || length == 0 || is_greedy(&ranges, length) {
        return Ranges::Ignore;
    }
    if ranges.is_empty() { Ranges::Refuse } else { Ranges::Satisfy(ranges) }
}

/// A specifier that breaks the grammar.
struct InvalidRange;

/// The text behind `bytes=`; other units are ignored (RFC 9110 §14.2). Units are compared without case (§14.1).
fn specifiers(value: &[u8]) -> Option<&[u8]> {
    let (unit, rest) = value.split_at_checked(UNIT.len())?;
    unit.eq_ignore_ascii_case(UNIT).then_some(())?;
    rest.trim_ascii_start().strip_prefix(b"=")
}

/// One `first-last`, `first-` or `-suffix` (RFC 9110 §14.1.2); nothing if it lies behind the end.
fn range(specifier: &[u8], length: u64) -> Result<Option<Range<u64>>, InvalidRange> {
    let dash = specifier.iter().position(|&byte| byte == b'-').ok_or(InvalidRange)?;
    let (first, last) = (&specifier[..dash], &specifier[dash + 1..]);
    let range = match (number(first)?, number(last)?) {
        (None, None) => return Err(InvalidRange),
        (None, Some(suffix)) => length.saturating_sub(suffix)..length,
        (Some(first), None) => first..length,
        (Some(first), Some(last)) if last < first => return Err(InvalidRange),
        (Some(first), Some(last)) => first..last.saturating_add(1).min(length),
    };
    Ok((range.start < range.end).then_some(range))
}

/// A number of any length; one too large for 64 bits lies behind the end of every file.
fn number(digits: &[u8]) -> Result<Option<u64>, InvalidRange> {
    if digits.is_empty() {
        return Ok(None);
    }
    let mut number = 0_u64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(InvalidRange);
        }
        number = number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    }
    Ok(Some(number))
}

/// Whether the ranges ask for more than the whole would cost: more bytes than there are, or more than two overlaps (the
/// number that RFC 9110 §14.2 names). A whole answer is cheaper then, and never more than the file.
fn is_greedy(ranges: &[Range<u64>], length: u64) -> bool {
    let total = ranges.iter().fold(0_u64, |sum, range| sum.saturating_add(range.end - range.start));
    let mut sorted: Vec<_> = ranges.to_vec();
    sorted.sort_unstable_by_key(|range| range.start);
    let overlaps = sorted.windows(2).filter(|pair| pair[1].start < pair[0].end).count();
    ranges.len() > 1 && (total > length || overlaps > 2)
}

const UNIT: &[u8] = b"bytes";

/// How many ranges one request may ask for; a header with more is ignored. "Apache killer", CVE-2011-3192: a thousand
/// overlapping ranges made a server prepare a thousand copies of a file. Readers of PDF, the heaviest honest users, ask
/// for some tens at once; Apache allows 200 since.
const MAX_RANGES: usize = 100;

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges may have one")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn headers_and_their_meaning() {
        use Ranges::{Ignore, Refuse};
        let satisfy = |ranges: &[Range<u64>]| Ranges::Satisfy(ranges.to_vec());
        let cases = [
            ("bytes=0-0", satisfy(&[0..1])),
            ("bytes=0-9", satisfy(&[0..10])),
            ("bytes=5-", satisfy(&[5..10])),
            ("bytes=-3", satisfy(&[7..10])),
            ("bytes=-30", satisfy(&[0..10])),
            ("bytes=2-99999999999999999999999", satisfy(&[2..10])),
            ("Bytes=0-0", satisfy(&[0..1])),
            ("bytes= 0-0 , -1", satisfy(&[0..1, 9..10])),
            ("bytes=,0-0,,", satisfy(&[0..1])),
            ("bytes=9-9,0-0", satisfy(&[9..10, 0..1])),
            ("bytes=0-0,20-30", satisfy(&[0..1])),
            ("bytes=0-5,4-6", satisfy(&[0..6, 4..7])),
            ("bytes=0-9,0-9", Ignore),
            ("bytes=0-1,0-1,0-1,0-1", Ignore),
            ("bytes=10-", Refuse),
            ("bytes=99999999999999999999999-", Refuse),
            ("bytes=-0", Refuse),
            ("bytes=20-30,40-", Refuse),
            ("bytes=5-4", Ignore),
            ("bytes=", Ignore),
            ("bytes=,", Ignore),
            ("bytes=-", Ignore),
            ("bytes=a-b", Ignore),
            ("bytes=1-2-3", Ignore),
            ("bytes=+1-2", Ignore),
            ("bytes 0-1", Ignore),
            ("lines=0-1", Ignore),
            ("", Ignore),
        ];
        for (value, expected) in cases {
            assert_eq!(requested(value.as_bytes(), 10), expected, "{value}");
        }
    }

    #[test]
    fn an_empty_representation_is_sent_whole() {
        for value in ["bytes=0-", "bytes=0-0", "bytes=-1"] {
            assert_eq!(requested(value.as_bytes(), 0), Ranges::Ignore, "{value}");
        }
    }

    #[test]
    fn too_many_ranges_are_ignored() {
        let value = |count: u64| {
            let ranges: Vec<String> = (0..count).map(|start| format!("{}-{}", start * 10, start * 10)).collect();
            format!("bytes={}", ranges.join(","))
        };
        assert!(matches!(requested(value(100).as_bytes(), 10_000), Ranges::Satisfy(ranges) if ranges.len() == 100));
        assert_eq!(requested(value(101).as_bytes(), 10_000), Ranges::Ignore);
    }

    proptest! {
        #[test]
        fn ranges_are_those_of_a_naive_slice(
            length in 0_u64..60,
            specifiers in proptest::collection::vec((proptest::option::of(0_u64..80), proptest::option::of(0_u64..80)), 1..5),
        ) {
            let content: Vec<u64> = (0..length).collect();
            let text: Vec<String> = specifiers.iter()
                .map(|(first, last)| format!(
                    "{}-{}",
                    first.map_or(String::new(), |number| number.to_string()),
                    last.map_or(String::new(), |number| number.to_string()),
                ))
                .collect();
            let naive: Vec<Vec<u64>> = specifiers.iter().map(|&(first, last)| {
                content.iter().copied().filter(|&byte| match (first, last) {
                    (Some(first), Some(last)) => first <= byte && byte <= last,
                    (Some(first), None) => first <= byte,
                    (None, Some(suffix)) => byte + suffix >= length,
                    (None, None) => false,
                }).collect::<Vec<u64>>()
            }).filter(|part| !part.is_empty()).collect();
            match requested(format!("bytes={}", text.join(",")).as_bytes(), length) {
                Ranges::Satisfy(ranges) => {
                    let sent: Vec<Vec<u64>> = ranges.iter()
                        .map(|range| content[range.start as usize..range.end as usize].to_vec())
                        .collect();
                    prop_assert_eq!(sent, naive);
                }
                Ranges::Refuse => prop_assert!(naive.is_empty()),
                Ranges::Ignore => {
                    let invalid = specifiers.iter().any(|pair| match pair {
                        (Some(first), Some(last)) => last < first,
                        (first, last) => first.is_none() && last.is_none(),
                    });
                    let total: usize = naive.iter().map(Vec::len).sum();
                    prop_assert!(invalid || length == 0 || naive.len() > 1 && (total > content.len() || naive.len() > 3));
                }
            }
        }
    }
}

//! The response of a script is the same, or has the same error, wherever the bytes are split; its head can be sent on.

use serow_fastcgi::{ResponseForm, SectionLimits};
use serow_message::Method;

use crate::cgi_readers::{CgiReader, split_at};

/// The target. The last four bytes say where to split, which limits and form hold and what was asked for, so that any
/// response is a seed.
pub fn target(data: &[u8]) {
    let (input, choice) = data.split_at(data.len().saturating_sub(4));
    let (limits, form, method) = settings(choice);
    let new = || CgiReader::new(limits, form, &method);
    let seen = split_at(new(), input, []);
    let mut places: Vec<usize> = choice.iter().map(|&place| usize::from(place) * input.len() / 256).collect();
    places.sort_unstable();
    assert_eq!(split_at(new(), input, places.iter().copied()), seen, "split at {places:?}");
    assert_eq!(split_at(new(), input, 1..input.len()), seen, "byte by byte");
}

/// The settings that the bytes behind an input choose.
pub(crate) fn settings(choice: &[u8]) -> (SectionLimits, ResponseForm, Method) {
    let limits = match choice.first() {
        Some(1) => SectionLimits { bytes: 32, fields: 2 },
        _ => SectionLimits { bytes: 1024, fields: 16 },
    };
    let form = if choice.get(1) == Some(&1) { ResponseForm::CgiOrHttp } else { ResponseForm::Cgi };
    let method = if choice.get(2) == Some(&1) { Method::HEAD } else { Method::GET };
    (limits, form, method)
}

//! A web server sees the same response of a FastCGI application, messages, end and error, wherever the bytes are split.

use crate::{
    cgi_readers::{CgiReader, ResponseReader, split_at},
    cgi_response::settings,
};

/// The target. The last four bytes say where to split and what holds for the script's response, as in `cgi_response`.
pub fn target(data: &[u8]) {
    let (input, choice) = data.split_at(data.len().saturating_sub(4));
    let (limits, form, method) = settings(choice);
    let new = || ResponseReader::new(Some(CgiReader::new(limits, form, &method)));
    let seen = split_at(new(), input, []);
    let mut places: Vec<usize> = choice.iter().map(|&place| usize::from(place) * input.len() / 256).collect();
    places.sort_unstable();
    assert_eq!(split_at(new(), input, places.iter().copied()), seen, "split at {places:?}");
    assert_eq!(split_at(new(), input, 1..input.len()), seen, "byte by byte");
}

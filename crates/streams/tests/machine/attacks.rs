//! Attacks by clients that make a server work, or remember, for nothing; each by the name it is known by.

use core::time::Duration;

use super::script::{Talk, localised};
use crate::protocol::{self, CANCELLED, EXCESSIVE, ErrorCode, Limits, nth};

/// Says lines until the server has had enough, and how many it took; each time it takes what the server sends, as a
/// client that reads.
pub(crate) fn until_it_ends(talk: &mut Talk, most: usize, mut line: impl FnMut(usize) -> String) -> (usize, ErrorCode) {
    for number in 0..most {
        talk.frames.clear();
        let line = line(number);
        talk.say(&line);
        if let Some(code) = talk.code() {
            return (number + 1, code);
        }
    }
    panic!("{most} times, and the server took it all");
}

/// A line with `{}` for the number of the nth request's stream.
pub(crate) fn of_nth(line: &str, number: usize) -> String {
    line.replace("{}", &nth(number).to_string())
}

/// Says a request and what follows it, on one stream after the other, until the server has had enough of resets.
fn until_it_ends_by_turns(request: &str, then: &str) -> Talk {
    let mut talk = Talk::begun(Limits { resets: 100, ..Limits::default() });
    let lines = [request, then];
    let end = until_it_ends(&mut talk, 1000, |number| of_nth(lines[number % 2], number / 2));
    assert_eq!(end, (202, EXCESSIVE), "{then}");
    talk
}

#[test]
fn rapid_reset() {
    // CVE-2023-44487.
    for (request, cut) in protocol::CUTS {
        let talk = until_it_ends_by_turns(request, cut);
        assert_eq!(talk.server.counters().reset_by_peer, 101, "{request}, {cut}");
    }
}

#[test]
fn a_browser_that_leaves_pages_is_no_rapid_reset() {
    for (request, cut) in protocol::CUTS {
        let mut talk = Talk::begun(Limits::default());
        for page in 0..100 {
            for line in [request, cut] {
                (0..100).for_each(|number| talk.say(&of_nth(line, page * 100 + number)));
            }
            talk.now += Duration::from_secs(4);
            assert_eq!(talk.error, None, "{request}, {cut}, page {page}");
        }
    }
}

#[test]
fn made_you_reset() {
    // CVE-2025-8671: the client makes mistakes, so that the server resets streams whose requests are being answered.
    let (request, mistakes) = protocol::MISTAKES;
    for mistake in mistakes {
        until_it_ends_by_turns(request, mistake);
    }
}

#[test]
fn malformed_and_incomplete_requests_are_counted_as_resets() {
    for line in protocol::MALFORMED_REQUESTS {
        let mut talk = Talk::begun(Limits { resets: 100, ..Limits::default() });
        let end = until_it_ends(&mut talk, 1000, |number| of_nth(line, number));
        assert_eq!(end, (101, EXCESSIVE), "{line}");
    }
}

#[test]
fn streams_beyond_the_limit_are_counted_as_resets() {
    let mut talk = Talk::begun(Limits { resets: 100, streams: 4, ..Limits::default() });
    let end = until_it_ends(&mut talk, 1000, |number| of_nth("HEADERS {} | POST /", number));
    assert_eq!(end, (105, EXCESSIVE));
    assert_eq!((talk.server.counters().refused, talk.server.active_streams()), (101, 4));
}

#[test]
fn floods_of_frames_that_bring_nothing() {
    for line in protocol::FLOOD {
        let mut talk = Talk::begun(Limits { idle_frames: 1000, ..Limits::default() });
        for line in ["HEADERS #1 | POST /", "HEADERS #2 end | GET /", "HEADERS #3 | POST /"] {
            talk.say(&localised(line));
        }
        talk.respond(protocol::stream(nth(1)), 200, "hello");
        talk.server.reset(protocol::stream(nth(2)), CANCELLED);
        let (rounds, code) = until_it_ends(&mut talk, 3000, |_| localised(line));
        assert_eq!(code, EXCESSIVE, "{line}");
        assert!((990..=1010).contains(&rounds), "{line}: {rounds}");
    }
}

#[test]
fn frames_that_bring_nothing_may_come_for_ever_if_slowly() {
    let mut talk = Talk::begun(Limits { idle_frames: 100, ..Limits::default() });
    talk.say(&localised("HEADERS #1 | POST /"));
    for _ in 0..1000 {
        talk.now += Duration::from_millis(4);
        talk.say(&localised(protocol::FLOOD[0]));
    }
    assert_eq!(talk.error, None);
}

#[test]
fn fields_without_names() {
    // CVE-2019-9516: "zero-length headers leak".
    let mut talk = Talk::begun(Limits::default());
    talk.say(&localised("HEADERS #1 end | GET / | : | : | :"));
    assert_eq!(talk.events, [localised("refused #1 400")]);
}

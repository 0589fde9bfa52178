//! Scenarios for the tests of the state machines: events at given times.

use std::time::Duration;

/// Runs a scenario: lines `MILLISECONDS EVENT`, and indented below each the actions of the machine. `play` passes the
/// event to the machine and returns its actions and its deadline.
pub(crate) fn check(scenario: &str, mut play: impl FnMut(Duration, &str) -> (Vec<String>, Option<Duration>)) {
    let mut expected = scenario.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).peekable();
    while let Some(line) = expected.next() {
        let (time, event) = line.trim_start().split_once(' ').unwrap();
        let (mut done, deadline) = play(Duration::from_millis(time.parse().unwrap()), event);
        done.push(match deadline {
            Some(deadline) => format!("until {}", deadline.as_millis()),
            None => "until something happens".to_owned(),
        });
        let mut wanted = Vec::new();
        while let Some(line) = expected.next_if(|line| line.starts_with(INDENT)) {
            wanted.push(line.trim().to_owned());
        }
        assert_eq!(done, wanted, "after {line}");
    }
}

const INDENT: &str = "            ";

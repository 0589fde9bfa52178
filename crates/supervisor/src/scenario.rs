//! Courses of events at made-up times, for the tests of machines.

use std::time::Duration;

/// Plays a course: lines `MILLISECONDS EVENT`, and indented below each, what a machine does about it. `play` tells the
/// machine and gives what it did; last comes when the machine is due.
pub(crate) fn check(course: &str, mut play: impl FnMut(Duration, &str) -> (Vec<String>, Option<Duration>)) {
    let mut expected = course.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).peekable();
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

//! The lines that php-fpm writes: which of them the log needs.

/// The lines of a master and its children, one after the other.
#[derive(Debug, Default)]
pub(crate) struct OutputLines {
    /// Whether the line before was a message of a script, which may go on in this one.
    is_in_message: bool,
}

impl OutputLines {
    /// The part of a line for the log; nothing of those that the log has already, or that are of no interest.
    pub(crate) fn take<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        // Messages of scripts also come by FastCGI, where the request is known.
        let is_message = line.starts_with(OF_SCRIPT);
        let goes_on = self.is_in_message && is_backtrace(line);
        // That is the last line of an error.
        self.is_in_message = is_message || goes_on && !line.starts_with(LAST_OF_ERROR);
        if is_message || goes_on {
            return None;
        }
        let text = without_time(line);
        // The master tells of each start and stop; this server does, too.
        let is_usual = text.strip_prefix("NOTICE: ").is_some_and(|notice| !notice.contains("configuration"));
        (!is_usual).then_some(text)
    }
}

/// `[28-Nov-2026 12:30:40] WARNING: …` without the time, which the log has.
fn without_time(line: &str) -> &str {
    let rest = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).filter(|(time, _)| is_time(time));
    rest.map_or(line, |(_, rest)| rest)
}

fn is_time(text: &str) -> bool {
    text.len() >= TIME_LENGTH && text.as_bytes().get(2) == Some(&b'-') && text.as_bytes().get(6) == Some(&b'-')
}

/// The following lines of a fatal error.
fn is_backtrace(line: &str) -> bool {
    let is_frame = line.strip_prefix('#').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    is_frame || line == "Stack trace:" || line.starts_with(LAST_OF_ERROR) || line.starts_with("Next ")
}

/// The length of `28-Nov-2026 12:30:40`.
const TIME_LENGTH: usize = 20;

const LAST_OF_ERROR: &str = "  thrown in ";

/// Before each message of a script in php-fpm's own log.
const OF_SCRIPT: &str = "NOTICE: PHP message: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_scripts_and_usual_notices_are_left_out() {
        let mut lines = OutputLines::default();
        let cases = [
            ("[28-Nov-2026 12:30:40] NOTICE: fpm is running, pid 31889", None),
            ("[28-Nov-2026 12:30:40] NOTICE: [pool child1] child 7 started", None),
            (
                "[28-Nov-2026 12:30:40] WARNING: [pool child1] child 7 exited on signal 11 (SIGSEGV) after 3.1 seconds from start",
                Some("WARNING: [pool child1] child 7 exited on signal 11 (SIGSEGV) after 3.1 seconds from start"),
            ),
            ("NOTICE: PHP message: hello", None),
            ("written to php://stderr", Some("written to php://stderr")),
            ("NOTICE: PHP message: PHP Fatal error:  Uncaught Exception: x in /a.php:1", None),
            ("Stack trace:", None),
            ("#0 /a.php(2): f()", None),
            ("#1 {main}", None),
            ("  thrown in /a.php on line 1", None),
            ("#1 is not a frame here", Some("#1 is not a frame here")),
            ("[not a time] text", Some("[not a time] text")),
            (
                "[28-Nov-2026 12:30:40] ERROR: failed to open configuration file",
                Some("ERROR: failed to open configuration file"),
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(lines.take(line), expected, "{line}");
        }
    }
}

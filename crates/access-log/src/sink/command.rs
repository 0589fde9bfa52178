//! A command of the shell that reads lines from its standard input.

use std::{
    io::{ErrorKind, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Stdio},
    thread,
    time::Duration,
};

use rustix::{
    io::ioctl_fionread,
    process::{Pid, Signal, kill_process_group},
};
use tokio::time::Instant;

use crate::{retry::Retry, sink_error::SinkError};

/// The command, running or not. The next run receives the lines that one that ended has not read.
pub(crate) struct Command {
    line: String,
    running: Option<Running>,
    retry: Retry,
    /// Whole lines that the last run has not read.
    unread: Vec<u8>,
}

struct Running {
    child: Child,
    input: ChildStdin,
    /// The last that it was given: no less than a pipe holds.
    given: Vec<u8>,
}

impl Command {
    pub(super) fn new(line: String) -> Self {
        Self { line, running: None, retry: Retry::new(), unread: Vec::new() }
    }

    /// Writes lines to the command, and starts it where it does not run. Lines that it has not read when it ends are
    /// given to the next run.
    pub(super) fn write(&mut self, lines: &[u8]) -> (usize, Result<(), SinkError>) {
        let mut unread = std::mem::take(&mut self.unread);
        let running = match self.running() {
            Ok(running) => running,
            Err(error) => {
                self.unread = unread;
                return (0, Err(error));
            }
        };
        let given = running.give(&unread);
        unread.drain(..given);
        let mut written = 0;
        if unread.is_empty() {
            written = running.give(lines);
        }
        if unread.is_empty() && written == lines.len() {
            return (written, Ok(()));
        }
        let (before, reason) = self.end();
        self.unread = [before, unread].concat();
        (written, Err(SinkError::Failed { reason, pause: self.retry.pause() }))
    }

    fn running(&mut self) -> Result<&mut Running, SinkError> {
        let running = match self.running.take() {
            Some(running) => running,
            None => Running::start(&self.line)
                .inspect(|_| self.retry.note_begun())
                .map_err(|error| SinkError::Failed { reason: format!("sh: {error}"), pause: self.retry.pause() })?,
        };
        Ok(self.running.insert(running))
    }

    /// It takes no more. Gives what it has not read, and how it ended.
    fn end(&mut self) -> (Vec<u8>, String) {
        let Some(mut running) = self.running.take() else { return (Vec::new(), String::new()) };
        let unread = running.unread();
        let reason = match running.wait(FAREWELL) {
            // The shell's status where it does not find the command (POSIX, Shell Command Language 2.8.2).
            Some(status) if status.code() == Some(127) => {
                format!("its command is not found: {} (exit status 127)", self.line)
            }
            Some(status) => format!("its command ended ({status})"),
            None => {
                running.terminate();
                "its command has closed its input".to_owned()
            }
        };
        (unread, reason)
    }

    /// Closes its input, and lets it do what is left to do, for a moment.
    pub(super) fn finish(mut self) {
        if self.running.as_mut().is_some_and(Running::has_ended) {
            (self.unread, _) = self.end();
        }
        if !self.unread.is_empty() {
            let _ = self.write(b"");
        }
        if let Some(Running { mut child, input, .. }) = self.running {
            drop(input);
            wait(&mut child, FAREWELL);
        }
    }
}

impl Running {
    /// In a process group of its own: Ctrl-C ends the server, and its end that of the command, with all lines read.
    fn start(line: &str) -> std::io::Result<Self> {
        let mut command = std::process::Command::new("sh");
        let mut child = command.arg("-c").arg(line).stdin(Stdio::piped()).process_group(0).spawn()?;
        let input = child.stdin.take().ok_or(ErrorKind::BrokenPipe)?;
        Ok(Self { child, input, given: Vec::new() })
    }

    /// Gives it bytes; less than all where it takes no more.
    fn give(&mut self, bytes: &[u8]) -> usize {
        let mut given = 0;
        while given < bytes.len() {
            match self.input.write(&bytes[given..]) {
                Ok(0) => break,
                Ok(length) => given += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        if self.given.len() > 2 * KEPT {
            self.given.drain(..self.given.len() - KEPT);
        }
        self.given.extend_from_slice(&bytes[..given]);
        given
    }

    /// Returns the bytes that it was given and has not read, from the beginning of a line.
    fn unread(&self) -> Vec<u8> {
        let in_pipe = ioctl_fionread(&self.input).unwrap_or_default();
        let read = self.given.len().saturating_sub(usize::try_from(in_pipe).unwrap_or(usize::MAX));
        let line = self.given[..read].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.given[line..].to_vec()
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn wait(&mut self, most: Duration) -> Option<std::process::ExitStatus> {
        wait(&mut self.child, most)
    }

    /// One that lives without reading is of no use, and its place is needed.
    fn terminate(&mut self) {
        // It may have ended just now.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::TERM);
    }
}

/// Waits for the end of a process, but not longer than that.
fn wait(child: &mut Child, most: Duration) -> Option<std::process::ExitStatus> {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if began.elapsed() < most => thread::sleep(PAUSE),
            outcome => return outcome.ok().flatten(),
        }
    }
}

/// The capacity of a pipe (pipe(7)), and room for the rest of a line before that.
const KEPT: usize = 128 * 1024;

/// How long an end takes that is one: less than the server's end waits for the log.
const FAREWELL: Duration = Duration::from_secs(1);

/// Between looks at a process that is about to end.
const PAUSE: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes all, as often as it takes.
    fn write(command: &mut Command, lines: &str) -> Vec<String> {
        let (mut written, mut reasons) = (0, Vec::new());
        while reasons.len() < 1000 {
            let (more, outcome) = command.write(&lines.as_bytes()[written..]);
            written += more;
            match outcome {
                Ok(()) => return reasons,
                Err(SinkError::Failed { reason, .. }) => reasons.push(reason),
                Err(error) => panic!("{error:?}"),
            }
        }
        panic!("{reasons:?}");
    }

    #[test]
    fn a_command_reads_all_before_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a b");
        let mut command = Command::new(format!("cat >'{}'", file.display()));
        assert_eq!(write(&mut command, "one\ntwo\n"), [""; 0]);
        assert_eq!(write(&mut command, "three\n"), [""; 0]);
        command.finish();
        assert_eq!(std::fs::read_to_string(file).unwrap(), "one\ntwo\nthree\n");
    }

    /// The shell's `read` takes one byte at a time, so that it reads no line it does not use.
    #[test]
    fn lines_that_a_command_has_not_read_go_to_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lines");
        let show = file.display();
        let mut command = Command::new(format!("for i in 1 2 3; do read -r l && echo \"$l\" >>{show}; done; exit 7"));
        let lines: String = (0..100).map(|number| format!("line {number}\n")).collect();
        let mut reasons = write(&mut command, &lines);
        // Only a write shows that it has ended.
        for _ in 0..200 {
            let is_complete = std::fs::read_to_string(&file).is_ok_and(|text| text.lines().count() >= 100);
            if is_complete && command.running.as_mut().is_none_or(Running::has_ended) {
                break;
            }
            if command.running.as_mut().is_none_or(Running::has_ended) {
                let (unread, reason) = command.end();
                reasons.push(reason);
                command.unread = unread;
                reasons.extend(write(&mut command, ""));
            }
            thread::sleep(PAUSE);
        }
        command.finish();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), lines);
        assert!(reasons.iter().all(|reason| reason == "its command ended (exit status: 7)"), "{reasons:?}");
        assert!(reasons.len() >= 30, "{}", reasons.len());
    }

    #[test]
    fn one_that_ends_before_the_server_does_is_started_once_more() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lines");
        let mut command = Command::new(format!("read -r l && echo \"$l\" >>'{}'", file.display()));
        assert_eq!(write(&mut command, "one\ntwo\n"), [""; 0]);
        wait(&mut command.running.as_mut().unwrap().child, Duration::from_secs(20)).unwrap();
        command.finish();
        assert_eq!(std::fs::read_to_string(file).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_command_that_is_not_found_is_named() {
        let mut command = Command::new("serow-no-such-command 2>/dev/null".to_owned());
        write(&mut command, "one\n");
        if let Some(running) = &mut command.running {
            wait(&mut running.child, Duration::from_secs(20)).unwrap();
            let (_, reason) = command.end();
            assert_eq!(reason, "its command is not found: serow-no-such-command 2>/dev/null (exit status 127)");
        }
    }

    #[test]
    fn one_that_does_not_read_is_ended() {
        let mut command = Command::new("exec <&-; sleep 3600".to_owned());
        let lines = "x".repeat(200_000) + "\n";
        let (_, outcome) = command.write(lines.as_bytes());
        assert!(
            matches!(outcome, Err(SinkError::Failed { reason, .. }) if reason == "its command has closed its input")
        );
        assert!(command.running.is_none());
    }
}

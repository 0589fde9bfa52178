//! The two servers as processes: they start, and end with the comparison.

use std::{
    fs::{self, File},
    io,
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use super::{deadline::Deadline, printed::Printed, rehearsal::lines_of_nginx};
use serow_nginx_syntax::directive::Directive;

/// A server.
#[derive(Debug)]
pub(super) struct Server {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts a server, and waits until it accepts connections on its ports.
    ///
    /// # Errors
    ///
    /// The message of the server, if it does not.
    pub(super) fn start(
        name: &'static str,
        command: &mut Command,
        log: PathBuf,
        ports: &[u16],
    ) -> Result<Self, String> {
        let cannot = |error: io::Error| format!("cannot start {name}: {error}");
        let output = File::create(&log).map_err(cannot)?;
        let errors = output.try_clone().map_err(cannot)?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn().map_err(cannot)?;
        let mut server = Self { name, child, log };
        server.wait(ports)?;
        Ok(server)
    }

    fn wait(&mut self, ports: &[u16]) -> Result<(), String> {
        let deadline = Deadline::after(START);
        for port in ports {
            while TcpStream::connect(("127.0.0.1", *port)).is_err() {
                if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                    return Err(format!("{} does not start: {}", self.name, self.said()));
                }
                if deadline.is_over() {
                    let seconds = START.as_secs();
                    let problem = format!("accepts no connections on port {port} after {seconds} s");
                    return Err(format!("{} {problem}: {}", self.name, self.said()));
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(())
    }

    /// The beginning and the end of what it wrote.
    fn said(&self) -> String {
        let mut text = fs::read(&self.log).unwrap_or_default();
        text.extend(fs::read(self.log.with_file_name("error.log")).unwrap_or_default());
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let first = lines.len().min(MAX_LINES);
        let last = lines.len().saturating_sub(MAX_LINES).max(first);
        [&lines[..first], &lines[last..]].concat().join("\n")
    }

    /// Its status and its last messages, if it has ended.
    pub(super) fn has_ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("{} has ended with {status}: {}", self.name, self.said()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // TERM lets it end its own processes.
        let _ = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).stderr(Stdio::null()).status();
        let deadline = Deadline::after(END);
        while self.child.try_wait().is_ok_and(|status| status.is_none()) && !deadline.is_over() {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Removes the lines that this nginx refuses from a configuration, and returns them with the reason.
///
/// # Errors
///
/// The message of nginx that concerns no line of it.
pub(super) fn make_valid(nginx: &Path, folder: &Path, directives: &mut Vec<Directive>) -> Result<Vec<String>, String> {
    let mut removed = Vec::new();
    let file = folder.join("nginx.conf");
    for _ in 0..MAX_REMOVED {
        let printed = write_nginx(&file, folder, directives)?;
        let output =
            Command::new(nginx).arg("-t").arg("-p").arg(folder).arg("-c").arg(&file).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("cannot start {}: {error}", nginx.display()))?;
        if output.status.success() {
            return Ok(removed);
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let message = text.lines().find(|line| line.contains("[emerg]")).unwrap_or(text.trim());
        // Its process and thread stand before the message.
        let message = message.split("[emerg] ").last().unwrap_or(message);
        let message = message
            .split_once("#")
            .and_then(|(_, rest)| rest.split_once(": "))
            .map_or(message, |(_, rest)| rest)
            .to_owned();
        let before = removed.len();
        if let Some(name) = message.strip_prefix("unknown \"").and_then(|rest| rest.strip_suffix("\" variable")) {
            remove(
                directives,
                &|directive| {
                    directive
                        .texts()
                        .any(|word| word.contains(&format!("${name}")) || word.contains(&format!("${{{name}}}")))
                },
                &message,
                &mut removed,
            );
        } else if message.starts_with("no servers are inside upstream") {
            let is_empty = |directive: &Directive| {
                directive.name() == "upstream" && !directive.children().iter().any(|inner| inner.name() == "server")
            };
            remove(directives, &is_empty, &message, &mut removed);
        } else if let Some(ciphers) = message.strip_prefix("SSL_CTX_set_cipher_list(\"") {
            let is_refused = |directive: &Directive| {
                directive.name() == "ssl_ciphers" && directive.word(0).is_some_and(|word| ciphers.starts_with(word))
            };
            remove(directives, &is_refused, &message, &mut removed);
        } else if let Some((why, line)) = message
            .rsplit_once(':')
            .and_then(|(start, line)| Some((start.rsplit_once(" in ")?.0, line.parse::<usize>().ok()?)))
            && let Some(number) = printed.directive_of(line).filter(|number| *number != usize::MAX)
        {
            remove(directives, &|directive| directive.number == number, why, &mut removed);
        }
        if removed.len() == before {
            return Err(message);
        }
    }
    Err(format!("this nginx refuses more than {MAX_REMOVED} lines of the configuration"))
}

/// Writes nginx's file.
fn write_nginx(file: &Path, folder: &Path, directives: &[Directive]) -> Result<Printed, String> {
    let own = lines_of_nginx(folder);
    let all: Vec<Directive> = own.into_iter().chain(directives.iter().cloned()).collect();
    let printed = Printed::of(&all, &|_, _| None);
    fs::write(file, &printed.text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    Ok(printed)
}

fn remove(
    directives: &mut Vec<Directive>,
    is_refused: &dyn Fn(&Directive) -> bool,
    why: &str,
    removed: &mut Vec<String>,
) {
    directives.retain_mut(|directive| {
        if is_refused(directive) {
            removed.push(format!("{}: {}: {why}", directive.place, directive.quoted()));
            return false;
        }
        if let Some(block) = &mut directive.block {
            remove(block, is_refused, why, removed);
        }
        true
    });
}

/// Enough for configurations of other builds of nginx.
const MAX_REMOVED: usize = 200;
/// The first error, and the last one.
const MAX_LINES: usize = 12;
/// A server of thousands of sites takes seconds on a busy machine.
const START: Duration = Duration::from_secs(60);
const END: Duration = Duration::from_secs(3);

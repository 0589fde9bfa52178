//! The line that says where a server can be seen.

use std::io::{self, Write};

use serow::BoundServer;

use crate::{encryption::Encryption, failure::on_one_line};

/// Says what is served and where it can be seen. On standard error: standard output is for the access log.
pub(crate) fn announce(line: &str) {
    // It serves as well where nobody reads this.
    let _ = writeln!(io::stderr(), "{}", on_one_line(line));
}

/// Says what a worker of an application has written, with the worker's number; without one it is of the process that workers
/// are forked from.
pub(crate) fn of_worker(application: &str, worker: usize, line: &str) {
    let line = line.replace('\t', "    ");
    match worker {
        0 => announce(&format!("{application}: {line}")),
        worker => announce(&format!("{application} {worker}: {line}")),
    }
}

/// What is served and where it can be seen.
pub(crate) fn line(served: &str, server: &BoundServer, encryption: Option<&Encryption>) -> String {
    let mut urls: Vec<_> = server.urls().collect();
    // Several sockets of one address that belong to one thread.
    urls.dedup();
    let mut line = format!("Serving {served} at {}", urls.join(" and "));
    if let Some(fingerprint) = encryption.and_then(|encryption| encryption.fingerprint.as_ref()) {
        line.push_str(&format!(" (certificate for development, SHA-256 {fingerprint})"));
    }
    line
}

//! Sockets that a supervisor opened for this process: the default listeners.

use std::{env, os::fd::RawFd, process};

use serow::Address;

/// The sockets that this process was started with, by the protocol of Server::Starter or systemd; none where it was
/// not.
pub(super) fn addresses() -> Vec<Address> {
    addresses_of(|name| env::var(name).ok(), process::id())
}

fn addresses_of(variable: impl Fn(&str) -> Option<String>, own_pid: u32) -> Vec<Address> {
    let from_starter = variable("SERVER_STARTER_PORT").map(|ports| of_starter(&ports)).unwrap_or_default();
    if !from_starter.is_empty() {
        return from_starter;
    }
    let number = |name| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
    // sd_listen_fds(3): what another process was given may have been left in the environment.
    let count = if number("LISTEN_PID") == Some(own_pid) { number("LISTEN_FDS").unwrap_or(0) } else { 0 };
    let last = RawFd::try_from(count.min(MOST)).unwrap_or(0) + FIRST;
    (FIRST..last).map(Address::Descriptor).collect()
}

/// `8080=3;/run/app.sock=4`; a path may hold `=`.
fn of_starter(ports: &str) -> Vec<Address> {
    let numbers = ports.split(';').filter_map(|item| item.rsplit_once('=')?.1.trim().parse().ok());
    numbers.map(Address::Descriptor).collect()
}

/// SD_LISTEN_FDS_START.
const FIRST: RawFd = 3;

/// More sockets than anybody hands over: each is tried in turn.
const MOST: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_found_in_the_environment() {
        type Variables<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Variables<'_>, &[RawFd]); 10] = [
            (&[], &[]),
            (&[("SERVER_STARTER_PORT", "")], &[]),
            (&[("SERVER_STARTER_PORT", "8080=4")], &[4]),
            (&[("SERVER_STARTER_PORT", "8080=4;[::1]:80=0;/run/a=b.sock=7")], &[4, 0, 7]),
            (&[("SERVER_STARTER_PORT", "8080=5"), ("LISTEN_FDS", "1"), ("LISTEN_PID", "77")], &[5]),
            (&[("SERVER_STARTER_PORT", ""), ("LISTEN_FDS", "1"), ("LISTEN_PID", "77")], &[3]),
            (&[("LISTEN_FDS", "3"), ("LISTEN_PID", "77")], &[3, 4, 5]),
            (&[("LISTEN_FDS", "3"), ("LISTEN_PID", "78")], &[]),
            (&[("LISTEN_FDS", "3")], &[]),
            (&[("LISTEN_FDS", "-1"), ("LISTEN_PID", "77")], &[]),
        ];
        for (variables, expected) in cases {
            let variable = |wanted: &str| {
                let found = variables.iter().find(|(name, _)| *name == wanted);
                found.map(|(_, value)| (*value).to_owned())
            };
            let expected: Vec<_> = expected.iter().copied().map(Address::Descriptor).collect();
            assert_eq!(addresses_of(variable, 77), expected, "{variables:?}");
        }
    }
}

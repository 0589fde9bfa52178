//! Inheriting listening sockets from the process that started this one, and passing sockets on to the programs that it
//! starts: the environment variables of Server::Starter and of systemd (sd_listen_fds(3)).

use std::{
    env,
    ffi::OsString,
    fs::File,
    io,
    os::{
        fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd},
        unix::process::CommandExt,
    },
    process::{self, Command, Stdio},
};

use rustix::{
    io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    stdio::{dup2_stdin, stdin},
};

use crate::{
    Address,
    channel::{Channel, MAX_DESCRIPTORS},
    process::place,
};

/// The sockets that this process inherited, by the protocol of Server::Starter or systemd; none where it inherited
/// none.
#[must_use]
pub fn addresses() -> Vec<Address> {
    addresses_of(|name| env::var(name).ok(), process::id())
}

fn addresses_of(variable: impl Fn(&str) -> Option<String>, own_pid: u32) -> Vec<Address> {
    let from_starter = variable(SERVER_STARTER_PORT).map(|ports| of_starter(&ports)).unwrap_or_default();
    if !from_starter.is_empty() {
        return from_starter;
    }
    let number = |name| variable(name).and_then(|text| text.trim().parse::<u32>().ok());
    // sd_listen_fds(3): the variables may have been meant for another process.
    let count = if number(LISTEN_PID) == Some(own_pid) { number(LISTEN_FDS).unwrap_or(0) } else { 0 };
    let last = RawFd::try_from(count.min(MAX_SOCKETS)).unwrap_or(0) + FIRST_DESCRIPTOR;
    (FIRST_DESCRIPTOR..last).map(Address::Descriptor).collect()
}

/// `8080=3;/run/app.sock=4`; a path may hold `=`.
fn of_starter(ports: &str) -> Vec<Address> {
    let numbers = ports.split(';').filter_map(|item| item.rsplit_once('=')?.1.trim().parse().ok());
    numbers.map(Address::Descriptor).collect()
}

/// Removes the variables that describe what this process inherited: those sockets are not for the command.
pub fn remove_variables(command: &mut Command) {
    let names = [LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES, "LISTEN_PIDFDID", "NOTIFY_SOCKET"];
    for name in names.into_iter().chain([SERVER_STARTER_PORT, SERVER_STARTER_GENERATION]) {
        command.env_remove(name);
    }
}

/// Sets the variables that tell a command of one socket, which it finds as descriptor [`FIRST_DESCRIPTOR`]; `name` is
/// its port, as in `127.0.0.1:8080`, or its path. See [`take_from_standard_input`] for how the socket gets there.
pub fn describe_socket(command: &mut Command, name: &str, generation: u64) {
    describe_sockets(command, &format!("{name}={FIRST_DESCRIPTOR}"), &[name.replace(':', "-")], generation);
}

/// Sets the variables that tell a command of its sockets: `ports` is the value of `SERVER_STARTER_PORT`, and
/// `names_from_first` are the names of those from descriptor [`FIRST_DESCRIPTOR`] on, without a gap.
pub fn describe_sockets(command: &mut Command, ports: &str, names_from_first: &[String], generation: u64) {
    command.env(SERVER_STARTER_PORT, ports);
    command.env(SERVER_STARTER_GENERATION, generation.to_string());
    if !names_from_first.is_empty() {
        command.env(LISTEN_FDS, names_from_first.len().to_string()).env(LISTEN_FDNAMES, names_from_first.join(":"));
    }
}

/// Passes sockets to a command whose program calls [`take_from_standard_input`] and [`execute`]: the program after it finds
/// them as the descriptors from [`FIRST_DESCRIPTOR`] on.
///
/// # Errors
///
/// Those of socketpair(2) and sendmsg(2).
pub fn pass_sockets<'a>(command: &mut Command, sockets: impl IntoIterator<Item = BorrowedFd<'a>>) -> io::Result<()> {
    let (ours, theirs) = Channel::pair()?;
    let sockets: Vec<_> = sockets.into_iter().collect();
    for some in sockets.chunks(MAX_DESCRIPTORS) {
        ours.send(b"s", some)?;
    }
    command.stdin(Stdio::from(OwnedFd::from(theirs))).env(PASSED_SOCKETS, sockets.len().to_string());
    Ok(())
}

/// Moves the sockets that came by [`pass_sockets`] to the numbers from [`FIRST_DESCRIPTOR`] on, or, if `LISTEN_FDS` announces
/// one, standard input itself. The next program inherits them there; standard input then reads nothing.
///
/// # Errors
///
/// `EBUSY` where the number is that of another descriptor of this program; otherwise those of fcntl(2) and dup2(2).
pub fn take_from_standard_input() -> io::Result<()> {
    let sockets = match env::var(PASSED_SOCKETS) {
        Ok(count) => receive(count.parse().unwrap_or(0))?,
        Err(_) if env::var_os(LISTEN_FDS).is_some() => vec![fcntl_dupfd_cloexec(stdin(), ABOVE_FIXED)?],
        Err(_) => return Ok(()),
    };
    for (socket, number) in sockets.into_iter().zip(FIRST_DESCRIPTOR..) {
        let socket = place(socket, number)?;
        fcntl_setfd(&socket, FdFlags::empty())?;
        // It stays open for the program.
        let _ = socket.into_raw_fd();
    }
    dup2_stdin(File::open("/dev/null")?)?;
    Ok(())
}

/// The passed sockets, above the numbers that they will have.
fn receive(count: usize) -> io::Result<Vec<OwnedFd>> {
    let (channel, mut sockets) = (Channel::inherited(stdin())?, Vec::new());
    let above = FIRST_DESCRIPTOR.saturating_add(RawFd::try_from(count).unwrap_or(RawFd::MAX));
    while sockets.len() < count {
        let message = channel.receive()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        for socket in &message.descriptors {
            sockets.push(fcntl_dupfd_cloexec(socket.as_fd(), above.max(ABOVE_FIXED))?);
        }
    }
    Ok(sockets)
}

/// Replaces this process by a program that inherits its sockets: `LISTEN_PID` names this process where `LISTEN_FDS`
/// announces sockets, which only the process itself can do in time. Returns only when that fails, with the error of
/// execve(2).
pub fn execute(program: &OsString, arguments: &[OsString]) -> io::Error {
    let mut next = Command::new(program);
    next.args(arguments).env_remove(PASSED_SOCKETS);
    if env::var_os(LISTEN_FDS).is_some() {
        next.env(LISTEN_PID, process::id().to_string());
    }
    next.exec()
}

/// The number of the first socket (SD_LISTEN_FDS_START of sd_listen_fds(3)).
pub const FIRST_DESCRIPTOR: RawFd = 3;

/// More sockets than any process hands over: each number is tried in turn.
const MAX_SOCKETS: u32 = 1024;

/// Above the numbers at which programs expect something.
const ABOVE_FIXED: RawFd = 10;

/// How many sockets come by [`pass_sockets`].
const PASSED_SOCKETS: &str = "SEROW_PASSED_SOCKETS";

// Server::Starter's.
const SERVER_STARTER_PORT: &str = "SERVER_STARTER_PORT";
const SERVER_STARTER_GENERATION: &str = "SERVER_STARTER_GENERATION";

// sd_listen_fds(3).
const LISTEN_PID: &str = "LISTEN_PID";
const LISTEN_FDS: &str = "LISTEN_FDS";
const LISTEN_FDNAMES: &str = "LISTEN_FDNAMES";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_found_in_the_variables_of_server_starter_and_systemd() {
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

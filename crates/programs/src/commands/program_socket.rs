//! The sockets on which copies of a program listen, and how they learn about them.

use std::{
    collections::hash_map::RandomState,
    ffi::{OsStr, OsString},
    fmt,
    hash::BuildHasher,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serow_client::Protocol;
use serow_message::Scheme;
use serow_net::inheritance::describe_socket;
use serow_processes::PrivateFolder;
use serow_proxy::{ServerAddress, ServerLocation};

use crate::commands::settings::Binding;

/// Where the copies of a generation are reached.
#[derive(Debug)]
pub(crate) enum ProgramSockets {
    /// Each at a port of its own.
    Ports,
    /// Each at a unix socket of its own in this folder.
    Folder(PrivateFolder),
    /// All at this socket.
    CommandState(TcpListener, SocketAddr),
}

/// Where one copy is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProgramSocket {
    Port(u16),
    Path(PathBuf),
    Inherited(SocketAddr),
}

impl ProgramSockets {
    /// The sockets for this kind of binding.
    pub(crate) fn new(binding: Binding) -> io::Result<Self> {
        Ok(match binding {
            Binding::Port => Self::Ports,
            Binding::Unix => Self::Folder(PrivateFolder::new("serow")?),
            Binding::Inherit => {
                let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let address = socket.local_addr()?;
                Self::CommandState(socket, address)
            }
        })
    }

    /// Where another copy is reached, with this number.
    pub(crate) fn open(&self, number: u64) -> io::Result<ProgramSocket> {
        Ok(match self {
            Self::Ports => ProgramSocket::Port(free_port()?),
            Self::Folder(folder) => ProgramSocket::Path(folder.path().join(format!("{number}.sock"))),
            Self::CommandState(_, address) => ProgramSocket::Inherited(*address),
        })
    }

    /// Passes the inherited socket to the command, as the generation with this number.
    pub(crate) fn hand_over(&self, command: &mut Command, generation: u64) -> io::Result<()> {
        match self {
            Self::Ports | Self::Folder(_) => drop(command.stdin(Stdio::null())),
            Self::CommandState(socket, address) => {
                // The launcher puts it where it is looked for.
                command.stdin(Stdio::from(OwnedFd::from(socket.try_clone()?)));
                describe_socket(command, &address.to_string(), generation);
            }
        }
        Ok(())
    }

    /// Another descriptor of the socket that all copies have.
    pub(crate) fn shared_socket(&self) -> io::Result<Option<OwnedFd>> {
        match self {
            Self::CommandState(socket, _) => socket.as_fd().try_clone_to_owned().map(Some),
            Self::Ports | Self::Folder(_) => Ok(None),
        }
    }
}

impl ProgramSocket {
    /// The address for the proxy.
    pub(crate) fn address(&self) -> ServerAddress {
        let place = match self {
            Self::Port(port) => ServerLocation::Tcp((Ipv4Addr::LOCALHOST, *port).into()),
            Self::Path(path) => ServerLocation::Unix(path.clone()),
            Self::Inherited(address) => ServerLocation::Tcp(*address),
        };
        ServerAddress { location: place, scheme: Scheme::Http, protocol: Some(Protocol::Http1) }
    }

    /// Sets the environment variable of the command.
    pub(crate) fn tell(&self, command: &mut Command) {
        match self {
            Self::Port(port) => command.env(PORT, port.to_string()),
            Self::Path(path) => command.env(SOCKET, path),
            Self::Inherited(address) => command.env(PORT, address.port().to_string()),
        };
    }

    /// An argument of the command, with `{port}` and `{socket}` replaced.
    pub(crate) fn insert(&self, argument: &OsStr) -> OsString {
        let (placeholder, value) = match self {
            Self::Port(port) => ("{port}", OsString::from(port.to_string())),
            Self::Path(path) => ("{socket}", path.clone().into_os_string()),
            Self::Inherited(address) => ("{port}", OsString::from(address.port().to_string())),
        };
        let (mut rest, mut written) = (argument.as_bytes(), Vec::new());
        while let Some(at) = rest.windows(placeholder.len()).position(|window| window == placeholder.as_bytes()) {
            written.extend_from_slice(&rest[..at]);
            written.extend_from_slice(value.as_bytes());
            rest = &rest[at + placeholder.len()..];
        }
        written.extend_from_slice(rest);
        OsStr::from_bytes(&written).to_owned()
    }
}

/// The address on which the program should listen, and where it finds it.
impl fmt::Display for ProgramSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => {
                write!(formatter, "127.0.0.1:{port} (from the variable {PORT} or {{port}} in its arguments)")
            }
            Self::Path(path) => {
                let path = path.display();
                write!(formatter, "unix:{path} (from the variable {SOCKET} or {{socket}} in its arguments)")
            }
            Self::Inherited(address) => {
                write!(formatter, "{address}, the socket that it inherits (SERVER_STARTER_PORT, LISTEN_FDS)")
            }
        }
    }
}

/// Whether connections wait at a listening socket that nobody has accepted.
pub(crate) fn has_waiting(socket: &OwnedFd) -> bool {
    let mut wanted = [PollFd::new(socket, PollFlags::IN)];
    poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// A free port of 127.0.0.1. It is below the ephemeral ports, so that no outgoing connection takes it before the copy
/// does, and no check connects to itself.
fn free_port() -> io::Result<u16> {
    for number in 0..TRIES {
        let port = PORTS.start + (random(number) % u64::from(PORTS.end - PORTS.start)) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "no port of 127.0.0.1 is free"))
}

fn random(number: u64) -> u64 {
    RandomState::new().hash_one(number)
}

/// The names of the variables; PORT is Heroku's convention.
const PORT: &str = "PORT";
const SOCKET: &str = "SOCKET";

/// Above the ports of well-known services, and below net.ipv4.ip_local_port_range, which starts at 32768.
const PORTS: std::ops::Range<u16> = 20_000..32_768;

/// Most are free.
const TRIES: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_in_arguments_are_replaced() {
        let (port, path) = (ProgramSocket::Port(8080), ProgramSocket::Path("/run/a.sock".into()));
        let cases = [
            (&port, "--port={port}", "--port=8080"),
            (&port, "{port}{port}x", "80808080x"),
            (&port, "{socket}", "{socket}"),
            (&port, "", ""),
            (&path, "unix:{socket}", "unix:/run/a.sock"),
            (&path, "{port}", "{port}"),
        ];
        for (program_socket, argument, expected) in cases {
            assert_eq!(program_socket.insert(OsStr::new(argument)), expected, "{argument}");
        }
        let odd = OsStr::from_bytes(b"\xff{port}\xfe");
        assert_eq!(port.insert(odd).as_bytes(), b"\xff8080\xfe");
    }

    #[test]
    fn a_port_is_free() {
        let port = free_port().unwrap();
        assert!(PORTS.contains(&port) && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
    }
}

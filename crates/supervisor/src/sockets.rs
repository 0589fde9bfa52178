//! The sockets that workers inherit, and how they are told of them.

use std::{
    fs, io,
    net::SocketAddr,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::fs::FileTypeExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::Mode,
    io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with, sockopt},
    process::umask,
};
use serow_net::{inheritance::FIRST_DESCRIPTOR, process::place};

use crate::{Port, Settings, SupervisorError, log, port::Protocol};

/// The sockets, open until this is dropped; then the files of unix sockets are removed.
///
/// They block, and have no options but those that Server::Starter sets: how the worker wants them is its own affair.
#[derive(Debug)]
pub(crate) struct Sockets {
    sockets: Vec<Bound>,
    files: SocketFiles,
}

/// One socket, and what it is called.
#[derive(Debug)]
struct Bound {
    name: String,
    socket: OwnedFd,
}

/// The files of unix sockets.
#[derive(Debug, Default)]
struct SocketFiles(Vec<PathBuf>);

impl Sockets {
    /// Binds all that is wanted, in order, ports before paths. Those that are to have a certain number get it; the others
    /// get 3 and those behind it, where systemd's protocol has them.
    pub(crate) fn bind(settings: &Settings) -> Result<Self, SupervisorError> {
        let (mut sockets, mut wanted, mut files) = (Vec::new(), Vec::new(), SocketFiles::default());
        for port in &settings.ports {
            sockets.push(Bound { name: port.name(), socket: bind_port(port, settings.backlog)? });
            wanted.push(port.descriptor);
        }
        for path in &settings.paths {
            let socket = bind_path(path, settings.backlog).map_err(|reason| SupervisorError::path(path, &reason))?;
            files.0.push(std::path::absolute(path).unwrap_or_else(|_| path.clone()));
            sockets.push(Bound { name: path.display().to_string(), socket });
            wanted.push(None);
        }
        let sockets = arrange(sockets, &wanted)?;
        Ok(Self { sockets, files })
    }

    /// From now on they are inherited.
    pub(crate) fn hand_over(&self) -> io::Result<()> {
        for bound in &self.sockets {
            fcntl_setfd(&bound.socket, FdFlags::empty())?;
        }
        Ok(())
    }

    /// The files of unix sockets stay when this process ends: another goes on.
    pub(crate) fn keep_files(&mut self) {
        self.files.0.clear();
    }

    /// Whether one of them is standard input.
    pub(crate) fn have_standard_input(&self) -> bool {
        self.sockets.iter().any(|bound| bound.socket.as_raw_fd() == 0)
    }

    /// What `SERVER_STARTER_PORT` says.
    pub(crate) fn description(&self) -> String {
        let items = self.sockets.iter().map(|bound| format!("{}={}", bound.name, bound.socket.as_raw_fd()));
        items.collect::<Vec<_>>().join(";")
    }

    /// The names of those from descriptor 3 on, without a gap, as sd_listen_fds_with_names(3) has them: `LISTEN_FDNAMES`
    /// takes no colons.
    pub(crate) fn names_from_three(&self) -> Vec<String> {
        let at = |number: RawFd| self.sockets.iter().find(|bound| bound.socket.as_raw_fd() == number);
        (3..).map_while(at).map(|bound| bound.name.replace(':', "-")).collect()
    }
}

impl Drop for SocketFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            if is_socket(path) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn bind_port(port: &Port, backlog: u32) -> Result<OwnedFd, SupervisorError> {
    let address = port.address().ok_or_else(|| SupervisorError::Unknown(port.name()))?;
    let socket = open_port(address, port.protocol, backlog);
    socket.map_err(|error| SupervisorError::Bind(port.name(), error.into()))
}

fn open_port(address: SocketAddr, protocol: Protocol, backlog: u32) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let kind = match protocol {
        Protocol::Tcp => SocketType::STREAM,
        Protocol::Udp => SocketType::DGRAM,
    };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &address)?;
    if protocol == Protocol::Tcp {
        listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    }
    Ok(socket)
}

/// Everybody may connect, as with Server::Starter: who may, the folder says.
fn bind_path(path: &Path, backlog: u32) -> Result<OwnedFd, String> {
    let said = |error: Errno| error.to_string();
    if is_socket(path) {
        log::line(&format!("removing existing socket file:{}", path.display()));
        fs::remove_file(path).map_err(|error| format!("it is there already, and cannot be removed: {error}"))?;
    } else if fs::symlink_metadata(path).is_ok() {
        return Err("it is taken by something that is not a socket; remove it or choose another path".to_owned());
    }
    let address = SocketAddrUnix::new(path).map_err(said)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(said)?;
    let before = umask(Mode::empty());
    let bound = bind(&socket, &address);
    umask(before);
    bound.map_err(said)?;
    listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX)).map_err(said)?;
    Ok(socket)
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// Puts each socket at its number.
fn arrange(sockets: Vec<Bound>, wanted: &[Option<RawFd>]) -> Result<Vec<Bound>, SupervisorError> {
    let mut free = (FIRST_DESCRIPTOR..).filter(|number| !wanted.contains(&Some(*number)));
    let numbers: Vec<_> =
        wanted.iter().map(|wanted| wanted.or_else(|| free.next()).unwrap_or(FIRST_DESCRIPTOR)).collect();
    let above = numbers.iter().max().map_or(FIRST_DESCRIPTOR, |highest| highest.saturating_add(1));
    // Out of each other's way first.
    let lifted = sockets.into_iter().map(|Bound { name, socket }| {
        let socket = fcntl_dupfd_cloexec(&socket, above).map_err(io::Error::from);
        socket.map(|socket| Bound { name: name.clone(), socket }).map_err(|error| SupervisorError::Bind(name, error))
    });
    let lifted: Vec<_> = lifted.collect::<Result<_, _>>()?;
    let placed = lifted.into_iter().zip(numbers).zip(wanted).map(|((Bound { name, socket }, number), wanted)| {
        match place(socket, number) {
            Ok(socket) => {
                if wanted.is_some() {
                    log::line(&format!("socket is duplicated to file descriptor {number}"));
                }
                Ok(Bound { name, socket })
            }
            Err(error) => Err(SupervisorError::Place(name, number, error)),
        }
    });
    placed.collect()
}

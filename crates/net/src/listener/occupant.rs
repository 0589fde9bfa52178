//! The program that listens on a port, so that an error can name it.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A process that listens on a port.
#[derive(Debug)]
pub(super) struct Occupant {
    name: String,
    process: u32,
}

impl Occupant {
    /// The process that listens on this port, as far as the kernel shows it to this user: of the processes of others,
    /// only root sees the sockets. The search reads all processes, for an error at the start.
    pub(super) fn of(address: SocketAddr) -> Option<Self> {
        let sockets = listening_sockets(address.port());
        let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok).filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            Some((process, entry.path()))
        });
        let has_one = |folder: &PathBuf| {
            let descriptors = fs::read_dir(folder.join("fd")).into_iter().flatten().filter_map(Result::ok);
            let mut targets = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
            targets.any(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str()))
        };
        // The first one has opened it; its children have inherited it.
        let (process, folder) = processes.filter(|(_, folder)| has_one(folder)).min_by_key(|(process, _)| *process)?;
        let name = fs::read_to_string(folder.join("comm")).ok()?;
        // A program chooses its name; the message is one line.
        let name = name.trim_end().chars().filter(|character| !character.is_control()).collect();
        Some(Self { name, process })
    }
}

impl fmt::Display for Occupant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (process {})", self.name, self.process)
    }
}

/// The sockets that listen on a port, as links of descriptors show them.
fn listening_sockets(port: u16) -> Vec<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().filter_map(|table| fs::read_to_string(table).ok());
    tables
        .flat_map(|table| table.lines().skip(1).filter_map(|line| socket_of(line, port)).collect::<Vec<_>>())
        .collect()
}

/// The socket of a line of `/proc/net/tcp` (proc_net(5)), if it listens on this port.
fn socket_of(line: &str, port: u16) -> Option<String> {
    let mut fields = line.split_ascii_whitespace();
    let (local, state, inode) = (fields.nth(1)?, fields.nth(1)?, fields.nth(5)?);
    let (_, local_port) = local.rsplit_once(':')?;
    let listens = state == "0A" && u16::from_str_radix(local_port, 16) == Ok(port);
    listens.then(|| format!("socket:[{inode}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let listening =
            "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0";
        let connected =
            "   1: 0100007F:1F90 0100007F:A2B4 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 20 4";
        assert_eq!(socket_of(listening, 8080).as_deref(), Some("socket:[4711]"));
        for (line, port) in [(listening, 8081), (connected, 8080), ("", 8080), ("a b c", 8080)] {
            assert_eq!(socket_of(line, port), None, "{line}");
        }
    }
}

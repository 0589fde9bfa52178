//! The program that listens on a port, so that an error can name it.

use std::fs;
use std::path::PathBuf;

use crate::Address;

/// The process that listens there, as far as the kernel shows it to this user: of the processes of others, only root sees
/// the sockets. The search reads all processes, for an error that someone reads: whoever tries again for a while needs no
/// name.
pub(super) fn of(address: &Address) -> String {
    let process = match address {
        Address::Tcp(address) => listening_process(address.port()),
        Address::Unix(_) | Address::Descriptor(_) => None,
    };
    process.unwrap_or_else(|| "another program".to_owned())
}

fn listening_process(port: u16) -> Option<String> {
    let sockets = listening_sockets(port);
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok).filter_map(|entry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
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
    let name: String = name.trim_end().chars().filter(|character| !character.is_control()).collect();
    Some(format!("{name} (process {process})"))
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

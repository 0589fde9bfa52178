//! A network namespace with one device, and the command that lives in it. A thread of this process is in it from its
//! beginning to its end: namespaces of the network belong to threads, so nothing has to be forked.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    net::Ipv4Addr,
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
};

use nix::{
    sched::{CloneFlags, unshare},
    unistd::{Uid, getegid, geteuid},
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::{init, tunnel};

/// How a side's device and its kernel's TCP are set.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) mtu: u32,
    /// The congestion control of new connections.
    pub(crate) congestion: String,
    /// The size in bytes that the buffers of a connection may grow to, where that is more than the kernel's own limit.
    pub(crate) largest_buffer: u64,
}

/// Without root: makes us root of a user namespace, in which the others may be made. Before any thread is started.
pub(crate) fn become_root() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    if user.is_root() {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_NEWUSER)?;
    // user_namespaces(7): without the first, the groups may not be set.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{} {user} 1", Uid::from_raw(0)))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Puts the calling thread into a network of its own and makes the device in it.
pub(crate) fn enter(address: Ipv4Addr, network: &Network) -> io::Result<File> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| named("a network namespace", error.into()))?;
    let device = tunnel::open(DEVICE).map_err(|error| named("/dev/net/tun", error))?;
    raise("net/ipv4/tcp_wmem", network.largest_buffer)?;
    raise("net/ipv4/tcp_rmem", network.largest_buffer)?;
    // No program here uses IPv6, and its router solicitations would be unexpected packets. A kernel without IPv6 has no
    // such file.
    let _ = set(&format!("net/ipv6/conf/{DEVICE}/disable_ipv6"), "1");
    let mtu = network.mtu.to_string();
    ip(&["link", "set", "lo", "up"])?;
    ip(&["address", "add", &format!("{address}/24"), "dev", DEVICE])?;
    ip(&["link", "set", DEVICE, "mtu", &mtu, "txqueuelen", DEVICE_QUEUE, "up"])?;
    // A route's congestion control may be any, the network's own only one that the machine allows to everybody.
    let (network_address, source) =
        (format!("{}/24", Ipv4Addr::from(address.to_bits() & 0xffff_ff00)), address.to_string());
    ip(&["route", "replace", &network_address, "dev", DEVICE, "src", &source, "congctl", &network.congestion])?;
    Ok(device)
}

/// A running command and a way to end it that cannot hit another.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) init: Child,
    pub(crate) handle: OwnedFd,
}

/// Starts a command in the calling thread's network, in a process namespace of its own.
pub(crate) fn start(command: &[OsString], has_input: bool) -> io::Result<Running> {
    unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)
        .map_err(|error| named("a process namespace", error.into()))?;
    let mut kept = init::kept(command);
    if !has_input {
        kept.stdin(Stdio::null());
    }
    let init = kept.spawn()?;
    let handle = pidfd_open(Pid::from_child(&init), PidfdFlags::empty())?;
    Ok(Running { init, handle })
}

/// How many packets the calling thread's device had no room for.
pub(crate) fn overrun() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    dropped_of(&text, DEVICE).unwrap_or(0)
}

/// The column of dropped packets on the way out in /proc/net/dev: eight columns of what came in, then packets, bytes,
/// errors and the dropped.
fn dropped_of(table: &str, device: &str) -> Option<u64> {
    let columns = table.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    columns.split_whitespace().nth(11)?.parse().ok()
}

fn set(name: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/{name}"), value).map_err(|error| named(&format!("{name} = {value}"), error))
}

/// Raises the last of the three sizes, where it is less.
fn raise(name: &str, largest: u64) -> io::Result<()> {
    let sizes = fs::read_to_string(format!("/proc/sys/{name}"))?;
    let mut sizes: Vec<u64> = sizes.split_whitespace().filter_map(|size| size.parse().ok()).collect();
    let Some(last) = sizes.last_mut().filter(|last| **last < largest) else { return Ok(()) };
    *last = largest;
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    set(name, &sizes.join(" "))
}

fn ip(arguments: &[&str]) -> io::Result<()> {
    let status = Command::new("ip").args(arguments).status().map_err(|error| named("ip (package iproute2)", error))?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("ip {} failed", arguments.join(" ")))) }
}

fn named(what: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

const DEVICE: &str = "lab0";
/// Packets that the device holds until the relay has read them: 12 ms of a gigabit per thousand of 1,500 bytes.
const DEVICE_QUEUE: &str = "10000";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_packets() {
        let table = "Inter-|   Receive                        |  Transmit\n \
                     face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo\n    \
                     lo:       1       2    3    4    5     6          7         8        9      10   11   12    0\n  \
                     lab0:     1       2    3    4    5     6          7         8        9      10   11   13    0\n";
        assert_eq!(dropped_of(table, "lab0"), Some(13));
        assert_eq!(dropped_of(table, "lab"), None);
        assert_eq!(dropped_of("", "lab0"), None);
    }
}

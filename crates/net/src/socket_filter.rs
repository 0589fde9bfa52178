//! Classic BPF programs on sockets: those that choose the socket of a reuseport group, and those that drop packets
//! before a socket sees them. Some kernels demand a privilege for the latter. `reuse_port` writes the programs;
//! here are the system calls.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

use libc::{c_int, sock_filter, socklen_t};
use rustix::io::Errno;

/// One instruction of a program; `libc` has its operation codes.
pub type Instruction = sock_filter;

/// Attaches a program that chooses the socket of the group for each new connection (SO_ATTACH_REUSEPORT_CBPF,
/// socket(7), Linux 4.5).
///
/// # Errors
///
/// `EINVAL` for a socket that does not belong to a group, and for a program that the kernel refuses.
pub fn attach_reuseport_program(socket: impl AsFd, program: &[Instruction]) -> io::Result<()> {
    attach(socket.as_fd(), libc::SO_ATTACH_REUSEPORT_CBPF, program)
}

/// Detaches the program of the socket's group, if there is one: the kernel distributes connections by hash again
/// (SO_DETACH_REUSEPORT_BPF, socket(7), Linux 5.3).
///
/// # Errors
///
/// Those of setsockopt(2).
pub fn detach_reuseport_program(socket: impl AsFd) -> io::Result<()> {
    match set(socket.as_fd(), libc::SO_DETACH_REUSEPORT_BPF, &0_i32) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => Ok(()),
        outcome => outcome,
    }
}

/// Attaches a program that decides how much of each packet the socket sees (SO_ATTACH_FILTER, socket(7)).
///
/// # Errors
///
/// `EINVAL` for a program that the kernel refuses.
pub fn attach_filter(socket: impl AsFd, program: &[Instruction]) -> io::Result<()> {
    attach(socket.as_fd(), libc::SO_ATTACH_FILTER, program)
}

/// Detaches the filter: the socket sees all packets again (SO_DETACH_FILTER, socket(7)).
///
/// # Errors
///
/// `ENOENT` where there was no filter.
pub fn detach_filter(socket: impl AsFd) -> io::Result<()> {
    set(socket.as_fd(), libc::SO_DETACH_FILTER, &0_i32)
}

/// How many packets the socket has dropped, because of a filter or for other reasons (SO_MEMINFO, Linux 4.12).
///
/// # Errors
///
/// Those of getsockopt(2).
pub fn count_dropped_packets(socket: impl AsFd) -> io::Result<u32> {
    let mut counts = [0_u32; MEMINFO_FIELDS];
    let mut length = size_of_val(&counts) as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is what the array has, and says how many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            counts.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(counts[libc::SK_MEMINFO_DROPS as usize]) }
}

fn attach(socket: BorrowedFd<'_>, option: c_int, program: &[Instruction]) -> io::Result<()> {
    let len = u16::try_from(program.len()).map_err(|_| Errno::INVAL)?;
    // The kernel reads it only; the type is for both directions.
    let filter = program.as_ptr().cast_mut();
    set(socket, option, &libc::sock_fprog { len, filter })
}

fn set<T>(socket: BorrowedFd<'_>, option: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as socklen_t;
    // SAFETY: the kernel reads `length` bytes, which is what the value has, and of a `sock_fprog` its instructions,
    // which live as long as the call (`attach`).
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, std::ptr::from_ref(value).cast(), length)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `SK_MEMINFO_VARS` in linux/sock_diag.h: it has been so many since Linux 4.12.
const MEMINFO_FIELDS: usize = 9;

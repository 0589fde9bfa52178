//! Preparing a process, and ending it: placing descriptors, forking, dropping privileges.

use std::{
    fs, io,
    mem::MaybeUninit,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

use rustix::{
    io::Errno,
    process::{DumpableBehavior, Gid, Uid, set_dumpable_behavior},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};
use tokio::io::{Interest, unix::AsyncFd};

/// Moves a descriptor to this number. Programs that are executed do not inherit it, until its close-on-exec flag is
/// cleared.
///
/// Closes a descriptor that the parent process left open at the number.
///
/// # Errors
///
/// `EBUSY` where the number is that of a descriptor of this program, which its close-on-exec flag distinguishes from an
/// inherited one; `EBADF` where the number is above the limit of the process.
pub fn place(descriptor: OwnedFd, number: RawFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() == number {
        return Ok(descriptor);
    }
    if number < 0 {
        return Err(Errno::BADF.into());
    }
    // SAFETY: fcntl takes any number, and says EBADF if it is not that of an open descriptor.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if flags >= 0 && flags & libc::FD_CLOEXEC != 0 {
        return Err(Errno::BUSY.into());
    }
    // SAFETY: dup3 takes any two numbers. If it closes one, that came by exec from the parent process: Rust sets
    // close-on-exec on all that it opens, so no part of this program owns it.
    if unsafe { libc::dup3(descriptor.as_raw_fd(), number, libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: dup3 has just opened it, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// The process that this is after [`fork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The original process.
    Parent,
    /// The new process.
    Child,
}

/// Forks this process (fork(2)).
///
/// # Errors
///
/// `EBUSY` in a process with several threads, of which the child would have only one, and locks that no thread
/// releases; otherwise those of fork(2).
pub fn fork() -> io::Result<Side> {
    require_one_thread()?;
    // SAFETY: there is no other thread, so the child has all that the parent has, and may go on with any of it.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        _ => Ok(Side::Parent),
    }
}

/// Ends the process at once (_exit(2)), without the exit handlers of libraries: they free memory that other threads
/// still use, and aws-lc aborts a thread that makes random numbers then. The content of a buffer for standard output is
/// lost.
pub fn exit_at_once(status: i32) -> ! {
    // SAFETY: it has no conditions.
    unsafe { libc::_exit(status) }
}

/// Drops privileges permanently: the process gets the rights of this user and these groups, of which the first is the
/// group of files it creates.
///
/// # Errors
///
/// `EBUSY` in a process with several threads, of which the others would keep their rights (credentials belong to
/// threads, to the kernel); `EPERM` where this is not root; `EINVAL` without a group.
pub fn become_user(user: u32, groups: &[u32]) -> io::Result<()> {
    require_one_thread()?;
    let user = Uid::from_raw(user);
    let groups: Vec<_> = groups.iter().map(|group| Gid::from_raw(*group)).collect();
    let group = *groups.first().ok_or(Errno::INVAL)?;
    set_thread_groups(&groups)?;
    set_thread_res_gid(group, group, group)?;
    // Last, since it takes away the right to make the other calls.
    set_thread_res_uid(user, user, user)?;
    Ok(())
}

/// Keeps other processes of the same user, such as the applications that it starts, from tracing this one and reading
/// its memory, where the keys of TLS are (PR_SET_DUMPABLE, prctl(2)). It leaves no core dump from then on. Programs
/// that it executes can be traced again.
///
/// # Errors
///
/// Those of prctl(2).
pub fn forbid_tracing() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// The users and the groups that a process can act as: the real, the effective and the saved one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The users. The process can become each of them.
    pub users: [u32; 3],
    /// The groups.
    pub groups: [u32; 3],
}

impl Credentials {
    /// Those of this thread.
    #[must_use]
    pub fn of_this_thread() -> Self {
        let ([mut real, mut effective, mut saved], mut groups) = ([0; 3], [0; 3]);
        let [real_group, effective_group, saved_group] = &mut groups;
        // SAFETY: both write to the three numbers that they are given, and cannot fail with these.
        unsafe {
            libc::getresuid(&mut real, &mut effective, &mut saved);
            libc::getresgid(real_group, effective_group, saved_group);
        }
        Self { users: [real, effective, saved], groups }
    }
}

/// Unblocks all signals: the mask is inherited from the parent process, and a blocked signal never arrives. For this
/// thread, and those that it starts.
///
/// # Errors
///
/// Those of pthread_sigmask(3).
pub fn unblock_signals() -> io::Result<()> {
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset fills the set that it is given, which is then read; the old mask is not requested.
    let outcome = unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut())
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(outcome)) }
}

/// Waits until a process has ended, by its descriptor (pidfd_open(2)).
///
/// # Errors
///
/// When the descriptor cannot be waited for.
pub async fn end_of(process: OwnedFd) -> io::Result<()> {
    // SAFETY: an OwnedFd is the same descriptor, open, as long as it lives.
    let process = unsafe { AsyncFd::register_with_interest(process, Interest::READABLE) }?;
    process.readable().await.map(drop)
}

pub(crate) fn require_one_thread() -> io::Result<()> {
    match fs::read_dir("/proc/self/task")?.count() {
        1 => Ok(()),
        _ => Err(Errno::BUSY.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_getfd};

    use super::*;

    #[test]
    fn a_placed_socket_has_the_requested_number() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // Far from what the tests beside this one open.
        let lifted = fcntl_dupfd_cloexec(&socket, 700).unwrap();
        let number = lifted.as_raw_fd() + 50;
        let placed = place(lifted, number).unwrap();
        assert_eq!(placed.as_raw_fd(), number);
        assert!(fcntl_getfd(&placed).unwrap().contains(FdFlags::CLOEXEC));
        let placed = UdpSocket::from(placed);
        assert_eq!(placed.local_addr().unwrap(), socket.local_addr().unwrap());
    }

    #[test]
    fn placing_does_not_replace_a_descriptor_of_the_program() {
        let (one, other) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let error = place(one.into(), other.as_raw_fd()).unwrap_err();
        assert_eq!(Errno::from_io_error(&error), Some(Errno::BUSY));
        let third = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(Errno::from_io_error(&place(third.into(), -1).unwrap_err()), Some(Errno::BADF));
    }

    #[test]
    fn forking_with_several_threads_is_refused() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || receiver.recv().is_err());
        assert_eq!(Errno::from_io_error(&fork().unwrap_err()), Some(Errno::BUSY));
        assert_eq!(Errno::from_io_error(&become_user(65534, &[65534]).unwrap_err()), Some(Errno::BUSY));
        drop(sender);
        assert!(other.join().unwrap());
    }
}

//! Notifications (sd_notify(3)): those of workers, and the supervisor's to its parent.

use std::{
    env, fs, io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram as StdDatagram},
        },
    },
    process,
};

use serow_net::peer_credentials::{note_senders, receive_from_process};
use tokio::{io::Interest, net::UnixDatagram, sync::mpsc::Sender};

use crate::machine::Event;

/// A socket for the notifications of one worker. It has a name in Linux's abstract namespace, so that a worker reaches
/// it as any user and in any folder. Since every user of the machine can reach it, the kernel attests the sender of
/// each message.
#[derive(Debug)]
pub(crate) struct Notifications {
    socket: UnixDatagram,
    address: String,
}

impl Notifications {
    /// The socket with this number.
    pub(crate) fn bind(number: u64) -> io::Result<Self> {
        let name = format!("serow-supervise/{}/{number}", process::id());
        let socket = StdDatagram::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        note_senders(&socket)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket: UnixDatagram::from_std(socket)?, address: format!("@{name}") })
    }

    /// The value of `NOTIFY_SOCKET`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for READY=1, and passes it on. Other messages are ignored: a worker that announces its end ends anyway.
    pub(crate) async fn listen(self, pid: u32, events: Sender<Event>) {
        let mut message = vec![0; LONGEST];
        let mut receive = async || {
            let received =
                self.socket.async_io(Interest::READABLE, || receive_from_process(&self.socket, &mut message)).await;
            received.map(|(length, sender)| (message[..length].to_vec(), sender))
        };
        while let Ok((message, sender)) = receive().await {
            if !sender.is_some_and(|sender| is_of(pid, sender.user)) {
                // At debug level: whoever sends it could fill the log.
                tracing::debug!(pid, ?sender, "ignored a message on NOTIFY_SOCKET that the worker's user did not send");
                continue;
            }
            let mut lines = message.split(|byte| *byte == b'\n');
            if lines.any(|line| line == b"READY=1") && events.send(Event::Notified(pid)).await.is_err() {
                return;
            }
        }
    }
}

/// Whether a user may send notifications for a worker: root, the supervisor's own, or a user of the worker's process.
fn is_of(worker: u32, user: u32) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let status = || fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
    user == 0 || user == own || users(&status()).any(|known| known == user)
}

/// The users of a process: real, effective, saved and for files (proc_pid_status(5)).
fn users(status: &str) -> impl Iterator<Item = u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    line.split_ascii_whitespace().filter_map(|number| number.parse().ok())
}

/// Sends a notification, such as READY=1, to the parent if it expects one: systemd, or a supervisor.
pub fn tell_parent(message: &str) {
    let Some(address) = env::var_os("NOTIFY_SOCKET") else { return };
    let Ok(socket) = StdDatagram::unbound() else { return };
    let to = match address.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&address),
    };
    // A full queue must not stop the supervisor.
    let _ = to.and_then(|to| {
        socket.set_nonblocking(true)?;
        socket.send_to_addr(message.as_bytes(), &to)
    });
}

/// Longer messages are truncated; this is also systemd's limit (NOTIFY_BUFFER_MAX).
const LONGEST: usize = 4096;

#[cfg(test)]
mod tests {
    use std::{os::unix::process::CommandExt, process::Command};

    use tokio::{runtime::Builder, sync::mpsc};

    use super::*;

    #[test]
    fn the_users_of_a_process_are_those_of_its_status() {
        let status = "Name:\tstarman\nUid:\t0\t33\t33\t33\nGid:\t5\t5\t5\t5\n";
        assert_eq!(users(status).collect::<Vec<_>>(), [0, 33, 33, 33]);
        assert_eq!(users("").count(), 0);
    }

    /// Sends READY=1 as this user, from another process.
    fn notify(address: &str, user: u32) {
        let script = "import socket, sys\n\
                      socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'READY=1', '\\0' + sys.argv[1][1:])";
        let mut python = Command::new("python3");
        assert!(python.args(["-c", script, address]).uid(user).status().unwrap().success());
    }

    #[test]
    fn ready_counts_from_the_users_of_the_worker_only() {
        serow_requirements::requires!("program:python3");
        let own = rustix::process::geteuid().as_raw();
        Builder::new_current_thread().enable_io().build().unwrap().block_on(async {
            let notifications = Notifications::bind(u64::MAX).unwrap();
            let address = notifications.address().to_owned();
            let (sender, mut events) = mpsc::channel(4);
            let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
            let worker = sleeper.id();
            let listen = notifications.listen(worker, sender);
            let judged = async {
                if own == 0 {
                    // Another user can be tried by root only. Its message comes first, and is none.
                    notify(&address, 65_534);
                }
                notify(&address, own);
                assert_eq!(events.recv().await, Some(Event::Notified(worker)));
                // Both messages were there before: the other end has had its turn with each of them by then.
                for _ in 0..1000 {
                    tokio::task::yield_now().await;
                }
                assert!(events.try_recv().is_err(), "one message counts");
            };
            tokio::select! {
                () = listen => panic!("it listens on"),
                () = judged => {}
            }
            sleeper.kill().unwrap();
            sleeper.wait().unwrap();
        });
    }
}

//! What workers say of themselves (sd_notify(3)), and what the supervisor says to who started it.

use std::{
    env, io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram as StdDatagram},
        },
    },
    process,
};

use tokio::{net::UnixDatagram, sync::mpsc::Sender};

use crate::machine::Event;

/// A socket for the notifications of one worker. It has a name in Linux's abstract namespace, so that a worker reaches it
/// as any user and in any folder.
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
        socket.set_nonblocking(true)?;
        Ok(Self { socket: UnixDatagram::from_std(socket)?, address: format!("@{name}") })
    }

    /// What `NOTIFY_SOCKET` says.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for READY=1, and passes it on. All else is read and let go: a worker that says that it stops does so anyway.
    pub(crate) async fn listen(self, pid: u32, events: Sender<Event>) {
        let mut message = vec![0; LONGEST];
        while let Ok(length) = self.socket.recv(&mut message).await {
            let mut lines = message[..length].split(|byte| *byte == b'\n');
            if lines.any(|line| line == b"READY=1") && events.send(Event::Notified(pid)).await.is_err() {
                return;
            }
        }
    }
}

/// Says this, such as READY=1, to whoever started this process and wants to know: systemd, or a supervisor.
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

/// Longer messages are cut; systemd takes no longer ones either (NOTIFY_BUFFER_MAX).
const LONGEST: usize = 4096;

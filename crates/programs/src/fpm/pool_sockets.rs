//! The sockets of pools: which child has accepted its connections, and connections that are taken back.

use std::{
    io::{self, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serow_fastcgi::{Application, FIRST_REQUEST, ProtocolStatus};
use serow_processes::PrivateFolder;
use tokio::{task::spawn_local, time::timeout};

/// The socket on which one child listens. This process has it as well: it outlives the child and its master, and so do the
/// connections that wait in it.
#[derive(Debug)]
pub(crate) struct PoolSocket {
    path: PathBuf,
    listener: UnixListener,
}

/// A connection without a request. Once a child has accepted it, it holds the child: it is idle, and gets no request.
/// php-fpm's children wait 5 s for a request before they close it.
#[derive(Debug)]
pub(crate) struct Hold(#[expect(dead_code, reason = "it is open as long as this is there")] UnixStream);

impl PoolSocket {
    /// A new one in this folder. It blocks, since a child that finds no connection would exit.
    pub(crate) fn new(folder: &PrivateFolder, number: usize) -> io::Result<Self> {
        let path = folder.path().join(format!("{number}.sock"));
        Ok(Self { listener: UnixListener::bind(&path)?, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there are connections that the child has not accepted.
    pub(crate) fn has_waiting(&self) -> bool {
        let mut wanted = [PollFd::new(&self.listener, PollFlags::IN)];
        poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// Connects; the child is held when no connection waits any more.
    pub(crate) fn hold(&self) -> io::Result<Hold> {
        UnixStream::connect(&self.path).map(Hold)
    }

    /// Takes back all waiting connections: their requests go elsewhere. A child that accepts one at the same time keeps it,
    /// so that each request runs once.
    pub(crate) fn take_back(&self) {
        while self.has_waiting()
            && let Some(connection) = self.accept()
        {
            drop(spawn_local(refuse(connection)));
        }
    }

    /// Accepts without waiting. The mode is also the child's: one that looks for a connection in this very moment and finds
    /// none exits, and php-fpm starts another one.
    fn accept(&self) -> Option<UnixStream> {
        self.listener.set_nonblocking(true).ok()?;
        let accepted = self.listener.accept();
        // It has just been changed, so it can be changed back.
        let _ = self.listener.set_nonblocking(false);
        accepted.ok().map(|(connection, _)| connection)
    }
}

impl AsFd for PoolSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// Says by FastCGI that the request was not begun. The connection stays open until all of the request has come, since closing
/// it before would be an error for the sender.
async fn refuse(mut connection: UnixStream) {
    let mut output = Vec::new();
    Application::send_refusal(FIRST_REQUEST, ProtocolStatus::Overloaded, &mut output);
    let refused = connection.write_all(&output).and_then(|()| connection.set_nonblocking(true));
    let Ok(connection) = refused.and_then(|()| tokio::net::UnixStream::from_std(connection)) else { return };
    let read = async {
        let mut buffer = [0; 16 * 1024];
        while connection.readable().await.is_ok() {
            match connection.try_read(&mut buffer) {
                Ok(0) => return,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => {}
            }
        }
    };
    // The sender is this process.
    let _ = timeout(FOR_REST, read).await;
}

/// The time for the rest of a refused request.
const FOR_REST: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_waiting_connection_is_taken_back_with_a_refusal() {
        let runtime = serow_net::thread_runtime().unwrap();
        runtime.block_on(async {
            let folder = PrivateFolder::new("serow-php").unwrap();
            let socket = PoolSocket::new(&folder, 1).unwrap();
            assert!(!socket.has_waiting());
            let mut client = UnixStream::connect(socket.path()).unwrap();
            client.write_all(b"a request").unwrap();
            assert!(socket.has_waiting());
            socket.take_back();
            assert!(!socket.has_waiting());
            let answer = tokio::task::spawn_blocking(move || {
                client.shutdown(std::net::Shutdown::Write).unwrap();
                let mut answer = Vec::new();
                client.read_to_end(&mut answer).unwrap();
                answer
            });
            // END_REQUEST with FCGI_OVERLOADED.
            let expected = [&[1, 3, 0, 1, 0, 8, 0, 0][..], &[0, 0, 0, 0, 2, 0, 0, 0]].concat();
            assert_eq!(answer.await.unwrap(), expected);
        });
    }

    #[test]
    fn a_hold_is_accepted_by_an_idle_child_only() {
        let folder = PrivateFolder::new("serow-php").unwrap();
        let socket = PoolSocket::new(&folder, 1).unwrap();
        let hold = socket.hold().unwrap();
        assert!(socket.has_waiting());
        // As a child does that has become idle.
        let accepted = socket.listener.accept().unwrap();
        assert!(!socket.has_waiting());
        drop((hold, accepted));
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}

//! Connecting to a server, over TCP or a unix socket.

use std::{future::poll_fn, io, os::fd::OwnedFd, time::Duration};

use rustix::{
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, ipproto, socket_with},
};
use tokio::time::sleep;

use crate::{Destination, Socket, sending::send_without_delay};

impl Destination {
    /// Opens a connection; one of TCP sends without delay, and keeps little in the kernel for a server that does not read.
    /// There is no timeout; dropping the future cancels it.
    ///
    /// A unix socket whose backlog is full refuses with EAGAIN, and no event announces room (unix(7)); this tries
    /// again until there is some.
    ///
    /// # Errors
    ///
    /// Those of socket(2) and connect(2).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    pub async fn connect(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(address) => {
                let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
                let socket = stream_socket(family)?;
                send_without_delay(&socket)?;
                match connect(&socket, address) {
                    Ok(()) => Socket::new(socket),
                    Err(Errno::INPROGRESS | Errno::INTR) => established(Socket::new(socket)?).await,
                    Err(error) => Err(error.into()),
                }
            }
            Self::Unix(path) => {
                let address = match path.to_str().and_then(|path| path.strip_prefix('@')) {
                    #[cfg(target_os = "linux")]
                    Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes())?,
                    _ => SocketAddrUnix::new(path)?,
                };
                loop {
                    let socket = stream_socket(AddressFamily::UNIX)?;
                    match connect(&socket, &address) {
                        Ok(()) => return Socket::new(socket),
                        Err(Errno::AGAIN | Errno::INTR) => sleep(BACKLOG_PAUSE).await,
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
    }
}

fn stream_socket(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    let protocol = if family == AddressFamily::UNIX { None } else { Some(ipproto::TCP) };
    socket_with(family, SocketType::STREAM, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, protocol)
}

async fn established(socket: Socket) -> io::Result<Socket> {
    poll_fn(|context| socket.poll_connected(context)).await?;
    Ok(socket)
}

/// The finest that tokio's timer knows; a server that accepts a thousand connections a second is waited for once each.
const BACKLOG_PAUSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use std::{
        net::{Ipv4Addr, TcpListener},
        os::unix::net::UnixListener,
    };

    use tokio::{runtime, task, time::timeout};

    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    #[test]
    fn connections_are_made_or_refused() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let destination = Destination::Tcp(listener.local_addr().unwrap());
        block_on(async { destination.connect().await.unwrap() });
        let destination = Destination::Tcp(serow_ports::refusing_address());
        let refused = block_on(async { destination.connect().await.unwrap_err() });
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);

        let folder = tempfile::tempdir().unwrap();
        let destination = Destination::Unix(folder.path().join("socket"));
        let missing = block_on(async { destination.connect().await.unwrap_err() });
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let _listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        block_on(async { destination.connect().await.unwrap() });
    }

    #[test]
    fn connecting_waits_for_a_full_backlog() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
        socket.bind(&socket2::SockAddr::unix(&path).unwrap()).unwrap();
        socket.listen(1).unwrap();
        let destination = Destination::Unix(path);
        block_on(async {
            let mut connected = Vec::new();
            // As many as the backlog takes; then one that waits.
            while let Ok(outcome) = timeout(Duration::from_millis(50), destination.connect()).await {
                connected.push(outcome.unwrap());
                assert!(connected.len() < 10, "the backlog has an end");
            }
            let room = async {
                task::yield_now().await;
                socket.accept().unwrap()
            };
            let (last, _) = tokio::join!(timeout(Duration::from_secs(10), destination.connect()), room);
            last.expect("in time").unwrap();
        });
    }
}

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{FdFlags, fcntl_getfd};
use rustix::net::sockopt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::yield_now;

use super::*;
use crate::{Address, ListenOptions};

fn acceptor(text: &str) -> Acceptor {
    let listener = Listener::bind(&text.parse().unwrap(), &ListenOptions::default()).unwrap();
    Acceptor::new(listener).unwrap()
}

fn connect(acceptor: &Acceptor) -> TcpStream {
    match acceptor.listener().local_address() {
        Address::Tcp(address) => TcpStream::connect(("127.0.0.1", address.port())).unwrap(),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_connection_is_ready_for_use_without_further_calls() {
    for text in ["127.0.0.1:0", ":0"] {
        let mut acceptor = acceptor(text);
        let client = connect(&acceptor);
        let Accepted { socket, peer, local } = acceptor.accept().await.unwrap();
        assert_eq!(peer, Peer::Tcp(client.local_addr().unwrap()), "{text}");
        assert_eq!(local, Some(client.peer_addr().unwrap()), "{text}");
        assert!(fcntl_getfl(&socket).unwrap().contains(OFlags::NONBLOCK));
        assert!(fcntl_getfd(&socket).unwrap().contains(FdFlags::CLOEXEC));
        assert!(sockopt::tcp_nodelay(&socket).unwrap());
    }
}

#[tokio::test]
async fn unix_peers_have_no_address() {
    let path = std::env::temp_dir().join(format!("serow-net-accept-{}.sock", std::process::id()));
    let mut acceptor = acceptor(&format!("unix:{}", path.display()));
    let _client = UnixStream::connect(&path).unwrap();
    let Accepted { peer, local, .. } = acceptor.accept().await.unwrap();
    assert_eq!((peer, local), (Peer::Unix, None));
}

#[tokio::test]
async fn all_connections_are_accepted_one_by_one_or_at_once() {
    let mut acceptor = acceptor("127.0.0.1:0");
    let address = acceptor.listener().local_address().to_string();
    for (burst, asleep) in [(1, true), (3, false), (1, false), (200, true), (300, false), (2, true)] {
        let accepting = tokio::spawn(async move {
            for _ in 0..burst {
                acceptor.accept().await.unwrap();
            }
            acceptor
        });
        if asleep {
            yield_now().await;
        }
        let _clients: Vec<_> = (0..burst).map(|_| TcpStream::connect(&address).unwrap()).collect();
        acceptor = accepting.await.unwrap();
    }
}

#[test]
fn accept_errors_are_classified() {
    let cases = [
        (Errno::AGAIN, Failure::NothingWaits),
        (Errno::INTR, Failure::ConnectionLost),
        (Errno::CONNABORTED, Failure::ConnectionLost),
        (Errno::PROTO, Failure::ConnectionLost),
        (Errno::NETDOWN, Failure::ConnectionLost),
        (Errno::HOSTUNREACH, Failure::ConnectionLost),
        (Errno::MFILE, Failure::Exhausted),
        (Errno::NFILE, Failure::Exhausted),
        (Errno::NOBUFS, Failure::Exhausted),
        (Errno::NOMEM, Failure::Exhausted),
        (Errno::BADF, Failure::Fatal),
        (Errno::INVAL, Failure::Fatal),
        (Errno::NOTSOCK, Failure::Fatal),
        (Errno::PERM, Failure::Fatal),
    ];
    for (errno, failure) in cases {
        assert_eq!(Failure::of(errno), failure, "{errno}");
    }
}

#[test]
fn accepting_goes_on_after_descriptors_ran_out() {
    // The limit holds for a whole process, so other tests must not be in it.
    let itself = std::env::current_exe().unwrap();
    let name = "accept::tests::in_a_process_with_few_descriptors";
    let output = Command::new(itself).args([name, "--exact", "--ignored", "--nocapture"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
#[ignore = "lowers a limit of its process; accepting_goes_on_after_descriptors_ran_out starts one for it"]
async fn in_a_process_with_few_descriptors() {
    let mut acceptor = acceptor("127.0.0.1:0");
    let _client = connect(&acceptor);
    let _waiting = connect(&acceptor);
    let first = acceptor.accept().await.unwrap();
    let usual = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(3), ..usual }).unwrap();
    for _ in 0..3 {
        let error = acceptor.accept().await.unwrap_err();
        assert!(matches!(error, AcceptError::Exhausted(_)), "{error}");
        assert!(error.to_string().contains("ulimit -n"), "{error}");
    }
    setrlimit(Resource::Nofile, usual).unwrap();
    drop(first);
    acceptor.accept().await.unwrap();
}

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::{FdFlags, fcntl_getfd};
use rustix::net::{SocketFlags, accept_with, sockopt};

use super::*;

fn bind(text: &str) -> Result<Listener, BindError> {
    Listener::bind(&text.parse().unwrap(), &ListenOptions::default())
}

fn refusal(text: &str) -> String {
    let message = bind(text).expect_err(text).to_string();
    assert!(!message.contains('\n'), "{message}");
    message
}

fn tcp_address(listener: &Listener) -> SocketAddr {
    match listener.local_address() {
        Address::Tcp(address) => *address,
        other => panic!("{other}"),
    }
}

/// Whether this machine has IPv6: many containers do not.
fn has_ipv6() -> bool {
    TcpListener::bind("[::1]:0").is_ok()
}

/// A folder of its own for one test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("serow-net-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> (PathBuf, String) {
        let path = self.0.join(name);
        let text = format!("unix:{}", path.display());
        (path, text)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn assert_sound(listener: &Listener) {
    assert!(fcntl_getfd(listener).unwrap().contains(FdFlags::CLOEXEC));
    let nothing_waits = accept_with(listener, SocketFlags::CLOEXEC).unwrap_err();
    assert_eq!(nothing_waits, rustix::io::Errno::AGAIN, "does not block");
}

#[test]
fn port_0_listens_on_a_port_that_the_kernel_chose() {
    for text in ["127.0.0.1:0", "0.0.0.0:0", ":0", "[::1]:0"] {
        if text == "[::1]:0" && !has_ipv6() {
            continue;
        }
        let listener = bind(text).unwrap();
        assert_sound(&listener);
        let address = tcp_address(&listener);
        assert_ne!(address.port(), 0, "{text}");
        assert!(sockopt::tcp_nodelay(&listener).unwrap(), "{text}");
        assert!(!sockopt::socket_reuseport(&listener).unwrap(), "{text}");
        let host = if address.is_ipv4() || address.ip().is_loopback() { address.ip() } else { [127, 0, 0, 1].into() };
        TcpStream::connect((host, address.port())).unwrap();
    }
}

#[test]
fn the_unspecified_ipv6_address_accepts_both_families() {
    let listener = bind(":0").unwrap();
    let port = tcp_address(&listener).port();
    TcpStream::connect(("127.0.0.1", port)).unwrap();
    if has_ipv6() {
        TcpStream::connect(("::1", port)).unwrap();
    }
}

#[test]
fn accepted_sockets_inherit_send_options() {
    for text in ["127.0.0.1:0", ":0"] {
        let listener = bind(text).unwrap();
        let _client = TcpStream::connect(("127.0.0.1", tcp_address(&listener).port())).unwrap();
        let accepted = accept_with(&listener, SocketFlags::CLOEXEC).unwrap();
        assert!(sockopt::tcp_nodelay(&accepted).unwrap(), "{text}");
        #[cfg(target_os = "linux")]
        assert_eq!(socket2::SockRef::from(&accepted).tcp_notsent_lowat().unwrap(), 256 * 1024, "{text}");
    }
}

#[test]
fn a_port_in_use_is_refused_to_one_and_to_many() {
    let options = ListenOptions::default();
    for grouped in [false, true] {
        let first = Listener::for_workers(&"127.0.0.1:0".parse().unwrap(), &options, 1 + usize::from(grouped)).unwrap();
        let address = first[0].local_address();
        for workers in [1, 2] {
            let error = Listener::for_workers(address, &options, workers).unwrap_err();
            assert_eq!(error.address(), address);
            let (pid, text) = (std::process::id(), error.to_string());
            let expected = format!(" (process {pid}); choose another with --listen, or stop it");
            assert!(text.starts_with(&format!("{address} is in use by ")) && text.ends_with(&expected), "{text}");
        }
    }
}

#[test]
fn a_port_is_shared_if_both_processes_share_it() {
    let sharing = ListenOptions { share: true, ..ListenOptions::default() };
    let first = Listener::bind(&"127.0.0.1:0".parse().unwrap(), &sharing).unwrap();
    let second = Listener::for_workers(first.local_address(), &sharing, 2).unwrap();
    assert_eq!(second[1].local_address(), first.local_address());
    assert!(Listener::bind(first.local_address(), &ListenOptions::default()).is_err());
}

#[test]
fn the_workers_of_a_port_share_its_connections() {
    let workers = Listener::for_workers(&":0".parse().unwrap(), &ListenOptions::default(), 3).unwrap();
    assert_eq!(workers.len(), 3);
    let port = tcp_address(&workers[0]).port();
    for worker in &workers {
        assert_sound(worker);
        assert_eq!(tcp_address(worker).port(), port);
    }
    let clients: Vec<_> = (0..64).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let count = |worker: &Listener| std::iter::from_fn(|| accept_with(worker, SocketFlags::CLOEXEC).ok()).count();
    let counts: Vec<_> = workers.iter().map(count).collect();
    assert_eq!(counts.iter().sum::<usize>(), clients.len());
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
}

#[test]
fn a_port_is_free_again_when_its_listener_is_gone_though_connections_linger() {
    let listener = bind("127.0.0.1:0").unwrap();
    let address = listener.local_address().clone();
    let mut client = TcpStream::connect(tcp_address(&listener)).unwrap();
    // The server closes first, so that its end is what stays in TIME_WAIT.
    drop(accept_with(&listener, SocketFlags::CLOEXEC).unwrap());
    client.read_to_end(&mut Vec::new()).unwrap();
    drop((client, listener));
    Listener::for_workers(&address, &ListenOptions::default(), 2).unwrap();
}

#[test]
fn addresses_of_other_machines_and_privileged_ports_are_explained() {
    // RFC 5737: an address nobody has.
    assert!(refusal("192.0.2.1:0").contains("is not an address of this machine"));
    // Whether port 80 is refused depends on the user who runs the test, so this checks only the message.
    let message = BindError::new(&"127.0.0.1:80".parse().unwrap(), Cause::PrivilegedPort).to_string();
    assert!(message.contains("choose a higher port") && message.contains("setcap"), "{message}");
}

#[test]
fn the_file_of_a_unix_socket_lives_as_long_as_its_last_listener() {
    let folder = Folder::new();
    let (path, text) = folder.file("a.sock");
    let options = ListenOptions { unix_mode: Some(0o640), ..ListenOptions::default() };
    let mut workers = Listener::for_workers(&text.parse().unwrap(), &options, 3).unwrap();
    assert_eq!(workers.len(), 3);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    while let Some(worker) = workers.pop() {
        assert_sound(&worker);
        assert_eq!(worker.local_address().to_string(), text);
        let _client = UnixStream::connect(&path).unwrap();
        accept_with(&worker, SocketFlags::CLOEXEC).unwrap();
    }
    assert!(!path.exists());
}

#[test]
fn a_successor_keeps_its_file() {
    let folder = Folder::new();
    let (path, text) = folder.file("a.sock");
    let first = bind(&text).unwrap();
    fs::remove_file(&path).unwrap();
    let second = bind(&text).unwrap();
    drop(first);
    UnixStream::connect(&path).unwrap();
    drop(second);
    assert!(!path.exists());
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let folder = Folder::new();
    let (path, text) = folder.file("a.sock");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "the standard library leaves the file");
    let listener = bind(&text).unwrap();
    assert!(refusal(&text).contains("is in use by another program"));
    UnixStream::connect(&path).unwrap();
    drop(listener);
    let _other = UnixDatagram::bind(&path).unwrap();
    assert!(refusal(&text).contains("is in use by another program"));
}

#[test]
fn a_live_server_with_a_full_queue_is_still_live() {
    let folder = Folder::new();
    let (path, text) = folder.file("a.sock");
    let options = ListenOptions { backlog: 0, ..ListenOptions::default() };
    let _listener = Listener::bind(&text.parse().unwrap(), &options).unwrap();
    let _waiting = UnixStream::connect(&path).unwrap();
    assert!(refusal(&text).contains("is in use by another program"));
}

#[test]
fn a_file_that_is_not_a_socket_is_not_removed() {
    let folder = Folder::new();
    let (file, text) = folder.file("data");
    fs::write(&file, "precious").unwrap();
    assert!(refusal(&text).contains("not a socket"));
    assert_eq!(fs::read(&file).unwrap(), b"precious");

    // Not even a link to a stale socket: the link is somebody's intention.
    let (stale, _) = folder.file("stale.sock");
    drop(UnixListener::bind(&stale).unwrap());
    let (link, text) = folder.file("link");
    std::os::unix::fs::symlink(&stale, &link).unwrap();
    assert!(refusal(&text).contains("not a socket"));
    assert!(link.is_symlink() && stale.exists());

    let (_, text) = folder.file("");
    assert!(refusal(&text).contains("not a socket"));
}

#[test]
fn invalid_unix_paths_are_reported() {
    let folder = Folder::new();
    let (missing, text) = folder.file("missing/a.sock");
    let missing = missing.parent().unwrap().display().to_string();
    assert!(refusal(&text).ends_with(&format!("is in a folder that does not exist; create {missing} first")));
    let (file, _) = folder.file("file");
    fs::write(&file, "").unwrap();
    assert!(refusal(&format!("unix:{}/a.sock", file.display())).contains("does not exist"));

    let (_, text) = folder.file("");
    let longest = text + &"x".repeat(107);
    let longest = &longest[.."unix:".len() + 107];
    drop(bind(longest).unwrap());
    assert!(refusal(&format!("{longest}x")).contains("a path of 108 bytes, where the kernel takes 107"));
    for path in ["", "@"] {
        let error = Listener::bind(&Address::Unix(path.into()), &ListenOptions::default()).unwrap_err();
        assert!(error.to_string().contains("has no path"), "{error}");
    }
}

#[test]
fn abstract_names_create_no_file() {
    let text = format!("unix:@serow-net-{}", std::process::id());
    let listener = bind(&text).unwrap();
    assert_sound(&listener);
    assert!(refusal(&text).contains("is in use by another program"));
    let inherited = bind(&format!("fd:{}", listener.as_raw_fd())).unwrap();
    assert_eq!(inherited.local_address().to_string(), text);
    assert!(!PathBuf::from(&text["unix:".len()..]).exists());
    drop((listener, inherited));
    bind(&text).unwrap();
}

#[test]
fn a_listening_socket_is_inherited_from_the_parent() {
    let given = TcpListener::bind("127.0.0.1:0").unwrap();
    let number = given.as_raw_fd();
    rustix::io::fcntl_setfd(&given, FdFlags::empty()).unwrap();
    let address = Address::Descriptor(number);
    let workers = Listener::for_workers(&address, &ListenOptions::default(), 2).unwrap();
    assert!(fcntl_getfd(&given).unwrap().contains(FdFlags::CLOEXEC));
    for worker in &workers {
        assert_sound(worker);
        assert_eq!(tcp_address(worker), given.local_addr().unwrap());
        let _client = TcpStream::connect(given.local_addr().unwrap()).unwrap();
        let accepted = accept_with(worker, SocketFlags::CLOEXEC).unwrap();
        assert!(sockopt::tcp_nodelay(&accepted).unwrap());
    }
    drop(workers);
    Listener::bind(&address, &ListenOptions::default()).expect("the number stays open");
}

#[test]
fn an_inherited_unix_socket_keeps_its_file() {
    let folder = Folder::new();
    let (path, text) = folder.file("a.sock");
    let given = UnixListener::bind(&path).unwrap();
    let listener = bind(&format!("fd:{}", given.as_raw_fd())).unwrap();
    assert_eq!(listener.local_address().to_string(), text);
    drop(listener);
    assert!(path.exists(), "it belongs to the process that made it");
}

#[test]
fn unusable_descriptors_are_reported() {
    assert!(refusal("fd:1000000").contains("is not open"));
    let negative = Listener::bind(&Address::Descriptor(-1), &ListenOptions::default()).unwrap_err();
    assert!(negative.to_string().contains("is not open"));
    let file = fs::File::open("/dev/null").unwrap();
    assert!(refusal(&format!("fd:{}", file.as_raw_fd())).contains("is not a socket"));
    let (connected, _other) = UnixStream::pair().unwrap();
    assert!(refusal(&format!("fd:{}", connected.as_raw_fd())).contains("does not listen"));
}

#[test]
fn handed_over_sockets_are_divided_among_threads() {
    let (path, text) = ("@serow-divided", "unix:@serow-divided");
    // Sockets handed over, threads, and what each gets.
    for (count, workers, expected) in
        [(1, 1, vec![1]), (1, 3, vec![1, 1, 1]), (3, 2, vec![2, 1]), (2, 2, vec![1, 1]), (4, 3, vec![2, 1, 1])]
    {
        let listener = bind(text).unwrap();
        let sockets = listener.duplicates(count).unwrap().into_iter().map(|listener| listener.socket).collect();
        let divided = Listener::divide(sockets, workers).unwrap();
        assert_eq!(divided.iter().map(Vec::len).collect::<Vec<_>>(), expected, "{count} {workers}");
        assert!(divided.iter().flatten().all(|listener| *listener.local_address() == Address::Unix(path.into())));
    }
    assert!(Listener::divide(Vec::new(), 2).unwrap().iter().all(Vec::is_empty));
    let file = fs::File::open("/dev/null").unwrap();
    assert!(Listener::divide(vec![file.into()], 1).unwrap_err().to_string().contains("is not a socket"));
}

//! The whole program: times on the link, exit codes, and that nothing is left running.
//!
//! Where no networks may be made the tests are skipped; in CI they fail, unless SEROW_WITHOUT_NETLAB=1 says that this is
//! known.
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

use std::{
    env,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream, UdpSocket},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

const NETLAB: &str = env!("CARGO_BIN_EXE_netlab");
const ADDRESS: &str = "10.99.0.1:7000";
/// At 256 kbit/s: a second and a quarter, and the packets' headers.
const BYTES: usize = 40_000;
/// Small enough for the queue of a link of 10 Mbit/s.
const DATAGRAMS: u32 = 200;

/// Whether to go on. Says loudly if not.
fn is_possible() -> bool {
    let checked = Command::new(NETLAB).arg("--check").output().expect("netlab can be started");
    if checked.status.success() {
        return true;
    }
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert_eq!(checked.status.code(), Some(2), "{said}");
    let is_known = env::var("SEROW_WITHOUT_NETLAB").as_deref() == Ok("1");
    assert!(is_known || env::var_os("SEROW_CI").is_none(), "{said}");
    serow_requirements::skip("netlab", said.trim_end());
    false
}

/// The arguments that make this test program play a part.
fn part(name: &str) -> [String; 4] {
    let program = env::current_exe().expect("a test knows its program");
    [program.display().to_string(), "--exact".to_owned(), "--ignored".to_owned(), name.to_owned()]
}

fn run(options: &[&str], server: &[String], client: &[String]) -> Output {
    let mut command = Command::new(NETLAB);
    command.args(options).arg("--").args(server).arg("--").args(client);
    command.stdin(Stdio::null()).output().expect("netlab can be started")
}

fn words(text: &str) -> Vec<String> {
    text.split('|').map(str::to_owned).collect()
}

#[test]
#[ignore = "a part in the play of others"]
fn server() {
    let (mut connection, _) = TcpListener::bind(ADDRESS).unwrap().accept().unwrap();
    let mut request = [0];
    connection.read_exact(&mut request).unwrap();
    connection.write_all(&[0; BYTES]).unwrap();
    connection.shutdown(Shutdown::Write).unwrap();
    // Until the client has it all.
    let _ = connection.read(&mut request);
}

#[test]
#[ignore = "a part in the play of others"]
fn client() {
    let began = Instant::now();
    let mut connection = TcpStream::connect(ADDRESS).unwrap();
    let connected = began.elapsed();
    connection.write_all(&[1]).unwrap();
    let mut received = Vec::new();
    connection.read_to_end(&mut received).unwrap();
    let took = began.elapsed() - connected;
    assert_eq!(received.len(), BYTES);
    // A round trip of 200 ms, and two packets of 60 bytes on their way; a busy machine may be late, never early.
    assert!((200..400).contains(&connected.as_millis()), "connected after {connected:?}");
    let sending = Duration::from_secs_f64((BYTES + BYTES.div_ceil(1_448) * 52) as f64 * 8.0 / 256_000.0);
    let least = Duration::from_millis(200) + sending;
    assert!(took >= least && took < least + Duration::from_millis(400), "took {took:?}, the link allows {least:?}");
}

#[test]
fn the_link_has_its_rate_and_its_delay() {
    if !is_possible() {
        return;
    }
    let outcome = run(&["--rate", "256kbit", "--rtt", "200ms"], &part("server"), &part("client"));
    let said = String::from_utf8_lossy(&outcome.stdout);
    assert!(
        outcome.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
}

#[test]
#[ignore = "a part in the play of others"]
fn echo() {
    let socket = UdpSocket::bind(ADDRESS).unwrap();
    let mut datagram = [0; 4];
    loop {
        let (length, from) = socket.recv_from(&mut datagram).unwrap();
        socket.send_to(&datagram[..length], from).unwrap();
    }
}

#[test]
#[ignore = "a part in the play of others"]
fn sender() {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(ADDRESS).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut datagram = [0; 4];
    // Until the other side is there; until then its kernel refuses.
    let until = Instant::now() + Duration::from_secs(10);
    while socket.send(&0_u32.to_be_bytes()).and_then(|_| socket.recv(&mut datagram)).is_err() {
        assert!(Instant::now() < until, "nobody answers");
        thread::sleep(Duration::from_millis(10));
    }
    for number in 1..=DATAGRAMS {
        socket.send(&number.to_be_bytes()).unwrap();
    }
    let mut received = Vec::new();
    while socket.recv(&mut datagram).is_ok() {
        received.push(u32::from_be_bytes(datagram));
    }
    // Of 200, 162 come through both ways when each loses a tenth; the seed says which.
    assert!((120..199).contains(&received.len()), "{} of {DATAGRAMS}", received.len());
    assert!(received.windows(2).any(|pair| pair[1] < pair[0]), "none was overtaken");
}

#[test]
fn datagrams_are_lost_and_overtaken() {
    if !is_possible() {
        return;
    }
    let options = ["--rtt", "20ms", "--loss", "10", "--reorder", "10", "--wait-for", "50ms"];
    let outcome = run(&options, &part("echo"), &part("sender"));
    let said = String::from_utf8_lossy(&outcome.stdout);
    assert!(
        outcome.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
}

#[test]
fn the_exit_code_is_the_clients() {
    if !is_possible() {
        return;
    }
    for (client, code) in [("true", 0), ("sh|-c|exit 7", 7), ("sh|-c|kill -KILL $$", 137), ("/nowhere", 127)] {
        let outcome = run(&["--wait-for", "50ms"], &words("sleep|60"), &words(client));
        assert_eq!(outcome.status.code(), Some(code), "{client}: {}", String::from_utf8_lossy(&outcome.stderr));
    }
    // One that ends before anybody listens.
    assert_eq!(run(&[], &words("false"), &words("true")).status.code(), Some(71));
}

#[test]
fn nothing_is_left_however_it_ends() {
    if !is_possible() {
        return;
    }
    for signal in ["-INT", "-TERM", "-KILL"] {
        // A time of its own, so that the processes can be found.
        let seconds = format!("{}.{}", 1_000_000 + std::process::id(), signal.as_bytes()[1]);
        let script = format!("sleep {seconds} & sleep {seconds} & sleep {seconds}");
        let mut netlab = Command::new(NETLAB)
            .args(["--wait-for", "50ms", "--", "sh", "-c", &script, "--", "sh", "-c", &script])
            .stdin(Stdio::null())
            .spawn()
            .expect("netlab can be started");
        wait_until(|| processes(&seconds) == 6);
        let kill = ["kill", signal, &netlab.id().to_string()].map(str::to_owned);
        assert!(Command::new("env").args(kill).status().is_ok_and(|status| status.success()));
        netlab.wait().expect("netlab is ours");
        wait_until(|| processes(&seconds) == 0);
    }
}

/// How many processes sleep so long.
fn processes(seconds: &str) -> usize {
    let is_one = |entry: std::io::Result<std::fs::DirEntry>| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        (line == format!("sleep\0{seconds}\0").into_bytes()).then_some(())
    };
    std::fs::read_dir("/proc").expect("/proc is there").filter_map(is_one).count()
}

fn wait_until(holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < until, "it does not come true");
        thread::sleep(Duration::from_millis(10));
    }
}

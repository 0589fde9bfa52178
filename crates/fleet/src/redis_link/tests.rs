//! With a real Redis server, which each test starts for itself, and with things that claim to be one.

mod imposters;
mod journal;
mod turns;

use std::{
    cell::Cell,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::sleep,
    time::{Duration, Instant},
};

use serow_limits::Limit;
use serow_requirements::requires;
use tempfile::TempDir;

use crate::{Fleet, FleetSettings, FleetThread, RedisAnswer, SharedTable, clock};

/// A Redis server on a socket in a folder of its own.
struct Server {
    folder: TempDir,
    options: Vec<String>,
    process: Child,
}

impl Server {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let process = Self::process(&folder, &options);
        Self { folder, options, process }
    }

    fn process(folder: &TempDir, options: &[String]) -> Child {
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(folder.path().join("redis.sock"));
        command.args(options).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn url(&self) -> String {
        format!("unix://{}", self.folder.path().join("redis.sock").display())
    }

    fn settings(&self) -> FleetSettings {
        FleetSettings::new(vec![self.url().parse().unwrap()])
    }

    fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn restart(&mut self) {
        self.process = Self::process(&self.folder, &self.options);
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Runs a command and returns the output of redis-cli.
    fn command(&self, words: &[&str]) -> String {
        let mut command = Command::new("redis-cli");
        let socket = self.folder.path().join("redis.sock");
        let output = command.arg("-s").arg(socket).args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server of the fleet, which shares one limit.
struct Instance {
    fleet: Arc<Fleet>,
    table: Arc<SharedTable>,
    events: Arc<Mutex<Vec<Vec<u8>>>>,
    _thread: FleetThread,
}

impl Instance {
    fn start(settings: FleetSettings, rate: &str, burst: u32) -> Self {
        let fleet = Arc::new(Fleet::new(settings));
        let limit = Limit::new(rate.parse().unwrap()).with_burst(burst);
        let table = Arc::new(SharedTable::new("a", limit, 1000, Arc::clone(fleet.peers())));
        fleet.add(Arc::clone(&table));
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        fleet.events().subscribe("ban", move |event| sink.lock().unwrap().push(event.payload.clone()));
        let thread = fleet.start().unwrap();
        Self { fleet, table, events, _thread: thread }
    }

    fn is_in_contact(&self) -> bool {
        self.fleet.peers().are_in_contact(clock::now())
    }

    fn is_allowed(&self, key: &[u8]) -> bool {
        self.table.decide(key, 1, clock::now()).1.is_allowed()
    }

    fn last_error(&self) -> String {
        self.fleet.report().last_error.unwrap_or_default()
    }
}

/// Waits until something holds that another thread or process does.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "not within 20 s: {what}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn requests_served_by_one_server_count_for_the_other() {
    requires!("program:redis-server");
    let server = Server::start(&[]);
    let (one, other) = (Instance::start(server.settings(), "10/h", 4), Instance::start(server.settings(), "10/h", 4));
    eventually("both are there", || one.fleet.report().instances == 2 && other.fleet.report().instances == 2);
    assert!((0..5).all(|_| one.is_allowed(b"client")));
    assert!(!one.is_allowed(b"client"));
    let key = || server.command(&["KEYS", "serow:{fleet}:limit:a:*"]);
    eventually("Redis has the key", || !key().is_empty());
    // The other server is optimistic once, and knows better afterwards.
    eventually("the other one refuses", || !other.is_allowed(b"client"));
    assert!(other.is_allowed(b"another client"));
    assert_eq!(one.fleet.report().share, 1.0);
    // The key does not stay for ever.
    let life: i64 = server.command(&["PTTL", key().lines().next().unwrap()]).parse().unwrap();
    assert!((10_000..50_000_000).contains(&life), "{life}");
    drop(other);
    eventually("one has gone", || one.fleet.report().instances == 1);
}

#[test]
fn decisions_go_on_while_redis_is_away() {
    requires!("program:redis-server");
    let mut server = Server::start(&[]);
    let settings = FleetSettings { instances: 4, timeout: Duration::from_millis(700), ..server.settings() };
    let one = Instance::start(settings.clone(), "1000/s", 0);
    eventually("there is contact", || one.is_in_contact() && one.fleet.report().exchanges > 3);
    for fault in ["frozen", "killed"] {
        if fault == "frozen" {
            server.signal("STOP")
        } else {
            server.stop()
        }
        let slowest = Cell::new(Duration::ZERO);
        eventually("there is no contact", || {
            let begun = Instant::now();
            let _ = one.is_allowed(b"a");
            slowest.set(slowest.get().max(begun.elapsed()));
            !one.is_in_contact()
        });
        // No decision waits for the timeout.
        assert!(slowest.get() < settings.timeout, "{fault}: {slowest:?}");
        assert!(one.fleet.report().share <= 0.5 || one.fleet.report().instances == 1);
        eventually("the status says it", || !one.fleet.report().is_connected && !one.last_error().is_empty());
        if fault == "frozen" {
            server.signal("CONT")
        } else {
            server.restart()
        }
        let begun = Instant::now();
        eventually("there is contact again", || one.is_in_contact());
        assert!(begun.elapsed() < Duration::from_secs(5), "{fault}: {:?}", begun.elapsed());
    }
}

#[test]
fn events_reach_all_others_also_those_that_were_away() {
    requires!("program:redis-server");
    let server = Server::start(&[]);
    let one = Instance::start(server.settings(), "1/s", 0);
    // Before there is a connection.
    one.fleet.events().publish("ban", b"first");
    eventually("it is published", || one.fleet.report().events_published == 1);
    let other = Instance::start(server.settings(), "1/s", 0);
    let seen = |instance: &Instance| instance.events.lock().unwrap().clone();
    eventually("it has arrived", || seen(&other) == [b"first"]);
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    one.fleet.events().publish("ban", b"second");
    one.fleet.events().publish("other", b"third");
    eventually("they have arrived", || other.fleet.report().events_received == 3);
    assert_eq!(seen(&other), [b"first".to_vec(), b"second".to_vec()]);
    // A server does not receive its own events.
    assert_eq!(one.fleet.report().events_received, 0);
    server.command(&["FLUSHALL"]);
    server.command(&["XADD", "serow:{fleet}:events", "*", "kind", "ban", "payload", "by hand"]);
    server.command(&["XADD", "serow:{fleet}:events", "*", "something", "else"]);
    eventually("it has arrived after a flush", || seen(&one) == [b"by hand"] && seen(&other).len() == 3);
    eventually("what is not an event is counted", || one.fleet.report().events_lost == 1);
}

#[test]
fn values_of_others_are_left_alone_and_reported() {
    requires!("program:redis-server");
    let server = Server::start(&[]);
    let one = Instance::start(server.settings(), "10/h", 4);
    assert!(one.is_allowed(b"client"));
    let keys = || server.command(&["KEYS", "serow:{fleet}:limit:*"]);
    eventually("Redis has the key", || !keys().is_empty());
    let key = keys();
    for (command, foreign) in [
        (vec!["SET", &key, "text"], true),
        (vec!["SET", &key, "-1 -1"], true),
        (vec!["SET", &key, "nan 1"], true),
        (vec!["SET", &key, "99999999999999999999999999999 9999999"], false),
        (vec!["SET", &key, "0 999999999999999999999999999999"], false),
        (vec!["SET", &key, "1 1 1"], true),
        (vec!["LPUSH", &key, "a"], true),
        (vec!["HSET", "serow:{fleet}:instances", "a", "b"], true),
        (vec!["SET", "serow:{fleet}:events", "text"], true),
    ] {
        let kind = match command[0] {
            "LPUSH" => "list",
            "HSET" => "hash",
            _ => "string",
        };
        // An exchange on its way may come first.
        eventually("it is written", || {
            server.command(&["DEL", command[1]]);
            server.command(&command);
            server.command(&["TYPE", command[1]]) == kind
        });
        let before = one.fleet.report();
        eventually(&format!("{command:?}"), || {
            let _ = one.is_allowed(b"client");
            let now = one.fleet.report();
            if foreign { now.errors > before.errors } else { now.exchanges > before.exchanges + 1 }
        });
        assert_eq!(server.command(&["TYPE", command[1]]), kind, "{command:?}");
        server.command(&["DEL", command[1]]);
    }
    // The end in a key is bounded, so clients are let in again; the errors were about values that are not Serow's.
    assert!(one.last_error().contains("prefix") || one.last_error().contains("WRONGTYPE"), "{}", one.last_error());
}

#[test]
fn passwords_are_sent_and_never_shown() {
    requires!("program:redis-server");
    let server = Server::start(&["--requirepass", "se-cret"]);
    for (password, expected) in [(None, false), (Some("wr-ong"), false), (Some("se-cret"), true)] {
        let settings = FleetSettings { password: password.map(str::to_owned), ..server.settings() };
        assert!(!format!("{settings:?}").contains(password.unwrap_or("se-cret")));
        let one = Instance::start(settings, "1/s", 0);
        eventually("it is tried", || one.is_in_contact() || !one.last_error().is_empty());
        // Before the server listens, it is not there.
        eventually("it is decided", || {
            one.is_in_contact() == expected && (expected || !one.last_error().contains("os error"))
        });
        assert!(!format!("{:?}", one.fleet.report()).contains("wr-ong"), "{:?}", one.fleet.report());
    }
}

#[test]
fn connections_are_encrypted_and_verified() {
    requires!("program:redis-server");
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.path().join("a.pem"), folder.path().join("a.key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let port = serow_ports::free_port().to_string();
    let files = [certificate.to_str().unwrap(), key.to_str().unwrap()];
    let options =
        ["--tls-port", &port, "--tls-auth-clients", "no", "--tls-cert-file", files[0], "--tls-key-file", files[1]];
    let _server = Server::start(&options);
    for (host, authorities, expected) in [
        ("localhost", Some(certificate.as_path()), true),
        ("127.0.0.1", Some(certificate.as_path()), false),
        ("localhost", None, false),
    ] {
        let mut settings = FleetSettings::new(vec![format!("rediss://{host}:{port}").parse().unwrap()]);
        settings.tls = Some(FleetSettings::encryption(authorities).unwrap());
        let one = Instance::start(settings, "1/s", 0);
        eventually(host, || one.is_in_contact() == expected && (expected || one.last_error().contains("certificate")));
    }
}

/// Sends these commands at the same time; the answers, and when each came.
fn call_all(fleet: &Arc<Fleet>, commands: &[Vec<Vec<u8>>]) -> Vec<(Result<RedisAnswer, String>, Duration)> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let begin = Instant::now();
    runtime.block_on(async {
        let calls: Vec<_> = commands
            .iter()
            .map(|words| {
                let (fleet, words) = (Arc::clone(fleet), words.clone());
                tokio::spawn(async move {
                    let answer = fleet.commands().call(words).await.map_err(|failure| failure.0);
                    (answer, begin.elapsed())
                })
            })
            .collect();
        let mut answers = Vec::new();
        for call in calls {
            answers.push(call.await.unwrap());
        }
        answers
    })
}

fn words(text: &str) -> Vec<Vec<u8>> {
    text.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

/// The timeout counts from the call on: those that wait behind others do not wait for theirs as well.
#[test]
fn a_thousand_commands_to_a_frozen_redis_fail_together() {
    requires!("program:redis-server");
    let server = Server::start(&[]);
    let timeout = Duration::from_secs(2);
    let fleet = Arc::new(Fleet::new(FleetSettings { timeout, ..server.settings() }));
    let _thread = fleet.start().unwrap();
    eventually("Redis answers", || call_all(&fleet, &[words("PING")])[0].0.is_ok());
    server.signal("STOP");
    let answers = call_all(&fleet, &vec![words("GET a"); 1000]);
    server.signal("CONT");
    for (answer, time) in &answers {
        assert!(answer.as_ref().is_err_and(|error| error.contains("within 2s")), "{answer:?} after {time:?}");
    }
    // Sixteen batches of 64 would take sixteen timeouts.
    let last = answers.iter().map(|(_, time)| *time).max().unwrap();
    assert!(last < timeout * 4, "{last:?}");
    eventually("Redis is used again", || call_all(&fleet, &[words("PING")])[0].0.is_ok());
}

#[test]
fn an_answer_that_is_too_large_fails_alone() {
    requires!("program:redis-server");
    let server = Server::start(&[]);
    let timeout = Duration::from_secs(20);
    let fleet = Arc::new(Fleet::new(FleetSettings { timeout, ..server.settings() }));
    let _thread = fleet.start().unwrap();
    let large = ["EVAL", "return string.rep('x', 9000000)", "0"].map(|word| word.as_bytes().to_vec()).to_vec();
    let megabyte = ["EVAL", "return string.rep('x', 1000000)", "0"].map(|word| word.as_bytes().to_vec()).to_vec();
    eventually("Redis answers", || call_all(&fleet, &[words("PING")])[0].0.is_ok());
    let mut commands = vec![words("ECHO a"); 60];
    commands[20] = large;
    commands[30..50].fill(megabyte);
    for (number, (answer, _)) in call_all(&fleet, &commands).into_iter().enumerate() {
        match number {
            20 => assert!(answer.unwrap_err().contains("more than 8388608 bytes")),
            30..50 => assert_eq!(
                answer.map(|answer| matches!(answer, RedisAnswer::Text(text) if text.len() == 1_000_000)),
                Ok(true)
            ),
            _ => assert_eq!(answer, Ok(RedisAnswer::Text(b"a".to_vec())), "{number}"),
        }
    }
}

/// All that Redis itself says of them, so that a newer one is noticed.
#[test]
fn commands_that_wait_or_change_the_connection_are_refused_as_redis_lists_them() {
    requires!("program:redis-server");
    let server = Server::start(&[]);
    let fleet = Fleet::new(server.settings());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    eventually("Redis answers", || server.command(&["PING"]).starts_with("PONG"));
    for (category, allowed) in [
        ("blocking", &["xread", "xreadgroup"][..]),
        ("connection", &["echo", "ping", "command"]),
        ("pubsub", &["publish", "spublish", "pubsub"]),
    ] {
        let listed = server.command(&["COMMAND", "LIST", "FILTERBY", "ACLCAT", category]);
        let names: Vec<&str> = listed.lines().filter(|name| !name.contains('|')).collect();
        assert!(names.len() > 5, "{listed}");
        for name in names {
            let queued = fleet.commands().call(vec![name.as_bytes().to_vec(), b"a".to_vec()]);
            let refused = runtime.block_on(async {
                let answered =
                    tokio::select! { biased; answer = queued => answer.err(), () = std::future::ready(()) => None };
                answered.is_some_and(|failure| failure.0.contains("waits or changes the connection"))
            });
            assert_eq!(refused, !allowed.contains(&name), "{category}: {name}");
        }
    }
}

#[test]
fn commands_are_answered_and_errors_are_theirs_alone() {
    requires!("program:redis-server");
    let mut server = Server::start(&[]);
    let fleet = Arc::new(Fleet::new(server.settings()));
    let thread = fleet.start().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let call = |text: &str| {
        let words = text.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        runtime.block_on(fleet.commands().call(words)).map_err(|failure| failure.0)
    };
    let text = |text: &str| RedisAnswer::Text(text.as_bytes().to_vec());
    eventually("Redis answers", || call("PING").is_ok());
    for (command, expected) in [
        ("SET a 1", text("OK")),
        ("INCR a", RedisAnswer::Number(2)),
        ("GET a", text("2")),
        ("GET missing", RedisAnswer::Nil),
        ("MGET a missing", RedisAnswer::List(vec![text("2"), RedisAnswer::Nil])),
    ] {
        assert_eq!(call(command), Ok(expected), "{command}");
    }
    let error = call("INCR").unwrap_err();
    assert!(error.contains("wrong number of arguments"), "{error}");
    // A thousand at once, of which one is wrong.
    let answers = runtime.block_on(async {
        let calls: Vec<_> = (0..1000)
            .map(|number| {
                let words = if number == 500 { vec!["NONSENSE"] } else { vec!["ECHO", "x"] };
                let words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
                let fleet = Arc::clone(&fleet);
                tokio::spawn(async move { fleet.commands().call(words).await })
            })
            .collect();
        let mut answers = Vec::new();
        for call in calls {
            answers.push(call.await.unwrap().is_ok());
        }
        answers
    });
    assert!(answers.iter().enumerate().all(|(number, is_ok)| *is_ok == (number != 500)));
    // A server that is away is an error at once; one that is back is used again.
    server.stop();
    assert!(call("GET a").is_err());
    server.restart();
    eventually("Redis is used again", || call("GET a").is_ok());
    drop(thread);
    assert_eq!(call("GET a"), Err("the server stops".to_owned()));
}

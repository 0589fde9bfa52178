//! Commands with `--fleet`: three servers and a real Redis, which is away, emptied and back.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;
use serow_requirements::requires;
use tempfile::TempDir;

use crate::running::{Running, eventually, output, received, serow};

/// A Redis server on a socket in this folder.
struct Redis(Child);

impl Redis {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(folder.join("redis.sock"));
        Self(command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server of the fleet, with a folder of its own.
struct Member {
    folder: TempDir,
    server: Option<Running>,
}

impl Member {
    fn start(name: &str, redis: &Path, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("index.html"), "hello").unwrap();
        let admin = folder.path().join("admin.sock");
        let text = format!(
            "listen = \"127.0.0.1:0\"\nadmin = \"unix:{}\"\nworkers = 1\n{more}\n[redis]\nurl = \"unix://{}\"\nname = \"{name}\"\n\
             [cache]\nmemory = \"1M\"\n[[upstream]]\nname = \"app\"\nservers = [\"127.0.0.1:9\", \"127.0.0.1:10\"]\n\
             [[site]]\nhosts = \"file\"\nfiles = {{ root = \"{}\" }}\n",
            admin.display(),
            redis.join("redis.sock").display(),
            folder.path().display()
        );
        fs::write(folder.path().join("serow.toml"), text).unwrap();
        let mut this = Self { folder, server: None };
        this.restart();
        this
    }

    fn restart(&mut self) {
        self.stop();
        let mut command = serow(["run", "-c"]);
        command.arg(self.folder.path().join("serow.toml")).env("STATE_DIRECTORY", self.folder.path().join("state"));
        self.server = Some(Running::of(command));
    }

    /// As after a power failure.
    fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.child.kill().unwrap();
            server.child.wait().unwrap();
        }
    }

    fn server(&self) -> &Running {
        self.server.as_ref().unwrap()
    }

    fn output(&self, words: &[&str]) -> Output {
        let file = self.folder.path().join("serow.toml");
        output(words.iter().copied().chain(["-c", file.to_str().unwrap()]))
    }

    /// The lines of a command that succeeds.
    fn command(&self, words: &[&str]) -> String {
        let output = self.output(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn fleet(&self) -> Value {
        serde_json::from_str::<Value>(&self.command(&["status", "--json"])).unwrap()["fleet"].take()
    }

    fn status_of(&self, host: &str) -> u16 {
        let mut stream = self.server().connect();
        stream.write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        received(stream).status()
    }
}

fn together(members: &[Member]) {
    for member in members {
        eventually("the servers are together", || {
            let fleet = member.fleet();
            (fleet["connected"] == true && fleet["instances"] == members.len()).then_some(())
        });
    }
}

#[test]
fn commands_are_executed_by_all_servers_also_by_those_that_were_away() {
    requires!("program:redis-server");
    let folder = tempfile::tempdir().unwrap();
    let redis = Redis::start(folder.path());
    let mut members = ["one", "two", "three"].map(|name| Member::start(name, folder.path(), ""));
    together(&members);
    let said = members[0].command(&["maintenance", "on", "--fleet"]);
    let contact = "fleet: 3 servers are in contact, with this one; others follow when they are\n";
    assert_eq!(said, format!("maintenance: all clients receive 503\n{contact}"));
    let all = |members: &[Member], host: &str, status: u16| {
        for member in members {
            eventually("the command has arrived", || (member.status_of(host) == status).then_some(()));
        }
    };
    all(&members, "file", 503);
    members[1].command(&["maintenance", "off", "--fleet"]);
    members[1].command(&["upstream", "drain", "app", "127.0.0.1:9", "--fleet"]);
    let root = folder.path().display();
    members[2].command(&["route", "add", "shop.example", &format!("redirect:https://a.example{root}"), "--fleet"]);
    all(&members, "file", 200);
    all(&members, "shop.example", 302);
    // Redis is away, and one of the servers as well.
    drop(redis);
    members[2].stop();
    eventually("Redis is not in contact", || (members[0].fleet()["share"] != 1.0).then_some(()));
    let said = members[0].command(&["maintenance", "on", "--fleet"]);
    assert!(said.ends_with("fleet: Redis is not in contact: the other servers follow when it is\n"), "{said}");
    members[0].command(&["maintenance", "off", "--fleet"]);
    members[0].command(&["ban", "add", "192.0.2.1", "--for", "1h", "--fleet"]);
    members[0].command(&["purge", "--all", "--fleet"]);
    members[1].command(&["route", "remove", "shop.example", "--fleet"]);
    assert_eq!((members[0].status_of("shop.example"), members[1].status_of("file")), (302, 200));
    // It comes back empty: the servers have all.
    let _redis = Redis::start(folder.path());
    members[2].restart();
    together(&members);
    for member in &members {
        eventually("the route is removed", || (member.status_of("shop.example") != 302).then_some(()));
        eventually("the client is banned", || member.command(&["ban", "list"]).contains("192.0.2.1").then_some(()));
        assert!(member.command(&["upstream", "list", "app"]).contains("draining"));
        assert_eq!(member.status_of("file"), 200);
    }
    eventually("all servers are listed", || {
        let table = members[1].command(&["status", "--fleet"]);
        ["one", "two", "three"].iter().all(|name| table.contains(name)).then_some(())
    });
    assert_eq!(members[1].fleet()["commands"]["kept"], 5);
}

#[test]
fn a_server_starts_without_redis_with_what_it_last_knew() {
    requires!("program:redis-server");
    let folder = tempfile::tempdir().unwrap();
    let redis = Redis::start(folder.path());
    let mut members = ["one", "two"].map(|name| Member::start(name, folder.path(), ""));
    together(&members);
    members[0].command(&["maintenance", "on", "--fleet"]);
    members[0].command(&["upstream", "down", "app", "127.0.0.1:10", "--fleet"]);
    members[0].command(&["ban", "add", "192.0.2.1", "--for", "1h", "--fleet"]);
    eventually("the last has arrived", || members[1].command(&["ban", "list"]).contains("192.0.2.1").then_some(()));
    drop(redis);
    let member = &mut members[1];
    member.restart();
    assert_eq!(member.status_of("file"), 503);
    assert!(member.command(&["ban", "list"]).contains("192.0.2.1"));
    assert!(member.command(&["upstream", "list", "app"]).contains("down"));
    member.server().line_with("commands of other servers arrive when it can be");
    // Later processes have it from the master, and a command to this server only counts for them as well.
    eventually("the master knows it", || member.command(&["upstream", "list"]).contains("remembered").then_some(()));
    member.command(&["maintenance", "off"]);
    member.command(&["reload", "--new-process"]);
    assert_eq!(member.status_of("file"), 200);
}

#[test]
fn a_refused_command_is_reported_and_does_not_hold_up_others() {
    requires!("program:redis-server");
    let folder = tempfile::tempdir().unwrap();
    let _redis = Redis::start(folder.path());
    // The second has an upstream of its own with the name.
    let members = [
        Member::start("one", folder.path(), ""),
        Member::start("two", folder.path(), "[[upstream]]\nname = \"mine\"\nservers = \"127.0.0.1:9\"\n"),
    ];
    together(&members);
    let text = "[[upstream]]\nname = \"mine\"\nservers = \"127.0.0.1:9\"\n[[site]]\nhosts = \"a\"\n[[site.route]]\npath = \"/\"\nrespond = { body = \"a\" }\n";
    fs::write(folder.path().join("a.toml"), text).unwrap();
    let file = folder.path().join("a.toml");
    let put = |name: &str| members[0].command(&["config", "put", name, file.to_str().unwrap(), "--fleet"]);
    assert!(put("a").contains("generation 1 serves"));
    members[0].command(&["maintenance", "on", "--fleet"]);
    eventually("the next has arrived", || (members[1].status_of("file") == 503).then_some(()));
    members[1].server().line_with("fleet: put the settings file a, given to server");
    let commands = members[1].fleet()["commands"].take();
    assert_eq!((&commands["refused"], &commands["behind"]), (&1.into(), &0.into()), "{commands}");
    eventually("the other server shows it", || {
        let table = members[0].command(&["status", "--fleet"]);
        table.contains("two has refused config/a: ").then_some(())
    });
    // Other settings make it possible.
    let settings = members[1].folder.path().join("serow.toml");
    let text = fs::read_to_string(&settings).unwrap().replace("name = \"mine\"", "name = \"other\"");
    fs::write(&settings, text).unwrap();
    members[1].command(&["reload"]);
    members[1].command(&["maintenance", "off", "--fleet"]);
    eventually("it is executed", || (members[1].fleet()["commands"]["refused"] == 0).then_some(()));
    eventually("the site is there", || (members[1].status_of("a") == 200).then_some(()));
}

#[test]
fn servers_without_a_fleet_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let admin = format!("unix:{}", folder.path().join("admin.sock").display());
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"{admin}\"\n[[site]]\n[[site.route]]\npath = \"/\"\nrespond = {{ body = \"a\" }}\n"
    );
    fs::write(folder.path().join("serow.toml"), text).unwrap();
    let mut command = serow(["run", "-c"]);
    command.arg(folder.path().join("serow.toml")).env("STATE_DIRECTORY", folder.path().join("state"));
    let _server = Running::of(command);
    for words in [&["maintenance", "on", "--fleet"][..], &["status", "--fleet"], &["config", "delete", "a", "--fleet"]]
    {
        let output = output(words.iter().copied().chain(["--admin", &admin]));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains("write [redis]"), "{words:?}: {error}");
    }
    let left = fs::read_dir(folder.path().join("state")).into_iter().flatten().count();
    assert_eq!(left, 0);
}

//! A server in a process of its own: this program once more, told to run one of its ignored tests.

use std::{
    io::{BufRead, BufReader, Lines},
    net::SocketAddr,
    process::{ChildStdout, Command, ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Resource, Rlimit, setrlimit};
use serow::{HandlerExt, Request, Response, Server, Timeouts};

use super::{Client, eventually, patient};

pub(crate) struct Child {
    process: std::process::Child,
    /// Kept open, since the child goes on to write.
    _output: Lines<BufReader<ChildStdout>>,
    address: SocketAddr,
}

impl Child {
    pub(crate) fn start(test: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = output
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once("listening on ").and_then(|(_, address)| address.parse().ok()))
            .expect("the child says where it listens");
        Self { process, _output: output, address }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn connect(&self) -> Client {
        Client::tcp(self.address)
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the child ends", || {
            status = self.process.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// The processor time that it has spent so far.
    pub(crate) fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap();
        let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        // proc_pid_stat(5): utime and stime are the 14th and 15th field, in hundredths of a second.
        let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        Duration::from_millis(10 * ticks)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves in the child until a signal ends it.
pub(crate) fn hello_in_a_child(descriptors: Option<u64>) {
    if let Some(most) = descriptors {
        setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: Some(most) }).unwrap();
    }
    let timeouts = Timeouts { grace: Duration::from_secs(15), ..patient() };
    let server = Server::new().listen("127.0.0.1:0").workers(1).timeouts(timeouts).bind().unwrap();
    println!("\nlistening on {}", server.addresses().next().unwrap());
    let handler = |request: Request| async move {
        match request.target.path() {
            "/slow" => {
                tokio::time::sleep(Duration::from_millis(800)).await;
                Response::text("slow")
            }
            "/never" => std::future::pending().await,
            _ => Response::text("hello"),
        }
    };
    server.run(handler.boxed()).unwrap();
}

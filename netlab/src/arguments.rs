//! The command line, and what it means.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::Parser;

use crate::{link::LinkSettings, namespace::Network, quantity};

/// Runs a server and a client in two networks of their own that are joined by a slow link.
///
/// Both have their kernel's own TCP and UDP. Every packet between them waits for its turn in a queue, takes the time that the
/// rate gives it, and half of the round trip. The server is 10.99.0.1, the client 10.99.0.2; the client is started when
/// the server listens. Ends, with the client's exit code, when the client does. Everything that either has started ends
/// with it.
#[derive(Debug, Parser)]
#[command(
    name = "netlab",
    override_usage = "netlab [OPTIONS] -- SERVER… -- CLIENT…\n       netlab --check",
    max_term_width = 100,
    after_help = EXAMPLES
)]
struct Written {
    /// Bits per second on the way to the client: 128kbit, 10mbit, 1gbit
    #[arg(long, value_name = "RATE", default_value = "10mbit", value_parser = quantity::rate)]
    rate: u64,
    /// Bits per second on the way to the server [default: as --rate]
    #[arg(long, value_name = "RATE", value_parser = quantity::rate)]
    rate_back: Option<u64>,
    /// Round trip without queues; half of it each way
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = quantity::time)]
    rtt: Duration,
    /// Bytes that may wait before the link, each way; what does not fit is dropped. auto: what is under way during a
    /// round trip, at least 32 packets
    #[arg(long, value_name = "BYTES", default_value = "auto", value_parser = queue)]
    queue: Queue,
    /// Packets lost on the way, per cent, each way
    #[arg(long, value_name = "PER CENT", default_value = "0", value_parser = quantity::share)]
    loss: f64,
    /// Packets held back on the way, per cent, each way: later ones overtake them. For the time of four of the largest
    /// packets, or for a quarter of the way if that is longer
    #[arg(long, value_name = "PER CENT", default_value = "0", value_parser = quantity::share)]
    reorder: f64,
    /// Chooses the packets that are lost or held back: the same number, the same packets
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Bytes of the largest packet
    #[arg(long, value_name = "N", default_value_t = 1_500, value_parser = clap::value_parser!(u32).range(576..=65_535))]
    mtu: u32,
    /// Congestion control of both kernels, one of those in net.ipv4.tcp_available_congestion_control
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    congestion: String,
    /// When the client is started: listen (a TCP port, any), tcp:PORT, or after a TIME
    #[arg(long, value_name = "WHAT", default_value = "listen", value_parser = readiness)]
    wait_for: Readiness,
    /// Writes what the link carried, and how punctually, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Writes a line for each TCP segment and UDP datagram to the client, as CSV; times are CLOCK_MONOTONIC
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// The same for those to the server
    #[arg(long, value_name = "FILE")]
    trace_back: Option<PathBuf>,
    /// Only says whether networks may be made here; exit code 2 if not
    #[arg(long)]
    check: bool,
}

/// The task that the command line asks for.
#[derive(Debug)]
pub(crate) enum Task {
    /// Checks whether the experiment could run here.
    Check(Experiment),
    /// Runs the experiment.
    Run(Experiment),
}

/// Two commands and the link between them.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) to_client: LinkSettings,
    pub(crate) to_server: LinkSettings,
    pub(crate) network: Network,
    pub(crate) readiness: Readiness,
    pub(crate) report: Option<PathBuf>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) trace_back: Option<PathBuf>,
    pub(crate) server: Vec<OsString>,
    pub(crate) client: Vec<OsString>,
}

/// When the client is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    After(Duration),
    Listening { port: Option<u16>, limit: Duration },
}

#[derive(Clone, Copy, Debug)]
enum Queue {
    Auto,
    Bytes(u64),
}

/// Reads the arguments, the program's own name first.
pub(crate) fn read(arguments: impl Iterator<Item = OsString>) -> Result<Task, clap::Error> {
    let arguments: Vec<OsString> = arguments.collect();
    let mut parts = arguments.split(|argument| argument == "--");
    let written = Written::try_parse_from(parts.next().unwrap_or_default())?;
    let is_check = written.check;
    let server = parts.next().unwrap_or_default().to_vec();
    // A command may have a `--` of its own, but only the last one.
    let client = parts.collect::<Vec<_>>().join(&OsString::from("--"));
    if !is_check && (server.is_empty() || client.is_empty()) {
        let what = "write both commands: netlab [OPTIONS] -- SERVER… -- CLIENT…\n";
        return Err(clap::Error::raw(clap::error::ErrorKind::MissingRequiredArgument, what));
    }
    let experiment = written.meant(server, client);
    Ok(if is_check { Task::Check(experiment) } else { Task::Run(experiment) })
}

impl Written {
    fn meant(self, server: Vec<OsString>, client: Vec<OsString>) -> Experiment {
        let rate_back = self.rate_back.unwrap_or(self.rate);
        let link = |rate: u64, seed: u64| {
            let under_way = under_way(rate, self.rtt);
            let queue = match self.queue {
                Queue::Auto => under_way.max(u64::from(self.mtu) * LEAST_QUEUED),
                Queue::Bytes(bytes) => bytes,
            };
            let delay = self.rtt / 2;
            let hold = (sending_time(self.mtu, rate) * OVERTAKING).max(delay / HELD_PART);
            LinkSettings { rate, delay, queue, loss: self.loss, reorder: self.reorder, hold, seed }
        };
        // The two ways must not lose or hold back the same packets.
        let (to_client, to_server) = (link(self.rate, self.seed), link(rate_back, !self.seed));
        let largest_buffer = BUFFERS * (under_way(self.rate.max(rate_back), self.rtt) + to_client.queue.min(MAX_QUEUE));
        Experiment {
            to_client,
            to_server,
            network: Network { mtu: self.mtu, congestion: self.congestion, largest_buffer },
            readiness: self.wait_for,
            report: self.report,
            trace: self.trace,
            trace_back: self.trace_back,
            server,
            client,
        }
    }
}

/// The bytes on the way during a round trip.
fn under_way(rate: u64, rtt: Duration) -> u64 {
    (rate as f64 / 8.0 * rtt.as_secs_f64()) as u64
}

/// How long the link sends a packet.
fn sending_time(length: u32, rate: u64) -> Duration {
    Duration::from_secs_f64(f64::from(length) * 8.0 / rate as f64)
}

fn queue(text: &str) -> Result<Queue, String> {
    if text == "auto" { Ok(Queue::Auto) } else { quantity::size(text).map(Queue::Bytes) }
}

fn readiness(text: &str) -> Result<Readiness, String> {
    let limit = MAX_START;
    if text == "listen" {
        return Ok(Readiness::Listening { port: None, limit });
    }
    if let Some(port) = text.strip_prefix("tcp:") {
        let port = port.parse().map_err(|_| format!("{port:?} is not a port"))?;
        return Ok(Readiness::Listening { port: Some(port), limit });
    }
    quantity::time(text).map(Readiness::After).map_err(|_| "write listen, tcp:PORT or a time".to_owned())
}

/// Three flights of the ten segments that a connection starts with (RFC 6928 §2) and what goes with them.
const LEAST_QUEUED: u64 = 32;
/// A packet that three later ones have overtaken is lost to TCP (RFC 5681 §3.2) and QUIC (RFC 9002 §6.1.1): one more.
const OVERTAKING: u32 = 4;
/// At high rates few packets are sent in the time of four, and seldom at once: some of those on the way overtake.
const HELD_PART: u32 = 4;
/// The kernel counts its own overhead into a connection's buffer: half of it is for bytes (tcp(7), tcp_adv_win_scale).
const BUFFERS: u64 = 2;
/// Of a queue without end, what a buffer is made for.
const MAX_QUEUE: u64 = 64 << 20;
/// A JVM may take this long to listen.
const MAX_START: Duration = Duration::from_secs(15);

const EXAMPLES: &str = "\
Examples:
  netlab --rate 128kbit --rtt 300ms -- nghttpd -d site 8443 key.pem cert.pem -- nghttp -ans https://10.99.0.1:8443/
  netlab --rate 1gbit --rtt 300ms --report report.json -- iperf3 -s -1 -- iperf3 -c 10.99.0.1 -R
  netlab --wait-for 1s -- sleep 60 -- ping -c 3 10.99.0.1
  netlab --loss 2 --reorder 1 --seed 7 --wait-for 1s -- iperf3 -s -1 -- iperf3 -c 10.99.0.1 -u -b 5M

Needs root, or unprivileged user namespaces; the programs ip (iproute2) and the device /dev/net/tun.";

#[cfg(test)]
mod tests {
    use super::*;

    fn task(line: &str) -> Result<Task, clap::Error> {
        read(line.split_whitespace().map(OsString::from))
    }

    fn experiment(line: &str) -> Experiment {
        match task(line) {
            Ok(Task::Run(experiment)) => experiment,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_slow_link() {
        let experiment = experiment("netlab --rate 128kbit --rtt 300ms -- serow files . -- client -- x");
        assert_eq!(experiment.server, ["serow", "files", "."]);
        assert_eq!(experiment.client, ["client", "--", "x"]);
        assert_eq!(experiment.to_client.delay, Duration::from_millis(150));
        // 4,800 bytes are under way; 32 packets are more.
        assert_eq!((experiment.to_client.rate, experiment.to_client.queue), (128_000, 48_000));
        assert_eq!(experiment.to_server.rate, 128_000);
        assert_ne!(experiment.to_client.seed, experiment.to_server.seed);
        assert_eq!(experiment.readiness, Readiness::Listening { port: None, limit: MAX_START });
    }

    #[test]
    fn a_fast_link() {
        let experiment = experiment("netlab --rate 1gbit --rate-back 10mbit --rtt 300ms --wait-for tcp:443 -- a -- b");
        assert_eq!((experiment.to_client.queue, experiment.to_server.queue), (37_500_000, 375_000));
        assert_eq!(experiment.network.largest_buffer, 150_000_000);
        assert_eq!(experiment.readiness, Readiness::Listening { port: Some(443), limit: MAX_START });
    }

    #[test]
    fn a_link_that_loses_and_reorders() {
        let slow = experiment("netlab --rate 120kbit --rtt 300ms --loss 2 --reorder 0.5% --seed 9 -- a -- b").to_client;
        // A packet takes 100 ms.
        assert_eq!((slow.loss, slow.reorder, slow.seed), (0.02, 0.005, 9));
        assert_eq!(slow.hold, Duration::from_millis(400));
        let fast = experiment("netlab --rate 1gbit --rtt 80ms -- a -- b").to_client;
        assert_eq!((fast.loss, fast.reorder, fast.hold), (0.0, 0.0, Duration::from_millis(10)));
    }

    #[test]
    fn bad_shares_are_refused_with_what_to_write() {
        for option in ["--loss", "--reorder"] {
            for value in ["101", "x", "2permille", "nan"] {
                let error = task(&format!("netlab {option} {value} -- a -- b")).unwrap_err().to_string();
                assert!(error.contains(option) && error.contains("write per cent from 0 to 100"), "{error}");
            }
        }
    }

    #[test]
    fn invalid_command_lines_are_refused() {
        for line in [
            "netlab",
            "netlab -- a",
            "netlab -- a --",
            "netlab --rate x -- a -- b",
            "netlab --mtu 1 -- a -- b",
            "netlab --wait-for tcp:x -- a -- b",
            "netlab --loss 101 -- a -- b",
            "netlab --reorder 101 -- a -- b",
            "netlab --seed x -- a -- b",
        ] {
            assert!(task(line).is_err(), "{line}");
        }
        assert!(matches!(task("netlab --check"), Ok(Task::Check(_))));
    }
}

//! One direction of the way between the two devices: packets are read from one, wait as the link wants it, and are
//! written to the other.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, ErrorKind, Read, Write},
    os::fd::AsFd,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use nix::{
    poll::{PollFd, PollFlags, ppoll},
    sys::time::TimeSpec,
    time::{ClockId, clock_gettime},
};

use crate::{
    link::{Fate, Link, LinkSettings},
    report::DirectionReport,
    trace::Trace,
};

/// One direction. Runs on a thread of its own.
#[derive(Debug)]
pub(crate) struct Relay<'a> {
    link: Link,
    from: &'a File,
    to: &'a File,
    trace: Option<Trace>,
    /// In the order of arrival.
    on_the_way: VecDeque<Packet>,
    /// Memory of packets that have arrived, for the next ones.
    spare: Vec<Vec<u8>>,
    report: DirectionReport,
}

#[derive(Debug)]
struct Packet {
    arrives: Duration,
    bytes: Vec<u8>,
}

impl<'a> Relay<'a> {
    pub(crate) fn new(settings: LinkSettings, from: &'a File, to: &'a File, trace: Option<Trace>) -> Self {
        let report = DirectionReport::new(&settings);
        let link = Link::new(settings);
        Self { link, from, to, trace, on_the_way: VecDeque::new(), spare: Vec::new(), report }
    }

    /// Carries packets until it is stopped.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<DirectionReport> {
        be_punctual();
        while !stop.load(Ordering::Relaxed) {
            self.deliver()?;
            self.wait()?;
            self.take()?;
        }
        self.report.busy = self.link.busy();
        self.report.held = self.link.held();
        if let Some(trace) = self.trace {
            trace.finish()?;
        }
        Ok(self.report)
    }

    /// Writes what has arrived.
    fn deliver(&mut self) -> io::Result<()> {
        while self.on_the_way.front().is_some_and(|packet| packet.arrives <= now()) {
            let Some(packet) = self.on_the_way.pop_front() else { break };
            self.report.delivered(now() - packet.arrives);
            match self.to.write(&packet.bytes) {
                Ok(_) => {}
                // The device is gone, or the kernel is out of memory for packets: on a real link it would be lost.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.report.refused += 1,
            }
            if self.spare.len() < MAX_SPARE {
                self.spare.push(packet.bytes);
            }
        }
        Ok(())
    }

    /// Until there is something to read, or the next packet arrives.
    fn wait(&self) -> io::Result<()> {
        let rest = self.on_the_way.front().map_or(MAX_WAIT, |next| next.arrives.saturating_sub(now()));
        if rest.is_zero() {
            return Ok(());
        }
        let mut readable = [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut readable, Some(TimeSpec::from_duration(rest.min(MAX_WAIT))), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads what is there: not everything, so that what arrives meanwhile is not late.
    fn take(&mut self) -> io::Result<()> {
        for _ in 0..MAX_AT_ONCE {
            let mut bytes = self.spare.pop().unwrap_or_default();
            bytes.resize(LARGEST_PACKET, 0);
            match self.from.read(&mut bytes) {
                Ok(0) => return Err(io::Error::other("the device is gone")),
                Ok(length) => {
                    bytes.truncate(length);
                    self.offer(now(), bytes)?;
                }
                Err(error) => {
                    self.spare.push(bytes);
                    return match error.kind() {
                        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(()),
                        _ => Err(error),
                    };
                }
            }
        }
        Ok(())
    }

    fn offer(&mut self, entered: Duration, bytes: Vec<u8>) -> io::Result<()> {
        let fate = self.link.offer(entered, bytes.len());
        self.report.taken(entered, bytes.len(), fate, self.link.waiting(entered));
        if let Some(trace) = &mut self.trace {
            trace.note(entered, &bytes, fate)?;
        }
        match fate {
            Fate::Deliver { arrives, .. } => enqueue(&mut self.on_the_way, Packet { arrives, bytes }),
            Fate::Drop | Fate::Lose { .. } => self.spare.push(bytes),
        }
        Ok(())
    }
}

/// Puts a packet behind those that arrive before it or with it. Only one that was held back has later ones before it.
fn enqueue(on_the_way: &mut VecDeque<Packet>, packet: Packet) {
    let later = on_the_way.iter().rev().take_while(|other| other.arrives > packet.arrives).count();
    on_the_way.insert(on_the_way.len() - later, packet);
}

/// The time since some moment in the past, the same for every process of this machine.
pub(crate) fn now() -> Duration {
    // CLOCK_MONOTONIC is always there.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}

/// A packet must not wait for the programs that the laboratory is there to measure. All of this is refused without
/// rights, and then it is only less exact.
fn be_punctual() {
    let _ = nix::sys::prctl::set_timerslack(1);
    let thread = rustix::thread::gettid();
    let _ = rustix::process::setpriority_process(Some(thread), HIGHEST_PRIORITY);
    // Before every program that is not real-time itself: no crate has a safe call for it. The kernel keeps a twentieth
    // of the processor for the others all the same (sched_rt_runtime_us).
    let thread = thread.as_raw_nonzero().to_string();
    let _ = Command::new("chrt").args(["--fifo", "--pid", "1", &thread]).stderr(Stdio::null()).status();
}

/// setpriority(2): the range is from -20 to 19.
const HIGHEST_PRIORITY: i32 = -20;
/// How long it may take to notice that it is to stop.
const MAX_WAIT: Duration = Duration::from_millis(50);
/// An IPv4 packet's length has 16 bits.
const LARGEST_PACKET: usize = 65_535;
/// 16 packets are read in about 30 µs, which is the accuracy of a sleep.
const MAX_AT_ONCE: usize = 16;
/// As many as a gigabit has on its way in 50 ms.
const MAX_SPARE: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_overtake_one_that_is_held_back() {
        let mut on_the_way = VecDeque::new();
        for (number, milliseconds) in [(1, 10), (2, 40), (3, 20), (4, 40), (5, 30)] {
            enqueue(&mut on_the_way, Packet { arrives: Duration::from_millis(milliseconds), bytes: vec![number] });
        }
        let order: Vec<u8> = on_the_way.into_iter().flat_map(|packet| packet.bytes).collect();
        assert_eq!(order, [1, 3, 5, 2, 4]);
    }
}

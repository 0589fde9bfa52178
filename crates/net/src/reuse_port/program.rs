//! Classic BPF programs: those that select the socket of a reuseport group, and those that drop packets before a socket
//! sees them.

use std::{io, os::fd::AsFd};

use crate::socket_filter::{self, Instruction};
use libc::c_int;

/// From now on each new connection of the socket's group goes to a random one of the sockets with these numbers. If a
/// number does not exist in the group, and without numbers, the kernel distributes by hash, as without a program.
///
/// # Errors
///
/// Those of [`socket_filter::attach_reuseport_program`].
pub(crate) fn redirect(socket: impl AsFd, targets: &[u32]) -> io::Result<()> {
    socket_filter::attach_reuseport_program(socket, &selection(targets))
}

/// Which packets to drop before a listening socket sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// SYNs from this port of our own machine.
    ProbeFrom(u16),
    /// All SYNs. A client retransmits one after a second (RFC 6298 §2.1), and the kernel selects a socket again.
    /// Handshakes that have begun are not affected.
    NewConnections,
}

/// Drops these packets before the socket sees them.
///
/// # Errors
///
/// Those of [`socket_filter::attach_filter`].
pub(crate) fn drop_packets(socket: impl AsFd, dropped: Dropped) -> io::Result<()> {
    socket_filter::attach_filter(socket, &filter(dropped))
}

/// Drops all packets.
///
/// # Errors
///
/// As [`drop_packets`].
#[cfg(test)]
pub(crate) fn drop_all(socket: impl AsFd) -> io::Result<()> {
    socket_filter::attach_filter(socket, &[ret(0)])
}

/// The program `targets[random() % targets.len()]`.
fn selection(targets: &[u32]) -> Vec<Instruction> {
    let targets = &targets[..targets.len().min(MAX_TARGETS)];
    let Some((last, rest)) = targets.split_last() else { return vec![ret(NO_SOCKET)] };
    let mut program = Vec::with_capacity(2 * targets.len() + 1);
    if !rest.is_empty() {
        program.push(about_packet(libc::SKF_AD_RANDOM));
        program.push(instruction(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, 0, 0, targets.len() as u32));
    }
    for (number, target) in rest.iter().enumerate() {
        program.push(unless_equal(number as u32, 1));
        program.push(ret(*target));
    }
    program.push(ret(*last));
    program
}

/// A program that returns how much of the packet the socket sees: nothing, or all.
fn filter(dropped: Dropped) -> Vec<Instruction> {
    let load = |size, offset| instruction(libc::BPF_LD | size | libc::BPF_ABS, 0, 0, offset);
    let and = |mask| instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, mask);
    let mut tests = vec![load(libc::BPF_B, FLAGS), and(SYN | ACK)];
    match dropped {
        Dropped::NewConnections => tests.push(unless_equal(SYN, 1)),
        Dropped::ProbeFrom(port) => {
            tests.push(unless_equal(SYN, 5));
            tests.extend([load(libc::BPF_H, SOURCE_PORT), unless_equal(port.into(), 3)]);
            tests.extend([about_packet(libc::SKF_AD_IFINDEX), unless_equal(LOOPBACK, 1)]);
        }
    }
    tests.extend([ret(0), ret(u32::MAX)]);
    tests
}

fn instruction(code: u32, if_true: u8, if_false: u8, operand: u32) -> Instruction {
    Instruction { code: code as u16, jt: if_true, jf: if_false, k: operand }
}

/// Loads metadata of the packet.
fn about_packet(what: c_int) -> Instruction {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, (libc::SKF_AD_OFF + what) as u32)
}

/// Skips so many instructions unless the loaded value is this.
fn unless_equal(value: u32, over: u8) -> Instruction {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, over, value)
}

fn ret(value: u32) -> Instruction {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, value)
}

/// A number that does not exist: a group has at most some thousands.
const NO_SOCKET: u32 = u32::MAX;

/// Two instructions for each; a program has at most 4,096 (BPF_MAXINSNS), and distributing among so many is enough.
const MAX_TARGETS: usize = 256;

/// Where a segment has its source port and its flags, and what these are (RFC 9293 §3.1). A filter of a TCP socket sees
/// the segment, without the IP header.
const SOURCE_PORT: u32 = 0;
const FLAGS: u32 = 13;
const SYN: u32 = 0x02;
const ACK: u32 = 0x10;

/// The interface `lo` has this number in each network namespace (LOOPBACK_IFINDEX in include/net/flow.h).
const LOOPBACK: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program with this random number; implements enough of the machine for [`selection`].
    fn run(program: &[Instruction], random: u32) -> u32 {
        let (mut accumulator, mut next) = (0, 0);
        loop {
            let Instruction { code, jt, jf, k } = program[next];
            next += 1;
            match u32::from(code) {
                0x20 => accumulator = random,
                0x94 => accumulator %= k,
                0x15 => next += usize::from(if accumulator == k { jt } else { jf }),
                0x06 => return k,
                other => panic!("{other:#x}"),
            }
        }
    }

    #[test]
    fn each_target_is_selected_equally_often() {
        let cases: [&[u32]; 4] = [&[7], &[2, 3], &[0, 5, 6, 9, 1], &(0..256).collect::<Vec<_>>()];
        for targets in cases {
            let program = selection(targets);
            let given: Vec<_> = (0..targets.len() as u32).map(|random| run(&program, random + 1024)).collect();
            assert_eq!(given.len(), targets.len());
            assert!(targets.iter().all(|target| given.contains(target)), "{targets:?}: {given:?}");
        }
        assert_eq!(run(&selection(&[]), 5), NO_SOCKET);
        let many: Vec<u32> = (0..5000).collect();
        assert!(selection(&many).len() < 4096);
    }
}

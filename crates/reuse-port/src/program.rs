//! Classic BPF: programs that choose the socket of a group, and programs that drop packets before a socket sees them.
//! Neither needs a privilege.

use std::{io, os::fd::AsFd};

use libc::c_int;

use serow_net::socket_filter::{self, Instruction};

/// From now on each new connection of the socket's group goes to one of the sockets with these numbers, by chance. Where a
/// number is none of the group, and for no numbers, the kernel deals out by hash, as without a program.
///
/// # Errors
///
/// Those of SO_ATTACH_REUSEPORT_CBPF (socket(7), Linux 4.5): `EINVAL` for a socket of no group.
pub(crate) fn steer(socket: impl AsFd, targets: &[u32]) -> io::Result<()> {
    socket_filter::attach_reuseport_program(socket, &choice(targets))
}

/// Which packets a listening socket is not to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// The first of a connection from this port of our own machine.
    ProbeFrom(u16),
    /// The first of any connection. A client sends it again after a second (RFC 6298 §2.1), and the kernel looks anew
    /// for a socket to give it to. Those that have begun are not touched.
    Newcomers,
}

/// The socket sees no more of these packets.
///
/// # Errors
///
/// Those of SO_ATTACH_FILTER (socket(7)).
pub(crate) fn drop_packets(socket: impl AsFd, dropped: Dropped) -> io::Result<()> {
    socket_filter::attach_filter(socket, &filter(dropped))
}

/// The socket sees nothing any more.
///
/// # Errors
///
/// As [`drop_packets`].
#[cfg(test)]
pub(crate) fn drop_all(socket: impl AsFd) -> io::Result<()> {
    socket_filter::attach_filter(socket, &[give(0)])
}

/// `random() % count`, and of that the target.
fn choice(targets: &[u32]) -> Vec<Instruction> {
    let targets = &targets[..targets.len().min(MOST_TARGETS)];
    let Some((last, rest)) = targets.split_last() else { return vec![give(NOBODY)] };
    let mut program = Vec::with_capacity(2 * targets.len() + 1);
    if !rest.is_empty() {
        program.push(about_packet(libc::SKF_AD_RANDOM));
        program.push(instruction(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, 0, 0, targets.len() as u32));
    }
    for (number, target) in rest.iter().enumerate() {
        program.push(unless_equal(number as u32, 1));
        program.push(give(*target));
    }
    program.push(give(*last));
    program
}

/// What the program gives is how much of the packet the socket sees: nothing, or all.
fn filter(dropped: Dropped) -> Vec<Instruction> {
    let load = |size, offset| instruction(libc::BPF_LD | size | libc::BPF_ABS, 0, 0, offset);
    let and = |mask| instruction(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 0, mask);
    let mut tests = vec![load(libc::BPF_B, FLAGS), and(SYN | ACK)];
    match dropped {
        Dropped::Newcomers => tests.push(unless_equal(SYN, 1)),
        Dropped::ProbeFrom(port) => {
            tests.push(unless_equal(SYN, 5));
            tests.extend([load(libc::BPF_H, SOURCE_PORT), unless_equal(port.into(), 3)]);
            tests.extend([about_packet(libc::SKF_AD_IFINDEX), unless_equal(LOOPBACK, 1)]);
        }
    }
    tests.extend([give(0), give(u32::MAX)]);
    tests
}

fn instruction(code: u32, if_true: u8, if_false: u8, operand: u32) -> Instruction {
    Instruction { code: code as u16, jt: if_true, jf: if_false, k: operand }
}

/// Loads what the kernel knows about the packet.
fn about_packet(what: c_int) -> Instruction {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, (libc::SKF_AD_OFF + what) as u32)
}

/// Passes over so many instructions unless what was loaded is this.
fn unless_equal(value: u32, over: u8) -> Instruction {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, over, value)
}

fn give(value: u32) -> Instruction {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, value)
}

/// A number that no socket has: a group has at most some thousands.
const NOBODY: u32 = u32::MAX;

/// Two instructions for each; a program has at most 4,096 (BPF_MAXINSNS), and to share out among so many is enough.
const MOST_TARGETS: usize = 256;

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

    /// What the program gives for this random number; enough of the machine for [`choice`].
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
    fn each_target_is_given_as_often_as_the_others() {
        let cases: [&[u32]; 4] = [&[7], &[2, 3], &[0, 5, 6, 9, 1], &(0..256).collect::<Vec<_>>()];
        for targets in cases {
            let program = choice(targets);
            let given: Vec<_> = (0..targets.len() as u32).map(|random| run(&program, random + 1024)).collect();
            assert_eq!(given.len(), targets.len());
            assert!(targets.iter().all(|target| given.contains(target)), "{targets:?}: {given:?}");
        }
        assert_eq!(run(&choice(&[]), 5), NOBODY);
        let many: Vec<u32> = (0..5000).collect();
        assert!(choice(&many).len() < 4096);
    }
}

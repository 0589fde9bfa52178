//! The program by which the kernel finds the socket of a QUIC packet's connection.
//!
//! Without it, the kernel deals packets out by a hash of addresses: those of a connection would reach another process after
//! a reload, or after the client's address has changed (RFC 9000 §9).

use crate::socket_filter::Instruction;
use libc::{
    BPF_ABS, BPF_ADD, BPF_ALU, BPF_B, BPF_H, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_MISC, BPF_MOD, BPF_RET,
    BPF_TAX, BPF_TXA, BPF_X, BPF_XOR,
};

/// Bytes of connection IDs: two that name the socket, and ten that nobody guesses.
///
/// ```text
///   slot XOR third byte    slot XOR CONNECTION_ID_CHECK    ten random bytes
/// ```
pub const CONNECTION_ID_LENGTH: usize = 12;

/// The second byte of a connection ID is the slot and this one, so that the IDs that clients choose for their first packets
/// are seldom taken for ours.
pub const CONNECTION_ID_CHECK: u8 = 0x5e;

/// How many sockets connection IDs can name: a slot has a byte.
pub const SLOTS: usize = 256;

/// A program for the group of sockets (SO_ATTACH_REUSEPORT_CBPF): it looks at a datagram and returns the index of the
/// socket that gets it. It needs no privilege.
///
/// | packet | socket |
/// | --- | --- |
/// | short header | the slot that its connection ID names |
/// | long header whose connection ID is one of ours | the same |
/// | any other long header: the first flight of a client | one of `workers` sockets from `base` on |
///
/// An index that no socket has makes the kernel choose by hash.
#[must_use]
pub fn steering_program(base: u8, workers: u8) -> Vec<Instruction> {
    let length = CONNECTION_ID_LENGTH as u32;
    vec![
        load(FIRST_BYTE),
        // A short header goes on at the next instruction, a long one behind the first RET.
        jump(BPF_JSET, LONG_HEADER, 5, 0),
        load(SHORT_ID + 2),
        simple(BPF_MISC | BPF_TAX),
        load(SHORT_ID),
        simple(BPF_ALU | BPF_XOR | BPF_X),
        simple(BPF_RET | RETURN_ACCUMULATOR),
        load(LONG_ID_LENGTH),
        jump(BPF_JEQ, length, 0, 10),
        load(LONG_ID + 2),
        simple(BPF_MISC | BPF_TAX),
        load(LONG_ID),
        simple(BPF_ALU | BPF_XOR | BPF_X),
        simple(BPF_MISC | BPF_TAX),
        load(LONG_ID + 1),
        simple(BPF_ALU | BPF_XOR | BPF_X),
        jump(BPF_JEQ, CONNECTION_ID_CHECK.into(), 0, 2),
        simple(BPF_MISC | BPF_TXA),
        simple(BPF_RET | RETURN_ACCUMULATOR),
        // A new connection: which worker, two random bytes of the ID say. Clients choose eight or more (RFC 9000 §7.2).
        constant(BPF_LD | BPF_H | BPF_ABS, LONG_ID + 3),
        constant(BPF_ALU | BPF_MOD | BPF_K, workers.max(1).into()),
        constant(BPF_ALU | BPF_ADD | BPF_K, base.into()),
        simple(BPF_RET | RETURN_ACCUMULATOR),
    ]
}

fn load(offset: u32) -> Instruction {
    constant(BPF_LD | BPF_B | BPF_ABS, offset)
}

fn simple(code: u32) -> Instruction {
    constant(code, 0)
}

fn constant(code: u32, k: u32) -> Instruction {
    Instruction { code: code as u16, jt: 0, jf: 0, k }
}

fn jump(code: u32, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code: (BPF_JMP | code | BPF_K) as u16, jt, jf, k }
}

/// RFC 9000 §17: where the fields of a packet are.
const FIRST_BYTE: u32 = 0;
const LONG_HEADER: u32 = 0x80;
const SHORT_ID: u32 = 1;
const LONG_ID_LENGTH: u32 = 5;
const LONG_ID: u32 = 6;

/// `BPF_A` in linux/bpf_common.h.
const RETURN_ACCUMULATOR: u32 = 0x10;
